#pragma once

#include "support/diagnostic.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kawara::run {

struct NvrtcOptions {
  std::string arch = "sm_90a";    ///< that code is made for
  std::vector<std::string> flags; ///< more of the compiler's
  std::filesystem::path cache;    ///< folder for machine code made before; empty: none
};

/// Machine code for a GPU.
struct Cubin {
  std::string bytes;
  std::string log; ///< registers, shared memory and spills of each function, as ptxas says; empty
                   ///< from the cache
  bool is_from_cache = false;
};

/// CUDA C++ text to machine code by NVRTC, which is opened at run time. The log, and so the cache,
/// is left out when `wants_log` is not set.
///
/// Refuses  a machine without NVRTC (K0710). Text that NVRTC does not take is Kawara's fault
///          (K0711); the message has its words.
Result<Cubin, Diagnostic> cubin_from_cuda(const std::string& text, const std::string& name,
                                          const NvrtcOptions&, bool wants_log = false);

/// ... to PTX.
Result<std::string, Diagnostic> ptx_from_cuda(const std::string& text, const std::string& name,
                                              const NvrtcOptions&);

/// Whether NVRTC can be opened here.
bool has_nvrtc();

} // namespace kawara::run
