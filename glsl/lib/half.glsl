// IEEE half to float by bit arithmetic, since unpackHalf2x16 is not in GLSL 3.30. Moving the
// exponent and mantissa into place leaves the value 2^112 too small; halves below 2^-14 pass
// through float denormals, which a driver may flush to zero (a weight of 6e-5 at most).
vec4 halves_to_vec4(uvec2 packed_pair) {
    uvec4 h = uvec4(packed_pair.x & 0xffffu, packed_pair.x >> 16,
                    packed_pair.y & 0xffffu, packed_pair.y >> 16);
    uvec4 bits = ((h & 0x8000u) << 16) | ((h & 0x7fffu) << 13);
    return uintBitsToFloat(bits) * 5.192296858534828e33;
}
