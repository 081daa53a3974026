#include "run/cpu/executable.h"

#include "emit/runtime_faults.h"
#include "run/buffer.h"
#include "run/cpu/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>

namespace kawara::run {
namespace {

/// Everything one call needs besides its arguments. Generated code sees the RuntimeFaults part.
struct CallContext : emit::RuntimeFaults {
  ThreadPool* pool = nullptr;
  std::vector<int64_t> params; ///< that the blocks below were planned for
  bool is_planned = false;
  Buffer kept;                     ///< workspaces that are prepared once
  std::shared_ptr<std::byte> lent; ///< instead of `kept`
  std::vector<int64_t> offsets;    ///< of workspaces, in `kept` or in the memory of this call
  int64_t temp_bytes = 0;          ///< of the memory of this call; private blocks come behind
  char* private_blocks = nullptr;  ///< one per thread, during a call
  int64_t private_bytes = 0;
  std::vector<void*> buffers;
  std::vector<const void*> constants; ///< that the workspace was prepared from
};

void run_parallel(const emit::RuntimeApi* api, int64_t lo, int64_t hi, int64_t step,
                  emit::Partition partition, emit::ParallelBody body, void* env) {
  static_cast<const CallContext*>(api)->pool->parallel_for(lo, hi, step, partition, body, env);
}

void* scratch_of(const emit::RuntimeApi* api, int64_t thread) {
  const auto* context = static_cast<const CallContext*>(api);
  return context->private_blocks + thread * context->private_bytes;
}

Diagnostic diagnostic(const char* code, std::string headline, std::string body, std::string help) {
  Diagnostic d;
  d.code = code;
  d.headline = std::move(headline);
  d.body.push_back(std::move(body));
  d.help.push_back({"", std::move(help), false});
  return d;
}

Diagnostic divided_by_zero(const std::string& name) {
  Diagnostic d = diagnostic(
      "K0412", "integer division by zero",
      fmt::format("Kernel `{}` divided an integer by zero; its results are not to be used.", name),
      "");
  d.help = {{"guard the divisor", "select(d != 0, n // d, 0)", false}};
  return d;
}

/// What a thread said before it stopped.
Diagnostic index_outside(const emit::Signature& signature, const emit::RuntimeFaults& faults) {
  const auto number = static_cast<size_t>(faults.outside.load() - 1);
  const emit::IndexCheck& check = signature.checks.at(number);
  std::string element;
  for (int64_t d = 0; d < check.index_rank; ++d)
    element +=
        (d == 0 ? "" : ", ") + std::to_string(faults.element.at(static_cast<size_t>(d)).load());
  const std::string source =
      check.index_tensor.empty()
          ? "a range that is read from data"
          : "`" + check.index_tensor + (element.empty() ? "" : "[" + element + "]") + "`";
  Diagnostic d = diagnostic(
      "K0413", fmt::format("index {} is outside of `{}`", faults.index.load(), check.tensor),
      fmt::format("It is what {} gives for dimension {} of `{}`{}, whose extent is {}; indices "
                  "start at 0.",
                  source, check.dim, check.tensor,
                  check.statement.empty() ? "" : " in " + check.statement, faults.extent.load()),
      "keep indices inside:  x[min(max(idx[i], 0), N - 1)]");
  d.label = check.statement;
  d.body.push_back(
      fmt::format("Kernel `{}` stopped there; its results are not to be used.", signature.name));
  return d;
}

std::string names_of(const std::vector<emit::BufferInfo>& buffers) {
  std::string text;
  for (const emit::BufferInfo& b : buffers)
    text += (text.empty() ? "" : ", ") + b.name;
  return text.empty() ? "none" : text;
}

std::string values_of(const emit::Signature& signature, std::span<const int64_t> params) {
  std::string text;
  for (size_t p = 0; p < params.size(); ++p)
    text += fmt::format("{}{}={}", p == 0 ? "" : ", ", signature.params[p].name, params[p]);
  return text.empty() ? "no parameters" : text;
}

Diagnostic wrong_count(const char* code, const emit::Signature& signature, const char* what,
                       size_t wanted, size_t given, const std::string& names) {
  return diagnostic(code,
                    fmt::format("kernel `{}` takes {} {}, but {} were given", signature.name,
                                wanted, what, given),
                    fmt::format("In order: {}.", names), "pass exactly these, in this order");
}

Diagnostic too_large(const emit::Signature& signature, const emit::BufferInfo& buffer,
                     std::span<const int64_t> params) {
  return diagnostic("K0443",
                    fmt::format("no memory can be planned for tensor `{}` of kernel `{}`",
                                buffer.name, signature.name),
                    fmt::format("With {} an extent of it is negative, or it does not fit into "
                                "this machine's memory.",
                                values_of(signature, params)),
                    "choose other parameter values");
}

std::optional<Diagnostic> refuse_arguments(const emit::Signature& signature,
                                           std::span<void* const> arguments,
                                           std::span<const int64_t> params) {
  if (arguments.size() != signature.arguments.size())
    return wrong_count("K0440", signature, "tensors", signature.arguments.size(), arguments.size(),
                       names_of(signature.arguments));
  if (params.size() != signature.params.size()) {
    std::string names;
    for (const program::Param& p : signature.params)
      names += (names.empty() ? "" : ", ") + p.name;
    return wrong_count("K0441", signature, "parameters", signature.params.size(), params.size(),
                       names.empty() ? "none" : names);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const emit::BufferInfo& info = signature.arguments[i];
    // A power of two; to divide by it would take as long as a small kernel.
    const int64_t element = scalar::bytes_of(info.elem);
    const bool is_misaligned =
        (reinterpret_cast<uintptr_t>(arguments[i]) & static_cast<uintptr_t>(element - 1)) != 0;
    if (!is_misaligned && arguments[i] != nullptr)
      continue;
    const auto bytes = emit::bytes_of(info, params);
    if (!is_misaligned && bytes && *bytes == 0)
      continue;
    return diagnostic(
        "K0442",
        fmt::format("tensor `{}` of kernel `{}` has no usable memory", info.name, signature.name),
        is_misaligned ? fmt::format("It starts at address {}, which is no multiple of {} bytes.",
                                    fmt::ptr(arguments[i]), element)
                      : std::string("Its pointer is null."),
        fmt::format("pass memory of element type {} that starts at a multiple of {} bytes",
                    scalar::name_of(info.elem), element));
  }
  return std::nullopt;
}

/// Makes `constants` those of this call; were they the same before? Allocates nothing after the
/// first call.
bool keep_constants(const emit::Signature& signature, std::span<void* const> arguments,
                    std::vector<const void*>& constants) {
  size_t count = 0;
  bool is_same = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!signature.arguments[i].is_constant)
      continue;
    if (count == constants.size()) {
      constants.push_back(nullptr);
      is_same = false;
    }
    is_same = is_same && constants[count] == arguments[i];
    constants[count++] = arguments[i];
  }
  return is_same;
}

