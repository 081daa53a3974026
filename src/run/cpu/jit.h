#pragma once

#include "emit/runtime_api.h"
#include "emit/unit.h"
#include "support/result.h"

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
  const std::string& object() const; ///< the machine code as an object file, to be kept

private:
  std::unique_ptr<Impl> impl_;
};

/// Compiles and links the unit; on failure LLVM's words.
Result<JitCode, std::string> jit(emit::LlvmUnit unit);

/// An object file that `JitCode::object` gave, perhaps in another process, and its visible function.
struct KeptObject {
  std::string object, symbol;
};
/// Links objects for the processor `target`, which must be this machine's kind; on failure LLVM's words.
Result<std::vector<JitCode>, std::string> link(const std::vector<KeptObject>&,
                                               const emit::CodeTarget& target);

} // namespace kawara::run
