#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kawara {

/// Whole pages.
struct Pages {
  std::byte* begin = nullptr;
  size_t bytes = 0;
};

/// The code and constants of the program or library that this is part of, as they are mapped from its file. Nothing
/// writes there, so what is taken out of memory comes again as it was. None where the linker left places in the code for the
/// loader to fill in, and none under a debugger, which writes its breakpoints there.
std::vector<Pages> own_code();

/// From now on a touched page comes into memory alone, or with 8 kB where the system is older, instead of with 64: of a compiler as
/// large as LLVM many functions run, far apart from each other. The system reads the file ahead all the same.
void bring_in_small_pieces(const Pages&);

/// Takes the pages out of this process's memory. The system keeps its copy of the file for when they are touched again.
void take_out(const Pages&);

/// Bytes of this process that are in memory.
struct Resident {
  int64_t all = 0;
  int64_t of_files = 0;
};
/// Zeros where the system does not tell.
Resident resident_bytes();

} // namespace kawara