/// The buffer whose size cannot be planned, if there is one.
const emit::BufferInfo* unplannable(const emit::Signature& signature,
                                    std::span<const int64_t> params) {
  for (const emit::BufferInfo& buffer : signature.arguments)
    if (!emit::bytes_of(buffer, params))
      return &buffer;
  for (const auto* group : {&signature.workspace, &signature.scratch})
    for (const emit::BufferInfo& buffer : *group)
      if (!emit::own_bytes_of(buffer, params))
        return &buffer;
  return nullptr;
}

} // namespace

struct Executable::Impl {
  emit::Signature signature;
  LoadTimes times;
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const JitCode> code;
  /// That of the last call, or null: one caller after the other takes no lock. A call of a small
  /// kernel takes less time than to lock and unlock twice.
  std::atomic<CallContext*> last = nullptr;
  std::mutex mutex;
  std::vector<std::unique_ptr<CallContext>> idle; ///< the others; guarded by `mutex`

  Impl() = default;
  ~Impl() { delete last.load(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<CallContext> make_context() const;
  std::unique_ptr<CallContext> take(std::span<const int64_t> params);
  void give(std::unique_ptr<CallContext> context);
  /// Makes the last one idle, too; needs the lock.
  void collect();
  std::optional<Diagnostic> plan(CallContext&, std::span<const int64_t> params) const;
  /// Memory for one call, and the pointers into it.
  Buffer place(CallContext&) const;
  Diagnostic no_memory(std::span<const int64_t> params) const;
};

std::unique_ptr<CallContext> Executable::Impl::make_context() const {
  auto context = std::make_unique<CallContext>();
  context->parallel_for = run_parallel;
  context->scratch = scratch_of;
  context->pool = pool.get();
  return context;
}

/// An idle context, rather one that was planned for these parameters.
std::unique_ptr<CallContext> Executable::Impl::take(std::span<const int64_t> params) {
  const auto fits_params = [&](const CallContext& context) {
    return std::equal(params.begin(), params.end(), context.params.begin(), context.params.end());
  };
  std::unique_ptr<CallContext> recent(last.exchange(nullptr, std::memory_order_acquire));
  if (recent && fits_params(*recent))
    return recent;
  {
    const std::lock_guard lock(mutex);
    if (recent)
      idle.push_back(std::move(recent));
    for (size_t i = idle.size(); i-- > 0;) {
      if (!fits_params(*idle[i]) && i != 0)
        continue;
      std::swap(idle[i], idle.back());
      std::unique_ptr<CallContext> context = std::move(idle.back());
      idle.pop_back();
      return context;
    }
  }
  return make_context();
}

void Executable::Impl::give(std::unique_ptr<CallContext> context) {
  CallContext* none = nullptr;
  if (last.compare_exchange_strong(none, context.get(), std::memory_order_release,
                                   std::memory_order_relaxed)) {
    static_cast<void>(context.release());
    return;
  }
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(context));
}

void Executable::Impl::collect() {
  if (CallContext* recent = last.exchange(nullptr, std::memory_order_acquire))
    idle.emplace_back(recent);
}

std::optional<Diagnostic> Executable::Impl::plan(CallContext& context,
                                                 std::span<const int64_t> params) const {
  if (context.is_planned &&
      std::equal(params.begin(), params.end(), context.params.begin(), context.params.end()))
    return std::nullopt;
  if (const emit::BufferInfo* buffer = unplannable(signature, params))
    return too_large(signature, *buffer, params);
  const auto workspace = emit::workspace_layout(signature, params);
  const auto scratch = emit::layout_of(signature.scratch, params);
  if (!workspace)
    return too_large(signature, signature.workspace.back(), params);
  if (!scratch)
    return too_large(signature, signature.scratch.back(), params);
  context.is_planned = false;
  context.constants.clear();
  try {
    if (!context.lent && context.kept.bytes() < workspace->kept_bytes)
      context.kept = Buffer(workspace->kept_bytes);
  } catch (const std::bad_alloc&) {
    return no_memory(params);
  }
  context.offsets = workspace->offsets;
  context.temp_bytes = workspace->temp_bytes;
  context.private_bytes = scratch->back();
  context.buffers.assign(signature.arguments.size() + signature.workspace.size(), nullptr);
  context.params.assign(params.begin(), params.end());
  context.is_planned = true;
  return std::nullopt;
}

Buffer Executable::Impl::place(CallContext& context) const {
  const int64_t bytes = context.temp_bytes + context.private_bytes * pool->threads();
  Buffer temps = bytes > 0 ? pool->lend(bytes) : Buffer();
  std::byte* kept = context.lent ? context.lent.get() : context.kept.as<std::byte>();
  for (size_t i = 0; i < signature.workspace.size(); ++i)
    context.buffers[signature.arguments.size() + i] =
        (signature.workspace[i].is_constant ? kept : temps.as<std::byte>()) + context.offsets[i];
  context.private_blocks = temps.as<char>() + context.temp_bytes;
  return temps;
}

/// Names the largest of the buffers.
Diagnostic Executable::Impl::no_memory(std::span<const int64_t> params) const {
  const emit::BufferInfo* largest = nullptr;
  for (const auto* group : {&signature.workspace, &signature.scratch})
    for (const emit::BufferInfo& buffer : *group)
      if (!largest || emit::own_bytes_of(buffer, params) > emit::own_bytes_of(*largest, params))
        largest = &buffer;
  return too_large(signature, *largest, params);
}

Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable& Executable::operator=(Executable&&) noexcept = default;
Executable::~Executable() = default;

const emit::Signature& Executable::signature() const { return impl_->signature; }
LoadTimes Executable::times() const { return impl_->times; }

Executable Executable::clone() const {
  auto impl = std::make_unique<Impl>();
  impl->signature = impl_->signature;
  impl->times = impl_->times;
  impl->pool = impl_->pool;
  impl->code = impl_->code;
  return Executable(std::move(impl));
}

void Executable::forget_constants() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->collect();
  for (const auto& context : impl_->idle)
    context->constants.clear();
}

