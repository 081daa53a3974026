#pragma once

#include "emit/runtime_api.h"
#include "emit/unit.h"
#include "support/result.h"

#include <memory>
#include <string>

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

private:
  std::unique_ptr<Impl> impl_;
};

/// Compiles and links the unit; on failure LLVM's words.
Result<JitCode, std::string> jit(emit::LlvmUnit unit);

} // namespace kawara::run
