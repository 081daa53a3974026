#pragma once

#include "emit/runtime_api.h"
#include "emit/unit.h"
#include "support/diagnostic.h"

#include <memory>
#include <string>
#include <vector>

namespace kawara::run {

/// Machine code of one unit in this process, for as long as the object lives.
class JitCode {
public:
  struct Impl;
  explicit JitCode(std::unique_ptr<Impl> impl);
  JitCode(JitCode&&) noexcept;
  JitCode& operator=(JitCode&&) noexcept;
  ~JitCode();
  emit::KernelFunction function() const;
  void* address() const;             ///< of the same, whatever its type
  const std::string& object() const; ///< the machine code as an object file, to be kept

private:
  std::unique_ptr<Impl> impl_;
};

/// The unit as an object file. Refuses what LLVM cannot compile (K0449).
Result<std::string, Diagnostic> object_from_unit(emit::LlvmUnit&);

/// An object file that `object_from_unit` or `JitCode::object` gave, perhaps in another process,
/// and its visible function.
struct KeptObject {
  std::string object, symbol;
};
/// Links objects for the processor `target`, which must be this machine's kind; on failure LLVM's
/// words.
Result<std::vector<JitCode>, std::string> link(const std::vector<KeptObject>&,
                                               const emit::CodeTarget& target);

/// LLVM's assembly as code for this machine, optimised; on failure LLVM's words. `symbol` is its
/// visible function, whatever its type; it may have no variables.
Result<JitCode, std::string> code_from_text(const std::string& assembly, const std::string& symbol);

} // namespace kawara::run
