#pragma once

#include "emit/unit.h"
#include "kernel/kernel.h"

#include <memory>
#include <string>
#include <vector>

namespace kawara::bench {

/// One kernel to be compiled as C, under a name of its own within a library.
struct CFunction {
  std::string name; ///< a C identifier
  kernel::Kernel kernel;
  bool is_naive = true; ///< as emit::COptions says
};

/// A C compiler and its flags, as words of a command line.
struct CCompiler {
  std::string command;
  std::vector<std::string> flags;
};

/// `clang -O3` for this very machine: the newest clang there is, else `cc`. Clang has no
/// `-march=native` for every architecture; what is used then is in the flags.
CCompiler best_c_compiler();

/// Emitted C, compiled into one shared object and loaded into this process.
class CLibrary {
public:
  struct Impl;
  using Function = void (*)(void* const* arguments, const int64_t* params);

  explicit CLibrary(std::unique_ptr<Impl> impl);
  CLibrary(CLibrary&&) noexcept;
  CLibrary& operator=(CLibrary&&) noexcept;
  ~CLibrary();

  /// Takes the arguments in the order of emit::signature_of of the function's kernel.
  Function function(const std::string& name) const;
  const std::string& warnings() const; ///< what the compiler said

private:
  std::unique_ptr<Impl> impl_;
};

/// All functions as separate files in one compiler run. On failure, what the compiler or the loader
/// said.
Result<CLibrary, std::string> load_c(const std::vector<CFunction>&, const CCompiler&);

} // namespace kawara::bench