const std::string& Executable::object() const { return impl_->code->object(); }

std::span<const std::byte> Executable::prepared() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->collect();
  if (!impl_->signature.has_prepared || !impl_->signature.params.empty())
    return {};
  const auto layout = emit::workspace_layout(impl_->signature, {});
  for (const auto& context : impl_->idle)
    if (layout && context->is_planned && !context->constants.empty())
      return {context->lent ? context->lent.get() : context->kept.as<std::byte>(),
              static_cast<size_t>(layout->kept_bytes)};
  return {};
}

void Executable::adopt(std::span<void* const> arguments,
                       std::shared_ptr<std::byte> workspace) const {
  auto context = impl_->make_context();
  context->lent = std::move(workspace);
  if (impl_->plan(*context, {}))
    return; // the next call will say why
  keep_constants(impl_->signature, arguments, context->constants);
  impl_->give(std::move(context));
}

Result<Done, Diagnostic> Executable::call(std::span<void* const> arguments,
                                          std::span<const int64_t> params) const {
  if (auto refusal = refuse_arguments(impl_->signature, arguments, params))
    return fail(std::move(*refusal));
  std::unique_ptr<CallContext> context = impl_->take(params);
  if (auto refusal = impl_->plan(*context, params)) {
    impl_->give(std::move(context));
    return fail(std::move(*refusal));
  }
  Buffer temps;
  try {
    temps = impl_->place(*context);
  } catch (const std::bad_alloc&) {
    impl_->give(std::move(context));
    return fail(impl_->no_memory(params));
  }
  std::copy(arguments.begin(), arguments.end(), context->buffers.begin());
  const bool is_same = keep_constants(impl_->signature, arguments, context->constants);
  context->is_prepared = impl_->signature.has_prepared && is_same ? 1 : 0;
  impl_->code->function()(context->buffers.data(), params.data(), context.get());
  std::optional<Diagnostic> fault;
  if (context->outside.load() != 0)
    fault = index_outside(impl_->signature, *context);
  else if (context->divided_by_zero.load() != 0)
    fault = divided_by_zero(impl_->signature.name);
  if (fault) {
    context->outside = 0;
    context->divided_by_zero = 0;
    context->constants.clear(); // what was prepared is no good either
  }
  impl_->give(std::move(context));
  if (temps.bytes() > 0)
    impl_->pool->release(std::move(temps));
  if (fault)
    return fail(*std::move(fault));
  return Done{};
}

