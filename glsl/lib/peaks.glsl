// Largest magnitude and norm of each row, as row_peaks.frag leaves them: PEAKS = (points, rows
// side by side).
uniform highp sampler2DArray peaks;

ivec2 peak_texel(int point, int t) { return ivec2(t % PEAKS.y * PEAKS.x + point, t / PEAKS.y); }

vec4 row_peak(int point, int t) { return texelFetch(peaks, ivec3(peak_texel(point, t), 0), 0); }
