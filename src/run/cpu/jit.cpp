#include "run/cpu/jit.h"

#include "emit/llvm/module.h"
#include "run/cpu/object_code.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>
#include <optional>

namespace kawara::run {

struct JitCode::Impl {
  std::shared_ptr<llvm::orc::LLJIT>
      session;                      ///< several codes may share one; null where LLVM was not needed
  std::optional<ObjectCode> memory; ///< then
  emit::KernelFunction function = nullptr;
  std::string object;
};

namespace {

/// The C library's functions by name.
llvm::orc::SymbolMap known_functions(llvm::orc::LLJIT& session) {
  llvm::orc::SymbolMap map;
  for (const auto& [name, function] : library_functions())
    map[session.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported};
  return map;
}

/// Skylake to Cascade Lake run a jump that touches the end of 32 bytes without their cache of
/// decoded instructions (Intel, "Mitigations for Jump Conditional Code Erratum", November 2019).
bool slows_jumps_at_boundaries(const std::string& cpu) {
  return cpu == "skylake" || cpu == "skylake-avx512" || cpu == "cascadelake";
}

/// LLVM pads jumps by an option of the whole process; it is set where the processor asked for
/// changes.
void pad_jumps_for(const emit::CodeTarget& target) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> guard(mutex);
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("x86-branches-within-32B-boundaries");
  if (found == options.end())
    return; // an LLVM without x86
  auto& pads = *static_cast<llvm::cl::opt<bool>*>(found->second);
  if (pads != slows_jumps_at_boundaries(target.cpu))
    pads = !pads;
}

llvm::orc::JITTargetMachineBuilder machine_for(const emit::CodeTarget& target) {
  emit::register_native_target(); // nothing has been compiled yet where kept code is linked
  pad_jumps_for(target);
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(target.triple)};
  machine.setCPU(target.cpu);
  llvm::SmallVector<llvm::StringRef, 32> features;
  llvm::StringRef(target.features).split(features, ',', -1, false);
  machine.addFeatures({features.begin(), features.end()});
#if LLVM_VERSION_MAJOR >= 18
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
#else
  machine.setCodeGenOptLevel(llvm::CodeGenOpt::Aggressive);
#endif
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  machine.setRelocationModel(llvm::Reloc::PIC_);
  machine.setCodeModel(llvm::CodeModel::Small);
  return machine;
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> make_session(const emit::CodeTarget& target) {
  return llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine_for(target)).create();
}

