// IEEE half to float by bit arithmetic, since unpackHalf2x16 is not in GLSL 3.30: exponent and
// mantissa are moved into place, and 112 is added to the exponent. To multiply by 2^112 instead
// would be no good: NVIDIA's compiler puts that factor behind the products, where small ones have
// become denormals, and those are flushed to zero. Halves below 2^-14, weights below 6e-5, are 0.
vec4 halves_to_vec4(uvec2 packed_pair) {
    uvec4 h = uvec4(packed_pair.x & 0xffffu, packed_pair.x >> 16,
                    packed_pair.y & 0xffffu, packed_pair.y >> 16);
    uvec4 size = h & 0x7fffu;
    uvec4 bits = ((size << 13) + 0x38000000u) * uvec4(greaterThan(size, uvec4(0x3ffu)));
    return uintBitsToFloat(((h & 0x8000u) << 16) | bits);
}
