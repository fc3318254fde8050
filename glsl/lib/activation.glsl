// The activation functions of GPT-2 configs, by the name in ACTIVATION.
// tanh's argument is clamped: some drivers compute it as a quotient of exponentials and return
// NaN beyond +-44, while tanh(15) is 1 in float32.
#define ACTIVATION_gelu_new 1
#define ACTIVATION_gelu 2
#define ACTIVATION_relu 3
#define ACTIVATION_silu 4

#ifdef ACTIVATION
#if ACTIVATION == ACTIVATION_gelu_new
// GELU by tanh, Hendrycks & Gimpel 2016 (arXiv:1606.08415), equation 3.
vec4 activation(vec4 v) {
    vec4 inner = 0.7978845608028654 * (v + 0.044715 * v * v * v);
    return 0.5 * v * (1.0 + tanh(clamp(inner, -15.0, 15.0)));
}
#elif ACTIVATION == ACTIVATION_gelu
// erf by Abramowitz & Stegun 7.1.26, error below 1.5e-7.
vec4 erf_positive(vec4 z) {
    vec4 t = 1.0 / (1.0 + 0.3275911 * z);
    vec4 poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741
              + t * (-1.453152027 + t * 1.061405429))));
    return 1.0 - poly * exp(-min(z * z, vec4(80.0)));
}
vec4 activation(vec4 v) {
    vec4 e = sign(v) * erf_positive(abs(v) * 0.7071067811865476);
    return 0.5 * v * (1.0 + e);
}
#elif ACTIVATION == ACTIVATION_relu
vec4 activation(vec4 v) { return max(v, 0.0); }
#elif ACTIVATION == ACTIVATION_silu
vec4 activation(vec4 v) { return v / (1.0 + exp(clamp(-v, -80.0, 80.0))); }
#endif
#endif
