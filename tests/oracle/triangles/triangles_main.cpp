#include "oracle/triangles/triangle_sweep.h"

int main(int argc, char** argv) { return kawara::oracle::triangles_program(argc, argv); }
