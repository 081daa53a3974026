#include "emit/llvm/module.h"

#include "emit/llvm/bf16_stores.h"
#include "emit/llvm/emitter.h"
#include "kernel/walk.h"
#include "support/check.h"

#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace kawara::emit {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string inner_name(const ModuleParts& parts) {
  return parts.kernel.name + (parts.streams ? ".streaming" : ".kernel");
}

std::unordered_set<uint32_t> assigned_variables(const kernel::Block& block) {
  std::unordered_set<uint32_t> result;
  kernel::visit(block, [&](const kernel::Assign& assign) { result.insert(assign.var); });
  return result;
}

/// What is known of a buffer argument: nothing else points there, where it starts, how long it is.
void describe_argument(llvm::Function* function, unsigned at, const kernel::Buffer& buffer) {
  llvm::LLVMContext& context = function->getContext();
  function->addParamAttr(at, llvm::Attribute::NoAlias);
  const int64_t align =
      buffer.scope == kernel::Scope::Workspace ? kBufferAlignment : scalar::bytes_of(buffer.elem);
  function->addParamAttr(
      at, llvm::Attribute::getWithAlignment(context, llvm::Align(static_cast<uint64_t>(align))));
  const auto bytes = bytes_of({0, buffer.name, buffer.elem, buffer.shape, buffer.role}, {});
  if (bytes && *bytes > 0)
    function->addParamAttr(
        at, llvm::Attribute::getWithDereferenceableBytes(context, static_cast<uint64_t>(*bytes)));
}

std::vector<uint32_t> passed_buffers(const Signature& signature) {
  std::vector<uint32_t> ids;
  for (const BufferInfo& info : signature.arguments)
    ids.push_back(info.id);
  for (const BufferInfo& info : signature.workspace)
    ids.push_back(info.id);
  return ids;
}

/// The statements: pointers, parameters and the run time as separate arguments.
llvm::Function* build_inner(ModuleParts& parts) {
  llvm::LLVMContext& context = parts.module.getContext();
  auto* ptr = llvm::PointerType::getUnqual(context);
  auto* i64 = llvm::Type::getInt64Ty(context);
  const std::vector<uint32_t> ids = passed_buffers(parts.signature);
  std::vector<llvm::Type*> types(ids.size(), ptr);
  types.insert(types.end(), parts.kernel.params.size(), i64);
  types.push_back(ptr);
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::Function::InternalLinkage, inner_name(parts), parts.module);
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::BasicBlock::Create(context, "entry", function);

  FunctionEmitter::Frame frame;
  frame.buffers.resize(parts.kernel.buffers.size());
  unsigned next = 0;
  for (const uint32_t id : ids) {
    describe_argument(function, next, parts.kernel.buffers[id]);
    frame.buffers[id] = function->getArg(next++);
    frame.buffers[id]->setName(parts.kernel.buffers[id].name);
  }
  for (const program::Param& param : parts.kernel.params) {
    frame.params.push_back(function->getArg(next++));
    frame.params.back()->setName(param.name);
  }
  frame.runtime = function->getArg(next);
  frame.thread = llvm::ConstantInt::get(i64, 0);
  FunctionEmitter emitter(parts, function, std::move(frame));
  const auto rest = parts.kernel.body.begin() + static_cast<std::ptrdiff_t>(parts.kernel.prepared);
  if (parts.kernel.prepared != 0)
    emitter.unless_prepared({parts.kernel.body.begin(), rest});
  emitter.block({rest, parts.kernel.body.end()});
  emitter.finish();
  return function;
}

/// Whether all streamed buffers begin with a cache line.
llvm::Value* begin_with_lines(llvm::IRBuilder<>& b, const ModuleParts& parts,
                              const std::vector<llvm::Value*>& arguments) {
  const std::vector<uint32_t> ids = passed_buffers(parts.signature);
  llvm::Value* bits = b.getInt64(0);
  for (size_t i = 0; i < ids.size(); ++i)
    if (parts.kernel.buffers[ids[i]].is_streamed)
      bits = b.CreateOr(bits, b.CreatePtrToInt(arguments[i], b.getInt64Ty()));
  return b.CreateIsNull(b.CreateAnd(bits, b.getInt64(kBufferAlignment - 1)));
}

