#include "run/cpu/executable.h"

#include "emit/runtime_faults.h"
#include "run/buffer.h"
#include "run/cpu/call_refusals.h"
#include "run/cpu/jit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>

namespace kawara::run {
namespace {

/// What code that runs asks for. Generated code sees the RuntimeFaults part.
struct Running : emit::RuntimeFaults {
  explicit Running(ThreadPool* threads);
  ThreadPool* pool;
  char* private_blocks = nullptr; ///< one per thread
  int64_t private_bytes = 0;
};

/// Everything one call needs besides its arguments.
struct CallContext : Running {
  using Running::Running;
  std::vector<int64_t> params; ///< that the blocks below were planned for
  bool is_planned = false;
  Buffer kept;                     ///< workspaces that are prepared once
  std::shared_ptr<std::byte> lent; ///< instead of `kept`
  std::vector<int64_t> offsets;    ///< of workspaces, in `kept` or in the memory of this call
  int64_t temp_bytes = 0;          ///< of the memory of this call; private blocks come behind
  std::vector<void*> buffers;
  std::vector<const void*> constants; ///< that the workspace was prepared from
};

void run_parallel(const emit::RuntimeApi* api, int64_t lo, int64_t hi, int64_t step,
                  emit::Partition partition, emit::ParallelBody body, void* env) {
  static_cast<const Running*>(api)->pool->parallel_for(lo, hi, step, partition, body, env);
}

void* scratch_of(const emit::RuntimeApi* api, int64_t thread) {
  const auto* running = static_cast<const Running*>(api);
  return running->private_blocks + thread * running->private_bytes;
}

Running::Running(ThreadPool* threads) : pool(threads) {
  parallel_for = run_parallel;
  scratch = scratch_of;
}

/// Pointers that a call without a context passes at most, arguments and workspaces.
constexpr size_t kMostPointers = 16;

/// Whether calls share all that they need besides their arguments: workspaces that nobody writes
/// once they are prepared.
bool may_share_context(const emit::Signature& signature) {
  return signature.params.empty() && signature.scratch.empty() &&
         signature.arguments.size() + signature.workspace.size() <= kMostPointers &&
         (signature.workspace.empty() || signature.has_prepared) &&
         std::all_of(signature.workspace.begin(), signature.workspace.end(),
                     [](const emit::BufferInfo& buffer) { return buffer.is_constant; });
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

} // namespace

struct Executable::Impl {
  emit::Signature signature;
  LoadTimes times;
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const JitCode> code;
  emit::KernelFunction function; ///< of the code
  /// That of the last call, or null: one caller after the other takes no lock. A call of a small
  /// kernel takes less time than to lock and unlock twice.
  std::atomic<CallContext*> last = nullptr;
  std::mutex mutex;
  std::vector<std::unique_ptr<CallContext>> idle; ///< the others; guarded by `mutex`
  /// One that calls with its constants read and nobody writes, or null. A call of a kernel of some
  /// nanoseconds takes less time than to take a context and give it back.
  std::atomic<const CallContext*> shared = nullptr;
  std::unique_ptr<CallContext> owned; ///< what is or was `shared`; guarded by `mutex`
  std::atomic<bool> may_share;        ///< and nothing was yet

