// Where a history keeps texel (x, y) of a position's block, the twin of BlockGrid in
// gpt2gl/gl/tensor.py: grid = (lines of a block, blocks across, parts).
ivec3 history_texel(ivec3 grid, int width, int point, int position, int x, int y) {
    return ivec3(position % grid.y * width + x, position / grid.y * grid.x + y % grid.x,
                 point * grid.z + y / grid.x);
}

// The width of its blocks, by the size of the texture.
int history_width(ivec3 grid, ivec3 size) { return size.x / grid.y; }
