// Colours for numbers. `sequential` is viridis (van der Walt & Smith, CC0), as our own polynomial
// fit of degree 6, at most 4/255 off; `diverging` is dark at zero and gets lighter on both sides.
vec3 sequential(float value) {
    float t = clamp(value, 0.0, 1.0);
    vec3 colour = vec3(-5.43208, 4.64157, 26.27211);
    colour = colour * t + vec3(4.75179, -13.74944, -65.32097);
    colour = colour * t + vec3(6.20374, 14.15396, 56.65630);
    colour = colour * t + vec3(-4.59993, -5.75824, -19.29181);
    colour = colour * t + vec3(-0.32724, 0.21481, 0.09198);
    colour = colour * t + vec3(0.10771, 1.39647, 1.38677);
    colour = colour * t + vec3(0.27446, 0.00577, 0.33266);
    return clamp(colour, 0.0, 1.0);
}

vec3 diverging(float value) {
    float t = min(abs(value), 1.0);
    vec3 middle = value < 0.0 ? vec3(0.16, 0.47, 0.80) : vec3(0.80, 0.33, 0.12);
    vec3 end = value < 0.0 ? vec3(0.75, 0.90, 1.00) : vec3(1.00, 0.90, 0.70);
    return t < 0.5 ? mix(vec3(0.08, 0.08, 0.10), middle, 2.0 * t) : mix(middle, end, 2.0 * t - 1.0);
}
