#pragma once

// For emit/llvm and run/cpu only: LLVM types.

#include "emit/llvm/failures.h"
#include "emit/unit.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace llvm {
class TargetMachine;
}

namespace kawara::emit {

struct LlvmUnit::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Signature signature;
  CodeTarget target;
  EmitTimes times;
  std::unique_ptr<llvm::LLVMContext> context; ///< outlives `module`
  std::unique_ptr<llvm::Module> module;
  ReportedError error;                ///< of the context
  std::optional<std::string> failure; ///< why there is no code: LLVM's words
  bool is_abandoned = false;          ///< LLVM gave up amid work on the module

  /// Does work on the module with LLVM, unless LLVM has failed before; keeps its words when it
  /// fails now. Whether the work is done.
  bool attempt(const std::function<void()>& work);
};

/// K0449: LLVM cannot compile the kernel.
Diagnostic cannot_compile(const LlvmUnit::Impl&);

/// Tells LLVM of the processor that this runs on; before anything is compiled or linked for it.
void register_native_target();
std::unique_ptr<llvm::TargetMachine> target_machine(const CodeTarget&);
/// Runs LLVM's default pipeline of that level on the module, with its search for scalars that are
/// vectors together or without.
void optimise(llvm::Module&, llvm::TargetMachine&, int opt_level, bool joins_scalars);
/// Does not change the module.
std::string assembly_of(const llvm::Module&, llvm::TargetMachine&);

} // namespace kawara::emit