/// The visible function: unpacks the arrays of pointers and parameters. `streaming` does the same
/// as `inner` where addresses allow it; null where nothing is streamed.
void build_entry(ModuleParts& parts, llvm::Function* inner, llvm::Function* streaming) {
  llvm::LLVMContext& context = parts.module.getContext();
  auto* ptr = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, ptr, ptr}, false);
  auto* entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                       entry_symbol(parts.signature), parts.module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  std::vector<llvm::Value*> arguments;
  const size_t buffers = passed_buffers(parts.signature).size();
  for (size_t i = 0; i < buffers; ++i)
    arguments.push_back(b.CreateLoad(ptr, b.CreateConstGEP1_64(ptr, entry->getArg(0), i)));
  for (size_t p = 0; p < parts.kernel.params.size(); ++p)
    arguments.push_back(
        b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), entry->getArg(1), p)));
  arguments.push_back(entry->getArg(2));
  if (streaming != nullptr) {
    auto* aligned = llvm::BasicBlock::Create(context, "aligned", entry);
    auto* otherwise = llvm::BasicBlock::Create(context, "otherwise", entry);
    b.CreateCondBr(begin_with_lines(b, parts, arguments), aligned, otherwise);
    b.SetInsertPoint(aligned);
    b.CreateCall(streaming, arguments);
    b.CreateRetVoid();
    b.SetInsertPoint(otherwise);
  }
  b.CreateCall(inner, arguments);
  b.CreateRetVoid();
}

llvm::Function* build_streaming(ModuleParts& parts) {
  if (std::none_of(parts.kernel.buffers.begin(), parts.kernel.buffers.end(),
                   [](const kernel::Buffer& b) { return b.is_streamed; }))
    return nullptr;
  parts.streams = true;
  llvm::Function* function = build_inner(parts);
  parts.streams = false;
  return function;
}

/// Attributes of every function: the processor, and wide vectors where there are some.
void set_attributes(llvm::Module& module, const CodeTarget& target) {
  const bool has_512 = target.features.find("+avx512f") != std::string::npos;
  // A Neoverse-N1 has two registers that are loaded at once later than one after the other, and
  // arithmetic waits.
  const std::string features =
      target.features + (target.cpu == "neoverse-n1" ? ",+slow-paired-128" : "");
  for (llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    function.setDoesNotThrow();
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", features);
    if (has_512)
      function.addFnAttr("prefer-vector-width", "512");
  }
}

/// Whether some loop adds up vectors and scalars side by side: tiles of a result with one column
/// more than whole vectors. LLVM takes rows of such scalars for vectors and gathers an operand of
/// each step: 64 x 17 results of 160 steps took 16.5 us, and 4.7 with scalars; 8 x 49 of 824 16.1
/// and 5.9; 380 x 33 of 41 40 and 10.7 (one Cascade Lake core, 19 November 2026).
bool adds_up_vectors_and_scalars(const kernel::Kernel& kernel) {
  bool found = false;
  kernel::visit(kernel.body, [&](const kernel::For& loop) {
    bool has_vectors = false, has_scalars = false;
    for (const kernel::Stmt& stmt : loop.body)
      if (const auto* assign = std::get_if<kernel::Assign>(&stmt)) {
        const scalar::Type type = kernel.variables[assign->var].type;
        has_vectors |= type.lanes > 1;
        has_scalars |= type.lanes == 1 && scalar::is_float(type.elem);
      }
    found |= has_vectors && has_scalars;
  });
  return found;
}

/// Whether the two store to other cache lines of one buffer, a fixed distance apart.
bool are_lines_apart(const kernel::Store& a, const kernel::Store& b) {
  constexpr int64_t kLine = 64;
  if (a.buffer != b.buffer || a.index.size() != b.index.size())
    return false;
  bool is_apart = false;
  for (size_t d = 0; d < a.index.size(); ++d) {
    const auto distance = scalar::constant_of(scalar::simplify(a.index[d] - b.index[d]));
    if (!distance)
      return false;
    const int64_t bytes = scalar::bytes_of(a.value.type().elem);
    is_apart |= d + 1 < a.index.size() ? *distance != 0 : std::abs(*distance) * bytes >= kLine;
  }
  return is_apart;
}

/// Whether some loop walks rows side by side, with values of the step before in variables:
/// recurrences, whose rows wait for each other's latency. LLVM takes these values for a vector and
/// gathers what the rows read.
bool walks_rows_with_values(const kernel::Kernel& kernel) {
  bool found = false;
  kernel::visit(kernel.body, [&](const kernel::For& loop) {
    std::vector<const kernel::Store*> stores;
    bool has_values = false;
    for (const kernel::Stmt& stmt : loop.body) {
      const auto* store = std::get_if<kernel::Store>(&stmt);
      if (store != nullptr && store->value.type().lanes == 1)
        stores.push_back(store);
      if (const auto* assign = std::get_if<kernel::Assign>(&stmt)) {
        const scalar::Type type = kernel.variables[assign->var].type;
        has_values |= type.lanes == 1 && scalar::is_float(type.elem);
      }
    }
    found |= has_values && stores.size() > 1 && are_lines_apart(*stores[0], *stores[1]);
  });
  return found;
}

