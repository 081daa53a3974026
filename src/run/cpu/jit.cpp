#include "run/cpu/jit.h"

#include "emit/llvm/module.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectTransformLayer.h>
#include <llvm/Target/TargetMachine.h>

#include <cmath>

namespace kawara::run {

struct JitCode::Impl {
  std::shared_ptr<llvm::orc::LLJIT> session; ///< several codes may share one
  emit::KernelFunction function = nullptr;
  std::string object;
};

namespace {

using F32Function = float (*)(float);
using F64Function = double (*)(double);

template <class Function> llvm::orc::ExecutorSymbolDef symbol(Function* function) {
  return {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
}

/// The C library's functions by name, so that code finds them in a statically linked program too.
llvm::orc::SymbolMap math_functions(llvm::orc::LLJIT& session) {
  llvm::orc::SymbolMap map;
  const auto both = [&](const std::string& name, F64Function f64, F32Function f32) {
    map[session.mangleAndIntern(name)] = symbol(f64);
    map[session.mangleAndIntern(name + "f")] = symbol(f32);
  };
  both("exp", ::exp, ::expf);
  both("log", ::log, ::logf);
  both("tanh", ::tanh, ::tanhf);
  both("erf", ::erf, ::erff);
  both("sin", ::sin, ::sinf);
  both("cos", ::cos, ::cosf);
  both("floor", ::floor, ::floorf);
  both("ceil", ::ceil, ::ceilf);
  map[session.mangleAndIntern("pow")] = symbol(static_cast<double (*)(double, double)>(::pow));
  map[session.mangleAndIntern("powf")] = symbol(static_cast<float (*)(float, float)>(::powf));
  return map;
}

llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> make_session(const emit::CodeTarget& target) {
  emit::register_native_target(); // nothing has been compiled yet where kept code is linked
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
  return llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create();
}

/// What code may call, in a library of the session.
llvm::Error add_functions(llvm::orc::LLJIT& session, llvm::orc::JITDylib& library) {
  if (auto error = library.define(llvm::orc::absoluteSymbols(math_functions(session))))
    return error;
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      session.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<JitCode::Impl>> compile(emit::LlvmUnit unit) {
  auto session = make_session(unit.target());
  if (!session)
    return session.takeError();
  if (auto error = add_functions(**session, (*session)->getMainJITDylib()))
    return error;
  auto impl = std::make_unique<JitCode::Impl>();
  (*session)->getObjTransformLayer().setTransform(
      [&object = impl->object](std::unique_ptr<llvm::MemoryBuffer> buffer)
          -> llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> {
        object = buffer->getBuffer().str();
        return buffer;
      });
  emit::LlvmUnit::Impl& parts = unit.impl();
  const std::string name = emit::entry_symbol(parts.signature);
  if (auto error = (*session)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(parts.module), std::move(parts.context))))
    return error;
  auto address = (*session)->lookup(name);
  if (!address)
    return address.takeError();
  impl->function = address->toPtr<emit::KernelFunction>();
  impl->session = std::move(*session);
  return impl;
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
const std::string& JitCode::object() const { return impl_->object; }

Result<JitCode, std::string> jit(emit::LlvmUnit unit) {
  auto impl = compile(std::move(unit));
  if (!impl)
    return fail(llvm::toString(impl.takeError()));
  return JitCode(std::move(*impl));
}

Result<std::vector<JitCode>, std::string> link(const std::vector<KeptObject>& objects,
                                               const emit::CodeTarget& target) {
  auto codes = link_objects(objects, target);
  if (!codes)
    return fail(llvm::toString(codes.takeError()));
  return std::move(*codes);
}

} // namespace kawara::run
