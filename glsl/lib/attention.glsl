// What the attention passes share. Scores are a rows tensor whose row groups are (row group, head).
#include "lib/step.glsl"

// A masked score: exact and finite, so that exp gives 0 and never NaN, on every driver.
const float MASKED = -1e30;

int head_of(int score_group) { return score_group % HEADS; }
int group_of(int score_group) { return score_group / HEADS; }
int score_group_of(int group, int head) { return group * HEADS + head; }

// The last key that row r of a group may see: its own position.
int last_key(int group, int r) { return position_of(group * ROWS + r); }

bvec4 is_masked(int s4, int group, int r) {
    return greaterThan(4 * s4 + ivec4(0, 1, 2, 3), ivec4(last_key(group, r)));
}