/// x86 has an instruction, too, but for it denormal numbers are zero.
bool rounds_to_bf16(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isAArch64() &&
         machine.getMCSubtargetInfo()->checkFeatures("+bf16");
}

void check_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const bool is_broken = llvm::verifyModule(module, &stream);
  KAWARA_CHECK(!is_broken, "LLVM refuses the module: " + stream.str());
}

} // namespace

LlvmUnit module_from_kernel(const kernel::Kernel& kernel, const EmitOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  auto impl = std::make_unique<LlvmUnit::Impl>();
  impl->signature = signature_of(kernel);
  impl->target = options.target ? *options.target : host_code_target();
  impl->context = std::make_unique<llvm::LLVMContext>();
  impl->error = keep_errors(*impl->context);
  impl->module = std::make_unique<llvm::Module>(kernel.name, *impl->context);
  const auto machine = target_machine(impl->target);
  impl->module->setTargetTriple(impl->target.triple);
  impl->module->setDataLayout(machine->createDataLayout());
  const bool is_x86 = machine->getTargetTriple().isX86();
  const bool has_masks = is_x86 && machine->getMCSubtargetInfo()->checkFeatures("+avx512f");
  ModuleParts parts{*impl->module, kernel, impl->signature, assigned_variables(kernel.body),
                    is_x86 ? extreme_variables(kernel, has_masks) : std::unordered_set<uint32_t>()};
  parts.rounds_to_bf16 = rounds_to_bf16(*machine);
  parts.has_masks = has_masks;
  impl->attempt([&] {
    llvm::Function* inner = build_inner(parts);
    build_entry(parts, inner, build_streaming(parts));
    impl->signature.checks = std::move(parts.checks);
    set_attributes(*impl->module, impl->target);
    check_module(*impl->module);
  });
  impl->times.build = seconds_since(begin);
  const auto middle = std::chrono::steady_clock::now();
  impl->attempt([&] {
    if (options.opt_level > 0)
      optimise(
          *impl->module, *machine, options.opt_level,
          !(is_x86 && (adds_up_vectors_and_scalars(kernel) || walks_rows_with_values(kernel))));
    if (parts.rounds_to_bf16)
      store_bf16_as_integers(*impl->module);
  });
  impl->times.optimise = seconds_since(middle);
  return LlvmUnit(std::move(impl));
}

LlvmUnit::Impl::~Impl() {
  if (!is_abandoned)
    return;
  (void)module.release();
  (void)context.release();
}

bool LlvmUnit::Impl::attempt(const std::function<void()>& work) {
  if (failure)
    return false;
  failure = failure_of_llvm(work);
  is_abandoned = failure.has_value();
  if (!failure && !error->empty())
    failure = *error;
  return !failure;
}

Diagnostic cannot_compile(const LlvmUnit::Impl& unit) {
  Diagnostic d;
  d.code = "K0449";
  d.headline = "LLVM cannot compile kernel `" + unit.signature.name + "` for " + unit.target.cpu;
  d.body.push_back("LLVM says: " + unit.failure.value_or("nothing"));
  d.help.push_back({"try another schedule", "-s ''", false});
  d.help.push_back({"or write the kernel as C", "kawara emit", false});
  return d;
}

LlvmUnit::LlvmUnit(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LlvmUnit::LlvmUnit(LlvmUnit&&) noexcept = default;
LlvmUnit& LlvmUnit::operator=(LlvmUnit&&) noexcept = default;

LlvmUnit::~LlvmUnit() = default;

const Signature& LlvmUnit::signature() const { return impl_->signature; }
const CodeTarget& LlvmUnit::target() const { return impl_->target; }
EmitTimes LlvmUnit::times() const { return impl_->times; }

std::string LlvmUnit::ir() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->module->print(stream, nullptr);
  return stream.str();
}

Result<std::string, Diagnostic> LlvmUnit::assembly() const {
  const auto machine = target_machine(impl_->target);
  std::string text;
  if (!impl_->attempt([&] { text = assembly_of(*impl_->module, *machine); }))
    return fail(cannot_compile(*impl_));
  return text;
}

} // namespace kawara::emit