/// What code may call, in a library of the session.
llvm::Error add_functions(llvm::orc::LLJIT& session, llvm::orc::JITDylib& library) {
  if (auto error = library.define(llvm::orc::absoluteSymbols(known_functions(session))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      session.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

/// Each object in a library of its own: their functions may have the same names.
llvm::Expected<std::vector<JitCode>> link_objects(const std::vector<KeptObject>& objects,
                                                  const emit::CodeTarget& target) {
  auto made = make_session(target);
  if (!made)
    return made.takeError();
  const std::shared_ptr<llvm::orc::LLJIT> session = std::move(*made);
  if (auto error = add_functions(*session, session->getMainJITDylib()))
    return error;
  std::vector<JitCode> codes;
  for (size_t k = 0; k < objects.size(); ++k) {
    llvm::orc::JITDylib& library =
        session->getExecutionSession().createBareJITDylib("kernel" + std::to_string(k));
    library.addToLinkOrder(session->getMainJITDylib());
    if (auto error = session->addObjectFile(
            library, llvm::MemoryBuffer::getMemBuffer(objects[k].object, "kernel", false)))
      return error;
    auto address = session->lookup(library, objects[k].symbol);
    if (!address)
      return address.takeError();
    auto impl = std::make_unique<JitCode::Impl>();
    impl->session = session;
    impl->function = address->toPtr<emit::KernelFunction>();
    impl->object = objects[k].object;
    codes.emplace_back(std::move(impl));
  }
  return codes;
}

} // namespace

JitCode::JitCode(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JitCode::JitCode(JitCode&&) noexcept = default;
JitCode& JitCode::operator=(JitCode&&) noexcept = default;
JitCode::~JitCode() = default;
emit::KernelFunction JitCode::function() const { return impl_->function; }
void* JitCode::address() const { return reinterpret_cast<void*>(impl_->function); }
const std::string& JitCode::object() const { return impl_->object; }

namespace {

/// All objects without LLVM; nothing where one needs it.
std::optional<std::vector<JitCode>> linked_here(const std::vector<KeptObject>& objects) {
  std::vector<JitCode> codes;
  for (const KeptObject& kept : objects) {
    auto impl = std::make_unique<JitCode::Impl>();
    impl->memory = code_from_object(kept.object, kept.symbol);
    if (!impl->memory)
      return std::nullopt;
    impl->function = reinterpret_cast<emit::KernelFunction>(impl->memory->function());
    impl->object = kept.object;
    codes.emplace_back(std::move(impl));
  }
  return codes;
}

} // namespace

Result<std::vector<JitCode>, std::string> link(const std::vector<KeptObject>& objects,
                                               const emit::CodeTarget& target) {
  if (auto codes = linked_here(objects))
    return *std::move(codes);
  std::vector<JitCode> codes;
  std::string error;
  const auto failure = emit::failure_of_llvm([&] {
    auto linked = link_objects(objects, target);
    if (linked)
      codes = std::move(*linked);
    else
      error = llvm::toString(linked.takeError());
  });
  if (failure || !error.empty())
    return fail(failure.value_or(error));
  return codes;
}

Result<std::string, Diagnostic> object_from_unit(emit::LlvmUnit& unit) {
  std::string object;
  emit::LlvmUnit::Impl& impl = unit.impl();
  const bool is_done = impl.attempt([&] {
    auto machine = machine_for(unit.target()).createTargetMachine();
    if (!machine) {
      *impl.error = llvm::toString(machine.takeError());
      return;
    }
    impl.module->setDataLayout((*machine)->createDataLayout());
    auto made = llvm::orc::SimpleCompiler(**machine)(*impl.module);
    if (made)
      object = (*made)->getBuffer().str();
    else
      *impl.error = llvm::toString(made.takeError());
  });
  if (!is_done)
    return fail(emit::cannot_compile(impl));
  return object;
}

/// Bytes of text that is optimised a little only: more takes seconds.
constexpr size_t kLongAssembly = 200000;

Result<JitCode, std::string> code_from_text(const std::string& assembly,
                                            const std::string& symbol) {
  const emit::CodeTarget target = emit::host_code_target();
  std::string object, error;
  const auto failure = emit::failure_of_llvm([&] {
    llvm::LLVMContext context;
    llvm::SMDiagnostic wrong;
    const std::unique_ptr<llvm::Module> module =
        llvm::parseAssemblyString(assembly, wrong, context);
    if (!module) {
      llvm::raw_string_ostream stream(error);
      wrong.print("", stream, false);
      return;
    }
    auto machine = machine_for(target).createTargetMachine();
    if (!machine) {
      error = llvm::toString(machine.takeError());
      return;
    }
    module->setTargetTriple(target.triple);
    module->setDataLayout((*machine)->createDataLayout());
    emit::optimise(*module, **machine, assembly.size() > kLongAssembly ? 1 : 2, false);
    auto made = llvm::orc::SimpleCompiler(**machine)(*module);
    if (made)
      object = (*made)->getBuffer().str();
    else
      error = llvm::toString(made.takeError());
  });
  if (failure || !error.empty())
    return fail(failure.value_or(error));
  auto codes = link({{object, symbol}}, target);
  if (!codes)
    return fail(std::move(codes).error());
  return std::move(codes->front());
}

} // namespace kawara::run
