#include "emit/llvm/module.h"
#include "emit/llvm/wide_integers.h"
#include "emit/named_target.h"
#include "support/check.h"
#include "target/cpu.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <mutex>

namespace kawara::emit {
namespace {

#ifdef KAWARA_LLVM_HAS_ALL_TARGETS
/// The processors that Kawara knows, besides the one it runs on.
void register_other_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}
#endif

llvm::StringMap<bool> host_features() {
#if LLVM_VERSION_MAJOR >= 19
  return llvm::sys::getHostCPUFeatures();
#else
  llvm::StringMap<bool> features;
  llvm::sys::getHostCPUFeatures(features);
  return features;
#endif
}

llvm::OptimizationLevel level_of(int opt_level) {
  if (opt_level == 1)
    return llvm::OptimizationLevel::O1;
  return opt_level == 2 ? llvm::OptimizationLevel::O2 : llvm::OptimizationLevel::O3;
}

} // namespace

// LLVM keeps its list of targets for the whole process; filling it twice is harmless but not from
// two threads at once.
void register_native_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

bool has_same_system(const std::string& triple, const std::string& other) {
  const llvm::Triple a(llvm::Triple::normalize(triple)), b(llvm::Triple::normalize(other));
  return a.getArch() == b.getArch() && a.getSubArch() == b.getSubArch() && a.getOS() == b.getOS() &&
         a.getEnvironment() == b.getEnvironment();
}

CodeTarget host_code_target() {
  CodeTarget target;
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features;
  for (const auto& feature : host_features())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(features.begin(), features.end());
  // A virtual machine may hide SVE although the processor's model implies it.
  const target::Cpu cpu = target::detect_cpu();
  if (cpu.arch == target::Arch::Aarch64 && !cpu.features.has(target::Feature::Sve)) {
    features.push_back("-sve");
    features.push_back("-sve2");
  }
  for (const std::string& feature : features)
    target.features += (target.features.empty() ? "" : ",") + feature;
  return target;
}

std::optional<CodeTarget> named_code_target(const target::Cpu& cpu) {
  const std::string arch(target::name_of(cpu.arch));
#ifndef KAWARA_LLVM_HAS_ALL_TARGETS
  if (!llvm::sys::getProcessTriple().starts_with(arch))
    return std::nullopt;
#endif
  const bool is_arm = cpu.arch == target::Arch::Aarch64;
  CodeTarget target{arch + "-unknown-linux-gnu", cpu.name, ""};
  if (cpu.name.starts_with("generic"))
    target.cpu = is_arm ? "generic" : "x86-64";
  if (is_arm && !cpu.features.has(target::Feature::Sve))
    target.features = "-sve,-sve2";
  return target;
}

std::unique_ptr<llvm::TargetMachine> target_machine(const CodeTarget& target) {
  register_native_target();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
#ifdef KAWARA_LLVM_HAS_ALL_TARGETS
  if (found == nullptr) {
    register_other_targets();
    found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  }
#endif
  KAWARA_CHECK(found != nullptr, "LLVM has no target " + target.triple + ": " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard; // the flags of each operation decide
#if LLVM_VERSION_MAJOR >= 18
  const auto level = llvm::CodeGenOptLevel::Aggressive;
#else
  const auto level = llvm::CodeGenOpt::Aggressive;
#endif
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(target.triple, target.cpu, target.features, options,
                                 llvm::Reloc::PIC_, std::nullopt, level, true));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, int opt_level,
              bool joins_scalars) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = joins_scalars;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level_of(opt_level)).run(module, modules);
  take_vectors_apart_by_lanes(module);
}

std::string assembly_of(const llvm::Module& module, llvm::TargetMachine& machine) {
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
#if LLVM_VERSION_MAJOR >= 18
  const auto kind = llvm::CodeGenFileType::AssemblyFile;
#else
  const auto kind = llvm::CGFT_AssemblyFile;
#endif
  const bool cannot = machine.addPassesToEmitFile(passes, stream, nullptr, kind);
  KAWARA_CHECK(!cannot, "LLVM cannot print assembly for this target");
  passes.run(*copy);
  return std::string(text.begin(), text.end());
}

} // namespace kawara::emit
