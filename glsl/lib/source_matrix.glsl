// Numbers of a weight matrix [K, N], unpacked from its layout: row t is k.
#include "lib/weights_{LAYOUT}.glsl"

float source(int point, int t, int column) {
    int k4 = t / 4;
    load_weights(column / 4, k4 / BLOCK4);
    float value = weights_block(k4 % BLOCK4)[t % 4][column % 4];
#if SCALED
    value *= weights_scale(column / 4, k4 / GROUP4)[column % 4];
#endif
    return value;
}
