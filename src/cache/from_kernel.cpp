#include "cache/from_kernel.h"

#include "estimate/accesses.h"
#include "kernel/analysis/extents.h"
#include "kernel/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kawara::cache {
namespace {

/// Where buffers begin.
constexpr int64_t kPage = 4096, kHugePage = int64_t{2} << 20, kLarge = int64_t{4} << 20;

Diagnostic unknown_accesses(const kernel::Kernel& kernel) {
  const bool is_for_gpu = kernel::has<kernel::Launch>(kernel.body);
  Diagnostic d;
  d.code = "K0457";
  d.headline = fmt::format("the addresses of `{}` are not known before it runs", kernel.name);
  d.body.push_back(
      is_for_gpu ? "It is a kernel for a GPU: in which order its blocks run, nobody knows before."
                 : "An index or the end of a loop is read from memory: where it leads, only "
                   "running it shows.");
  return d;
}

class KernelReader : private LinearMaker {
public:
  KernelReader(const kernel::Kernel& kernel, std::span<const int64_t> sizes, AccessProgram& made)
      : LinearMaker(made), kernel_(kernel), sizes_(sizes), made_(made) {
    made.variables = static_cast<uint32_t>(kernel.variables.size());
    place_buffers();
  }

  /// Whether all is known.
  bool read(const estimate::Accesses& accesses) {
    for (const estimate::AccessCode& part : accesses.parts)
      count_sets(part);
    for (size_t k = 0; k < accesses.parts.size(); ++k) {
      Code code;
      add_code(accesses.parts[k], code);
      for (const Step& step : code)
        made_.warm_up.push_back(step);
      if (k >= kernel_.prepared)
        made_.code.insert(made_.code.end(), code.begin(), code.end());
    }
    made_.assumed = accesses.assumed;
    return is_known_;
  }

private:
  void place_buffers() {
    const std::vector<int64_t> sizes(sizes_.begin(), sizes_.end());
    int64_t next = 0;
    for (const kernel::Buffer& buffer : kernel_.buffers) {
      const int64_t bytes =
          kernel::element_count(kernel::extents_of(buffer, sizes)) * scalar::bytes_of(buffer.elem);
      const int64_t unit = bytes >= kLarge ? kHugePage : kPage;
      next = (next + unit - 1) / unit * unit;
      made_.arrays.push_back({buffer.name, bytes, next});
      next += bytes;
    }
  }

  Linear leaf(const scalar::Expr& e) override {
    if (const auto* param = scalar::as<scalar::Param>(e))
      return {sizes_[param->index], {}, {}};
    const auto* var = scalar::as<scalar::Var>(e);
    return var != nullptr ? variable(var->id) : Linear{};
  }
  Linear variable(uint32_t id) const {
    const auto meant = meant_.find(id);
    return meant != meant_.end() ? meant->second : Linear{0, {{id, 1}}, {}};
  }
  Linear known(const scalar::Expr& e) {
    auto sum = linear(e);
    is_known_ = is_known_ && sum.has_value();
    return std::move(sum).value_or(Linear{});
  }
  Linear sum_of(const estimate::Place& place) {
    Linear sum{place.constant, {}, {}};
    for (const auto& [var, factor] : place.variables)
      cache::add(sum, variable(var), factor);
    for (const auto& [term, factor] : place.others)
      cache::add(sum, known(term), factor);
    return sum;
  }

  void count_sets(const estimate::AccessCode& code) {
    for (const estimate::AccessStep& step : code) {
      if (const auto* set = std::get_if<estimate::AccessSet>(&step.step)) {
        ++sets_[set->var];
      } else if (const auto* loop = std::get_if<estimate::AccessLoop>(&step.step)) {
        count_sets(loop->body);
      } else if (const auto* branch = std::get_if<estimate::AccessBranch>(&step.step)) {
        count_sets(branch->then);
        count_sets(branch->otherwise);
      }
    }
  }
  void add_code(const estimate::AccessCode& code, Code& made) {
    for (const estimate::AccessStep& step : code)
      std::visit([&](const auto& s) { one(s, made); }, step.step);
  }
  void one(const estimate::Access& access, Code& made) {
    using Kind = estimate::Access::Kind;
    const kernel::Buffer& buffer = kernel_.buffers[access.buffer];
    const Reference::Kind kind = access.kind == Kind::Load      ? Reference::Kind::Read
                                 : access.kind == Kind::Request ? Reference::Kind::Prefetch
                                 : buffer.is_streamed           ? Reference::Kind::Stream
                                                                : Reference::Kind::Write;
    Touch touch;
    touch.reference = static_cast<uint32_t>(made_.references.size());
    touch.at = sum_of(access.at);
    touch.bytes = access.bytes;
    touch.count = access.count;
    touch.stride = access.stride;
    if (access.guard)
      touch.guard = known(*access.guard);
    made_.references.push_back({kind, access.buffer, "", buffer.name, inside_});
    made.push_back({std::move(touch)});
  }
  void one(const estimate::AccessLoop& loop, Code& made) {
    Loop copy{loop.var,        static_cast<uint32_t>(made_.loops.size()),
              sum_of(loop.lo), sum_of(loop.hi),
              loop.step,       {}};
    made_.loops.push_back({kernel_.variables[loop.var].name, inside_});
    const auto outside = std::exchange(inside_, copy.number);
    add_code(loop.body, copy.body);
    inside_ = outside;
    made.push_back({std::move(copy)});
  }
  void one(const estimate::AccessBranch& branch, Code& made) {
    Branch copy{known(branch.cond), {}, {}};
    add_code(branch.then, copy.then);
    add_code(branch.otherwise, copy.otherwise);
    made.push_back({std::move(copy)});
  }
  /// A name for a value, given once and made of loops' variables alone, is that value wherever it
  /// is used.
  void one(const estimate::AccessSet& set, Code& made) {
    Linear value = sum_of(set.value);
    const bool is_steady =
        sets_[set.var] == 1 && value.formulas.empty() &&
        std::all_of(value.variables.begin(), value.variables.end(),
                    [this](const auto& term) { return sets_.count(term.first) == 0; });
    if (is_steady)
      meant_.insert_or_assign(set.var, std::move(value));
    else
      made.push_back({Set{set.var, std::move(value)}});
  }

  const kernel::Kernel& kernel_;
  std::span<const int64_t> sizes_;
  AccessProgram& made_;
  std::map<uint32_t, int64_t> sets_; ///< how many steps set a variable
  std::map<uint32_t, Linear> meant_;
  std::optional<uint32_t> inside_;
  bool is_known_ = true;
};

} // namespace

Result<AccessProgram, Diagnostic> accesses_of_kernel(const kernel::Kernel& kernel,
                                                     std::span<const int64_t> sizes) {
  const auto accesses = estimate::accesses_of(kernel, sizes);
  AccessProgram made;
  if (!accesses || !KernelReader(kernel, sizes, made).read(*accesses))
    return fail(unknown_accesses(kernel));
  return made;
}

} // namespace kawara::cache
