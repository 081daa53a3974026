#include "cpu/program.h"

int main(int argc, char** argv) { return kawara::bench::program(argc, argv); }