namespace {

Diagnostic cannot_load(const std::string& name, const std::string& why) {
  return diagnostic("K0444", fmt::format("kernel `{}` cannot be loaded on this machine", name), why,
                    "compile for this machine, or write the kernel as C with `kawara emit`");
}

/// The linker in memory takes objects of a related processor without complaint.
std::optional<std::string> other_machine(const std::string& triple) {
  const std::string host = emit::host_code_target().triple;
  if (emit::has_same_system(triple, host))
    return std::nullopt;
  return fmt::format("Its code is for {}, this is {}.", triple, host);
}

std::string not_linked(const std::string& triple, const std::string& words) {
  return fmt::format("Code for {} could not be linked: {}.", triple, words);
}

} // namespace

Result<Executable, Diagnostic> load(emit::LlvmUnit unit, const LoadOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  auto impl = std::make_unique<Executable::Impl>();
  impl->signature = unit.signature();
  impl->pool = options.pool ? options.pool : std::make_shared<ThreadPool>();
  const std::string triple = unit.target().triple;
  if (const auto why = other_machine(triple))
    return fail(cannot_load(impl->signature.name, *why));
  KAWARA_TRY(std::string object, object_from_unit(unit));
  auto codes = link({{std::move(object), emit::entry_symbol(unit.signature())}}, unit.target());
  if (!codes)
    return fail(cannot_load(impl->signature.name, not_linked(triple, codes.error())));
  impl->code = std::make_shared<const JitCode>(std::move(codes->front()));
  impl->times.codegen =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return Executable(std::move(impl));
}

Result<std::vector<Executable>, Diagnostic> load_kept(const std::vector<KeptCode>& kept,
                                                      const emit::CodeTarget& target,
                                                      const LoadOptions& options) {
  if (kept.empty())
    return std::vector<Executable>();
  const std::string& name = kept.front().signature.name;
  if (const auto why = other_machine(target.triple))
    return fail(cannot_load(name, *why));
  std::vector<KeptObject> objects;
  for (const KeptCode& each : kept)
    objects.push_back({each.object, emit::entry_symbol(each.signature)});
  auto codes = link(objects, target);
  if (!codes)
    return fail(cannot_load(name, not_linked(target.triple, codes.error())));
  const auto pool = options.pool ? options.pool : std::make_shared<ThreadPool>();
  std::vector<Executable> executables;
  for (size_t k = 0; k < kept.size(); ++k) {
    auto impl = std::make_unique<Executable::Impl>();
    impl->signature = kept[k].signature;
    impl->pool = pool;
    impl->code = std::make_shared<const JitCode>(std::move((*codes)[k]));
    executables.emplace_back(std::move(impl));
  }
  return executables;
}

} // namespace kawara::run
