// What a picture shows and how, the twin of the values in gpt2gl/views.py.
layout(std140) uniform X {
    vec4 view_values[4];
};

int view_rows() { return int(view_values[0].x); }          // positions of the text so far
ivec2 view_pool() { return ivec2(view_values[0].yz); }     // columns, rows that share a pixel
int view_cell() { return int(view_values[0].w); }          // pixels of a cell's side
int view_point() { return int(view_values[1].x); }         // layer, or the first of them
int view_head() { return int(view_values[1].y); }          // head, or the first; -1: their mean
int view_mode() { return int(view_values[1].z); }          // see the constants in views.py
float view_limit() { return view_values[1].w; }            // value at the end of the scale
float view_knee() { return view_values[2].x; }             // where symlog turns, or the exponent
int view_columns() { return int(view_values[2].y); }
vec2 view_band() { return view_values[2].zw; }             // first line of each cell, lines
vec2 view_cells() { return view_values[3].xy; }            // line of cells: how many, their pixels
