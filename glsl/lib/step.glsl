// What changes from one forward pass to the next; everything else is a define.
layout(std140) uniform Step {
    ivec4 step_counts;           // rows already in the cache, rows of this pass, last row, unused
    ivec4 step_tokens[TOKENS4];  // the token of each row of this pass
};

int n_past() { return step_counts.x; }
int n_rows() { return step_counts.y; }
int token_of(int t) { return step_tokens[t / 4][t % 4]; }
