// Keys and values of earlier positions, for the passes that read them.
#include "lib/tensor.glsl"
#include "lib/step.glsl"
uniform highp sampler2DArray kv;
#ifdef BATCH
uniform highp sampler2DArray tail;
#endif

// Texel c4 of position s, as row r of the pass sees it.
vec4 cached(int c4, int s, int r) {
#ifdef BATCH
    if (s >= prefix()) return texelFetch(tail, group_texel(TAIL_GRID, c4, s - prefix(), r), 0);
#endif
    return texelFetch(kv, rows_texel(KV_GRID, c4, s), 0);
}

mat4 cached4(int c4, int s4, int r) {
    return mat4(cached(c4, 4 * s4, r), cached(c4, 4 * s4 + 1, r),
                cached(c4, 4 * s4 + 2, r), cached(c4, 4 * s4 + 3, r));
}

// Whether all rows see the same four positions, so that they need be fetched but once.
bool is_shared(int s4) {
#ifdef BATCH
    return 4 * s4 + 4 <= prefix();
#else
    return true;
#endif
}
