// What changes from one forward pass to the next; everything else is a define.
layout(std140) uniform Step {
    ivec4 step_counts;           // rows already in the cache, rows of this pass, last row, prefix
    ivec4 step_tokens[TOKENS4];  // the token of each row of this pass
};

int n_past() { return step_counts.x; }
int n_rows() { return step_counts.y; }
int token_of(int t) { return step_tokens[t / 4][t % 4]; }

#ifdef BATCH
// Rows are texts of their own, all at the same position, that share the first prefix() positions.
// What each adds lies in a cache of tails, a row group for each position after the prefix.
int prefix() { return step_counts.w; }
int position_of(int t) { return n_past(); }
int cache_group(int layers) { return n_past() - prefix(); }
#else
// Rows are successive positions of one text.
int position_of(int t) { return n_past() + t; }
int cache_group(int layers) { return n_past() / layers; }
#endif
