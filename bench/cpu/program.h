#pragma once

namespace kawara::bench {

/// `bench_cpu` with these arguments: measures, or, called by itself, is the process for one number of threads. Returns the exit
/// code.
int program(int argc, char** argv);

} // namespace kawara::bench
