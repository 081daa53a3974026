#include "kawara/program.h"

int main(int argc, char** argv) { return kawara::tools::program(argc, argv); }