  Impl(emit::Signature s, std::shared_ptr<ThreadPool> p, std::shared_ptr<const JitCode> c)
      : signature(std::move(s)), pool(std::move(p)), code(std::move(c)), function(code->function()),
        may_share(may_share_context(signature)) {}
  ~Impl() { delete last.load(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<CallContext> make_context() const;
  std::unique_ptr<CallContext> take(std::span<const int64_t> params);
  void give(std::unique_ptr<CallContext> context);
  /// Makes the last one idle, too; needs the lock.
  void collect();
  /// What a call with these arguments shares with others; null where it needs a context.
  const CallContext* shared_by(std::span<void* const> arguments,
                               std::span<const int64_t> params) const;
  Result<Done, Diagnostic> call_sharing(const CallContext&, std::span<void* const> arguments) const;
  /// After a call that went well: what it needed is shared from now on, where that may be.
  void share(std::unique_ptr<CallContext> context);
  std::optional<Diagnostic> plan(CallContext&, std::span<const int64_t> params) const;
  /// Memory for one call, and the pointers into it.
  Buffer place(CallContext&) const;
  Diagnostic no_memory(std::span<const int64_t> params) const;
};

std::unique_ptr<CallContext> Executable::Impl::make_context() const {
  return std::make_unique<CallContext>(pool.get());
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

/// Refused arguments are none of these calls': others find out why.
const CallContext* Executable::Impl::shared_by(std::span<void* const> arguments,
                                               std::span<const int64_t> params) const {
  const CallContext* context = shared.load(std::memory_order_acquire);
  if (context == nullptr || arguments.size() != signature.arguments.size() || !params.empty())
    return nullptr;
  size_t constant = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const emit::BufferInfo& info = signature.arguments[i];
    const auto element = static_cast<uintptr_t>(scalar::bytes_of(info.elem));
    if (arguments[i] == nullptr ||
        (reinterpret_cast<uintptr_t>(arguments[i]) & (element - 1)) != 0 ||
        (info.is_constant && context->constants[constant++] != arguments[i]))
      return nullptr;
  }
  return context;
}

Result<Done, Diagnostic> Executable::Impl::call_sharing(const CallContext& context,
                                                        std::span<void* const> arguments) const {
  std::array<void*, kMostPointers> buffers;
  const auto rest = std::copy(arguments.begin(), arguments.end(), buffers.begin());
  std::copy(context.buffers.begin() + static_cast<std::ptrdiff_t>(arguments.size()),
            context.buffers.end(), rest);
  Running running(pool.get());
  running.is_prepared = signature.has_prepared ? 1 : 0;
  function(buffers.data(), nullptr, &running);
  if (auto fault = fault_of(signature, running))
    return fail(*std::move(fault));
  return Done{};
}

void Executable::Impl::share(std::unique_ptr<CallContext> context) {
  const std::lock_guard lock(mutex);
  if (!may_share.exchange(false, std::memory_order_relaxed)) {
    idle.push_back(std::move(context));
    return;
  }
  owned = std::move(context);
  shared.store(owned.get(), std::memory_order_release);
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
  auto impl = std::make_unique<Impl>(impl_->signature, impl_->pool, impl_->code);
  impl->times = impl_->times;
  return Executable(std::move(impl));
}

void Executable::forget_constants() const {
  const std::lock_guard lock(impl_->mutex);
  impl_->collect();
  // Calls that run may read what is shared: it stays, and nothing takes its place.
  impl_->shared.store(nullptr, std::memory_order_relaxed);
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
  const auto bytes_in = [&](const CallContext& context) -> std::span<const std::byte> {
    return {context.lent ? context.lent.get() : context.kept.as<std::byte>(),
            static_cast<size_t>(layout->kept_bytes)};
  };
  if (const CallContext* shared = impl_->shared.load(std::memory_order_relaxed); layout && shared)
    return bytes_in(*shared);
  for (const auto& context : impl_->idle)
    if (layout && context->is_planned && !context->constants.empty())
      return bytes_in(*context);
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
  if (const CallContext* shared = impl_->shared_by(arguments, params))
    return impl_->call_sharing(*shared, arguments);
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
  impl_->function(context->buffers.data(), params.data(), context.get());
  std::optional<Diagnostic> fault = fault_of(impl_->signature, *context);
  if (fault) {
    context->outside = 0;
    context->divided_by_zero = 0;
    context->constants.clear(); // what was prepared is no good either
  }
  // Of constants that change from call to call nothing is shared.
  const bool is_ready = !fault && (is_same || !impl_->signature.has_prepared);
  if (is_ready && impl_->may_share.load(std::memory_order_relaxed))
    impl_->share(std::move(context));
  else
    impl_->give(std::move(context));
  if (temps.bytes() > 0)
    impl_->pool->release(std::move(temps));
  if (fault)
    return fail(*std::move(fault));
  return Done{};
}

namespace {

Diagnostic cannot_load(const std::string& name, const std::string& why) {
  Diagnostic d;
  d.code = "K0444";
  d.headline = fmt::format("kernel `{}` cannot be loaded on this machine", name);
  d.body.push_back(why);
  d.help.push_back(
      {"", "compile for this machine, or write the kernel as C with `kawara emit`", false});
  return d;
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
  emit::Signature signature = unit.signature();
  const std::string triple = unit.target().triple;
  if (const auto why = other_machine(triple))
    return fail(cannot_load(signature.name, *why));
  KAWARA_TRY(std::string object, object_from_unit(unit));
  auto codes = link({{std::move(object), emit::entry_symbol(signature)}}, unit.target());
  if (!codes)
    return fail(cannot_load(signature.name, not_linked(triple, codes.error())));
  auto impl = std::make_unique<Executable::Impl>(
      std::move(signature), options.pool ? options.pool : std::make_shared<ThreadPool>(),
      std::make_shared<const JitCode>(std::move(codes->front())));
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
  for (size_t k = 0; k < kept.size(); ++k)
    executables.emplace_back(std::make_unique<Executable::Impl>(
        kept[k].signature, pool, std::make_shared<const JitCode>(std::move((*codes)[k]))));
  return executables;
}

} // namespace kawara::run
