#include "kernel/memory/nontemporal.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kawara::kernel {
namespace {

constexpr int64_t kStreamedLine = 64;
/// Results are kept from `kAlwaysKept` bytes down, whatever the machine says, and never from
/// `kNeverKept` up: an L3 is shared with others.
constexpr int64_t kAlwaysKept = int64_t{16} << 20;
constexpr int64_t kNeverKept = int64_t{32} << 20;

/// What index expressions are multiples of; 0 for zero.
class Multiples {
public:
  explicit Multiples(std::set<uint32_t> assigned) : assigned_(std::move(assigned)) {}

  void enter(const For& loop) { known_[loop.var] = std::gcd(of(loop.lo), loop.step); }
  void leave(const For&) {}
  void after(const Define& n) {
    if (n.value.type() == scalar::kIndex && !assigned_.contains(n.var))
      known_[n.var] = of(n.value);
  }

  int64_t of(const Expr& e) const {
    const scalar::AffineSum sum = scalar::affine_sum(e);
    int64_t common = std::abs(sum.constant);
    for (const auto& [term, factor] : sum.terms)
      common = std::gcd(common, factor * of_term(term));
    return common;
  }

private:
  int64_t of_term(const Expr& e) const {
    if (const auto* v = scalar::as<scalar::Var>(e)) {
      const auto at = known_.find(v->id);
      return at == known_.end() ? 1 : at->second;
    }
    const auto* n = scalar::as<scalar::Binary>(e);
    return n != nullptr && n->op == scalar::BinaryOp::Mul ? of(n->lhs) * of(n->rhs) : 1;
  }

  std::set<uint32_t> assigned_;
  std::map<uint32_t, int64_t> known_;
};

std::optional<int64_t> fixed_bytes(const Buffer& b) {
  int64_t bytes = scalar::bytes_of(b.elem);
  for (const Expr& extent : b.shape) {
    const auto n = scalar::constant_of(extent);
    if (!n || *n <= 0 || bytes > INT64_MAX / *n)
      return std::nullopt;
    bytes *= *n;
  }
  return bytes;
}

/// Takes out of a set of buffers those that are read, or written in other pieces than whole lines.
class StreamedStores {
public:
  StreamedStores(const Kernel& kernel, std::set<uint32_t> candidates, std::set<uint32_t> assigned)
      : kernel_(kernel), left_(std::move(candidates)), multiples_(std::move(assigned)) {}

  void walk(const Block& block) {
    visit_scoped(block, multiples_, [&](const Stmt& stmt) {
      visit_own_loads(stmt, [&](const scalar::Load& load) { left_.erase(load.tensor); });
      std::visit([&](const auto& kind) { look(kind); }, stmt);
    });
  }

  const std::set<uint32_t>& left() const { return left_; }

private:
  void look(const Store& store) {
    if (!writes_lines(store))
      left_.erase(store.buffer);
  }
  void look(const Zero& zero) { left_.erase(zero.buffer); }
  void look(const AsyncOp& async_op) {
    for (const auto& buffers : {written_by(async_op), read_by(async_op)})
      for (const uint32_t buffer : buffers)
        left_.erase(buffer);
  }
  void look(const OneOf<For, If, Allocate, Launch, Define, Assign, Prefetch, Comment, Barrier,
                        Commit, Await, Combine> auto&) {}

  bool writes_lines(const Store& n) const {
    const Buffer& b = kernel_.buffers[n.buffer];
    if (!left_.contains(n.buffer) || n.op != ReduceOp::None || n.index.empty())
      return false;
    const auto* run = scalar::as<scalar::Ramp>(n.index.back());
    if (run == nullptr || run->stride != 1)
      return false;
    int64_t elements = std::gcd(int64_t{n.value.type().lanes}, multiples_.of(run->base));
    int64_t stride = 1;
    for (size_t d = n.index.size() - 1; d-- > 0;) {
      if (n.index[d].type() != scalar::kIndex)
        return false;
      stride *= *scalar::constant_of(b.shape[d + 1]);
      elements = std::gcd(elements, stride * multiples_.of(n.index[d]));
    }
    return elements * scalar::bytes_of(b.elem) % kStreamedLine == 0;
  }

