#include "oracle/oracle_sweep.h"

int main(int argc, char** argv) { return kawara::oracle::oracle_program(argc, argv); }
