#include "peers/sweep.h"

int main(int argc, char** argv) { return kawara::peers::against_ort_program(argc, argv); }
