// Mean and squares of the parts of one row, a fragment each, for whoever puts them together.
#include "lib/output.glsl"
#include "lib/norm.glsl"

void main() {
    vec4 rows[ROWS];
    rows[0] = vec4(mean_and_squares(out_column4() * PART4, PART4, NORM_ROW), 0.0, 0.0);
    store(rows);
}
