// Norms of each point's rows, as row_peaks.frag has left them: column i is point i.
#include "lib/peaks.glsl"

float source(int point, int t, int column) { return row_peak(column, t).y; }
