// Logical index to texel, the twin of gpt2gl/gl/tensor.py. Grids are compile-time constants, so
// the divisions fold away.

// Rows tensor: grid = (width, fold, layers, left); c4 = column / 4; t = row.
ivec3 rows_texel(ivec4 grid, int c4, int t) {
    return ivec3(grid.w + c4 % grid.x, (t / grid.z) * grid.y + c4 / grid.x, t % grid.z);
}

// The same for row `layer` of row group `group`, that is t = group * grid.z + layer.
ivec3 group_texel(ivec4 grid, int c4, int group, int layer) {
    return ivec3(grid.w + c4 % grid.x, group * grid.y + c4 / grid.x, layer);
}

// Packed weight matrix: grid = (width, height, layers along K); n, k in texels.
ivec3 weights_texel(ivec3 grid, int n, int k) {
    return ivec3(k % grid.x, n % grid.y, (n / grid.y) * grid.z + k / grid.x);
}
