// The MLP's activation function as a pass of its own.
#include "lib/output.glsl"
#include "lib/input.glsl"
#include "lib/activation.glsl"

void main() {
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) rows[r] = activation(x_rows(out_column4(), out_group(), r));
    store(rows);
}