  const Kernel& kernel_;
  std::set<uint32_t> left_;
  Multiples multiples_;
};

/// How far ahead of a long computation its operands are asked for, and how many operations make it
/// one, for each line of results.
constexpr int64_t kAheadBytes = 8192;
constexpr int64_t kLongComputation = 12;

/// Elements of arguments that a body without loops reads as runs along `var`, and how much it
/// computes for each line it streams.
class StreamedBody {
public:
  StreamedBody(const Kernel& kernel, const For& loop) : kernel_(kernel) {
    for (const Stmt& stmt : loop.body) {
      if (const auto* store = std::get_if<Store>(&stmt);
          store != nullptr && kernel.buffers[store->buffer].is_streamed)
        lines_ += lines_of(store->value.type());
      visit_own_exprs(stmt, [&](const Expr& root) {
        scalar::visit(root, [&](const Expr& e) { add(e, loop.var); });
      });
    }
  }

  bool is_long() const { return lines_ > 0 && operations_ >= kLongComputation * lines_; }

  Block prefetches() const {
    Block made;
    for (const Expr& e : runs_) {
      const auto* load = scalar::as<scalar::Load>(e);
      const int64_t bytes = scalar::bytes_of(kernel_.buffers[load->tensor].elem);
      for (int64_t k = 0; k < lines_of(e.type()); ++k) {
        std::vector<Expr> at = load->index;
        at.back() = scalar::simplify(scalar::as<scalar::Ramp>(at.back())->base +
                                     scalar::int_lit((kAheadBytes + k * kStreamedLine) / bytes));
        made.emplace_back(Prefetch{load->tensor, std::move(at)});
      }
    }
    return made;
  }

private:
  static int64_t lines_of(scalar::Type type) {
    return std::max<int64_t>(1, type.lanes * scalar::bytes_of(type.elem) / kStreamedLine);
  }

  void add(const Expr& e, uint32_t var) {
    const bool computes = scalar::as<scalar::Unary>(e) != nullptr ||
                          scalar::as<scalar::Binary>(e) != nullptr ||
                          scalar::as<scalar::Fma>(e) != nullptr;
    if (computes && scalar::is_float(e.type().elem))
      operations_ += lines_of(e.type());
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || kernel_.buffers[load->tensor].scope != Scope::Argument ||
        load->index.empty())
      return;
    const auto* run = scalar::as<scalar::Ramp>(load->index.back());
    if (run != nullptr && run->stride == 1 && mentions(run->base, var) && !has_load(run->base))
      runs_.push_back(e);
  }

  const Kernel& kernel_;
  int64_t lines_ = 0, operations_ = 0;
  std::vector<Expr> runs_;
};

/// Prefetchers of x86 stop at the end of a page, and a long computation keeps the processor from
/// looking far ahead by itself.
Block call_operands(const Kernel& kernel) {
  Block result = kernel.body;
  visit(result, [&](For& loop) {
    if (has<For, If>(loop.body))
      return;
    const StreamedBody body(kernel, loop);
    if (body.is_long()) {
      Block made = body.prefetches();
      append(made, std::move(loop.body));
      loop.body = std::move(made);
    }
  });
  return result;
}

} // namespace

Kernel nontemporal(Kernel kernel, const target::Cpu& cpu) {
  const int64_t kept = std::clamp(cpu.caches.l3, kAlwaysKept, kNeverKept);
  std::set<uint32_t> candidates, assigned;
  for (uint32_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& b = kernel.buffers[id];
    if (b.scope == Scope::Argument && b.role == program::Role::Output &&
        fixed_bytes(b).value_or(0) >= kept)
      candidates.insert(id);
  }
  if (candidates.empty())
    return kernel;
  visit(kernel.body, [&](const Assign& assign) { assigned.insert(assign.var); });
  StreamedStores stores(kernel, std::move(candidates), std::move(assigned));
  stores.walk(kernel.body);
  for (const uint32_t id : stores.left())
    kernel.buffers[id].is_streamed = true;
  if (cpu.arch == target::Arch::X86_64)
    kernel.body = call_operands(kernel);
  return kernel;
}

} // namespace kawara::kernel
