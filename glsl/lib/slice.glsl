// Which slice of the sum this fragment computes: the vertex shader knows by the triangle.
#if SPLITS > 1
flat in int vertex_slice;
int slice() { return vertex_slice; }
#else
int slice() { return 0; }
#endif
