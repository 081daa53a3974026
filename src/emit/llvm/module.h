#pragma once

// For emit/llvm and run/cpu only: LLVM types.

#include "emit/unit.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

namespace llvm {
class TargetMachine;
}

namespace kawara::emit {

struct LlvmUnit::Impl {
  Signature signature;
  CodeTarget target;
  EmitTimes times;
  std::unique_ptr<llvm::LLVMContext> context; ///< outlives `module`
  std::unique_ptr<llvm::Module> module;
};

/// Tells LLVM of the processor that this runs on; before anything is compiled or linked for it.
void register_native_target();
std::unique_ptr<llvm::TargetMachine> target_machine(const CodeTarget&);
/// Runs LLVM's default pipeline of that level on the module.
void optimise(llvm::Module&, llvm::TargetMachine&, int opt_level);
/// Does not change the module.
std::string assembly_of(const llvm::Module&, llvm::TargetMachine&);

} // namespace kawara::emit
