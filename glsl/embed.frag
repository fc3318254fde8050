// Token embedding + position embedding. wte is stored as the matrix [n_embd, vocab] of the
// vocabulary projection, so a token's embedding is one column of it.
#include "lib/output.glsl"
#include "lib/weights_{LAYOUT}.glsl"
uniform highp sampler2DArray wpe;

vec4 token_embedding(int token, int k4) {
    vec4 pick = vec4(equal(ivec4(0, 1, 2, 3), ivec4(token % 4)));
    load_weights(token / 4, k4 / BLOCK4);
    vec4 column = pick * weights_block(k4 % BLOCK4);
#if SCALED
    column *= dot(pick, weights_scale(token / 4, k4 / GROUP4));
#endif
    return column;
}

void main() {
    int c4 = out_column4();
    if (c4 >= E4) {
        store_zero();
        return;
    }
    vec4 rows[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        // Rows beyond the last are never read; they repeat it to stay inside the tables.
        int t = min(out_group() * ROWS + r, n_rows() - 1);
        int position = min(position_of(t), N_POSITIONS - 1);
        rows[r] = token_embedding(token_of(t), c4)
                + texelFetch(wpe, rows_texel(WPE_GRID, c4, position), 0);
    }
    store(rows);
}
