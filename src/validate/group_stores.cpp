#include "validate/group_stores.h"

#include "kernel/analysis/extents.h"
#include "kernel/walk.h"
#include "scalar/eval.h"
#include "validate/conditions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace kawara::validate {
namespace {

using kernel::Block;
using kernel::Stmt;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;

bool is_output(const kernel::Buffer& buffer) {
  return buffer.scope == kernel::Scope::Argument &&
         (buffer.role == program::Role::Output || buffer.role == program::Role::Inout);
}

/// The buffer that the statement itself stores to, where it is one of global memory.
std::optional<uint32_t> stored_by(const Stmt& stmt) {
  if (const auto* store = std::get_if<kernel::Store>(&stmt))
    return store->buffer;
  if (const auto* zero = std::get_if<kernel::Zero>(&stmt))
    return zero->buffer;
  if (const auto* async_op = std::get_if<kernel::AsyncOp>(&stmt))
    if (const auto* bulk = std::get_if<kernel::BulkStore>(&async_op->what))
      return bulk->to.buffer;
  return std::nullopt;
}

/// What is said of one tensor's elements.
struct Stored {
  std::vector<int64_t> extents;
  std::vector<uint8_t> times; ///< by element, in row-major order: in the current launch
  std::vector<bool> ever;
};

/// Stops a walk that cannot go on.
struct Stop {
  std::string why;
};

/// Elements that are counted in the time of a step.
constexpr size_t kElementsPerStep = 16;

class Counter {
public:
  Counter(const kernel::Kernel& kernel, size_t most, Report& report)
      : kernel_(kernel), most_(most), report_(report), values_(kernel.variables.size()) {
    leaves_.var = [this](uint32_t var) -> std::optional<scalar::Value> {
      if (!values_[var])
        return std::nullopt;
      return scalar::int_value(*values_[var]);
    };
  }

  void run() {
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (is_output(kernel_.buffers[b])) {
        Stored& stored = stored_[b];
        stored.extents = kernel::extents_of(kernel_.buffers[b], {});
        const auto elements = static_cast<size_t>(kernel::element_count(stored.extents));
        step(elements / kElementsPerStep);
        stored.times.resize(elements);
        stored.ever.resize(elements);
      }
    block(kernel_.body);
  }
  const std::map<uint32_t, Stored>& stored() const { return stored_; }

private:
  /// Whether stores to outputs are inside; asked once for each block.
  bool matters(const Block& body) {
    const auto [known, is_new] = matters_.try_emplace(&body, false);
    if (is_new)
      known->second = kernel::has(body, [&](const Stmt& stmt) {
        const auto buffer = stored_by(stmt);
        return buffer && stored_.contains(*buffer);
      });
    return known->second;
  }

  void step(size_t count) {
    steps_ += count;
    if (steps_ > most_)
      throw Stop{"they would take more than " + std::to_string(most_) + " steps"};
  }

  void block(const Block& body) {
    for (const Stmt& stmt : body) {
      step(1);
      std::visit([&](const auto& s) { one(s); }, stmt);
    }
  }

  /// Variables that are assigned in what is passed over have no known value after it.
  void pass_over(const Block& body) {
    const auto [known, is_new] = assigned_.try_emplace(&body);
    if (is_new)
      kernel::visit(body, [&](const kernel::Assign& s) { known->second.push_back(s.var); });
    for (const uint32_t var : known->second)
      values_[var].reset();
  }

  void one(const kernel::OneOf<kernel::Prefetch, kernel::Comment, kernel::Barrier, kernel::Commit,
                               kernel::Await, kernel::Combine> auto&) {}
  void one(const kernel::Allocate& s) { matters(s.body) ? block(s.body) : pass_over(s.body); }
  void one(const kernel::Define& s) { set(s.var, s.value); }
  void one(const kernel::Assign& s) { set(s.var, s.value); }

  void one(const kernel::For& s) {
    if (!matters(s.body))
      return pass_over(s.body);
    const int64_t last = needed(s.hi);
    for (int64_t at = needed(s.lo); at < last; at += s.step) {
      values_[s.var] = at;
      block(s.body);
    }
  }

  void one(const kernel::If& s) {
    if (!matters(s.then) && !matters(s.otherwise)) {
      pass_over(s.then);
      return pass_over(s.otherwise);
    }
    block(needed(s.cond) != 0 ? s.then : s.otherwise);
  }

  void one(const kernel::Launch& s) {
    if (!matters(s.body))
      return;
    for (auto& [buffer, stored] : stored_)
      std::fill(stored.times.begin(), stored.times.end(), uint8_t{0});
    launch_ = &s;
    const std::vector<std::optional<int64_t>> outside = values_;
    std::array<int64_t, 6> counts{}, at{};
    for (size_t d = 0; d < 3; ++d) {
      counts[d] = needed(s.blocks[d]);
      counts[3 + d] = s.threads[d];
    }
    if (std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count <= 0; }))
      return;
    for (size_t d = 0; d < 6;) {
      values_ = outside;
      for (size_t k = 0; k < 3; ++k) {
        values_[s.block_vars[k]] = at[k];
        values_[s.thread_vars[k]] = at[3 + k];
      }
      last_box_.reset();
      block(s.body);
      for (d = 0; d < 6 && ++at[d] == counts[d]; ++d)
        at[d] = 0;
    }
    values_ = outside;
    launch_ = nullptr;
  }

  void one(const kernel::Store& s) {
    const auto found = stored_.find(s.buffer);
    if (found == stored_.end())
      return;
    int lanes = 1;
    for (const Expr& e : s.index)
      lanes = std::max(lanes, static_cast<int>(e.type().lanes));
    for (int lane = 0; lane < lanes; ++lane) {
      std::vector<int64_t> element;
      for (const Expr& e : s.index)
        element.push_back(needed(e, e.type().lanes > 1 ? lane : 0));
      count(s.buffer, found->second, element, s.op != scalar::ReduceOp::None);
    }
  }

  void one(const kernel::Zero& s) {
    if (const auto found = stored_.find(s.buffer); found != stored_.end())
      found->second.ever.assign(found->second.ever.size(), true);
  }

  void one(const kernel::AsyncOp& s) {
    const auto* bulk = std::get_if<kernel::BulkStore>(&s.what);
    const auto found = bulk != nullptr ? stored_.find(bulk->to.buffer) : stored_.end();
    if (found == stored_.end())
      return;
    Stored& stored = found->second;
    std::vector<int64_t> first, element;
    for (const Expr& e : bulk->to.index)
      first.push_back(needed(e));
    if (first.size() != stored.extents.size())
      throw Stop{"a box is not given by its dimensions"};
    Box next{bulk->to.buffer, first, bulk->box};
    if (!last_box_ || !begins_within(*last_box_, next))
      last_box_.reset();
    box(bulk->to.buffer, stored, first, bulk->box, element);
    last_box_ = std::move(next);
  }

  /// Elements that a thread stores as a whole.
  struct Box {
    uint32_t buffer = 0;
    std::vector<int64_t> first, sizes;
    bool contains(const std::vector<int64_t>& element) const {
      for (size_t d = 0; d < first.size(); ++d)
        if (element[d] < first[d] || element[d] >= first[d] + sizes[d])
          return false;
      return true;
    }
  };
  /// The last panel of a tile may begin within the one before it, and stores what both have once
  /// more (kernel/gpu/warpgroup/tile_elements.cpp).
  static bool begins_within(const Box& last, const Box& next) {
    if (last.buffer != next.buffer || last.sizes != next.sizes)
      return false;
    const size_t column = next.first.size() - 1;
    for (size_t d = 0; d < column; ++d)
      if (next.first[d] != last.first[d])
        return false;
    const int64_t step = next.first[column] - last.first[column];
    return step > 0 && step < next.sizes[column];
  }

  /// Elements outside of the tensor are left out (kernel/async_ops.h).
  void box(uint32_t buffer, Stored& stored, const std::vector<int64_t>& first,
           const std::vector<int64_t>& sizes, std::vector<int64_t>& element) {
    const size_t d = element.size();
    if (d == first.size())
      return count(buffer, stored, element, false);
    for (int64_t at = std::max<int64_t>(first[d], 0);
         at < std::min(first[d] + sizes[d], stored.extents[d]); ++at) {
      element.push_back(at);
      box(buffer, stored, first, sizes, element);
      element.pop_back();
    }
  }

  void count(uint32_t buffer, Stored& stored, const std::vector<int64_t>& element, bool is_update) {
    int64_t flat = 0;
    for (size_t d = 0; d < element.size(); ++d) {
      const int64_t extent =
          element.size() == 1 ? kernel::element_count(stored.extents) : stored.extents[d];
      if (element[d] < 0 || element[d] >= extent)
        throw Stop{"one is outside of " + kernel_.buffers[buffer].name};
      flat = flat * extent + element[d];
    }
    const auto at = static_cast<size_t>(flat);
    stored.ever[at] = true;
    if (is_update)
      return;
    const bool is_again = last_box_ && last_box_->buffer == buffer && last_box_->contains(element);
    if (stored.times[at] != 0 && !is_again && !is_told_.contains(buffer)) {
      is_told_.insert(buffer);
      report_.faults.push_back(launch_->name + " stores twice to " +
                               text_of(kernel_, buffer, flat));
    }
    stored.times[at] = 1;
  }

public:
  static std::string text_of(const kernel::Kernel& kernel, uint32_t buffer, int64_t flat) {
    const std::vector<int64_t> extents = kernel::extents_of(kernel.buffers[buffer], {});
    std::string text;
    for (size_t d = extents.size(); d-- > 0; flat /= extents[d])
      text = std::to_string(flat % extents[d]) + (text.empty() ? "" : ", ") + text;
    return kernel.buffers[buffer].name + "[" + text + "]";
  }

private:
  void set(uint32_t var, const Expr& value) {
    values_[var].reset();
    if (kernel_.variables[var].type == scalar::kIndex)
      if (const auto known = scalar::evaluate(value, leaves_))
        values_[var] = known->i;
  }
  int64_t needed(const Expr& e, int lane = 0) {
    const auto value = scalar::evaluate(e, leaves_, lane);
    if (!value)
      throw Stop{"where they are depends on data"};
    return value->i;
  }

  const kernel::Kernel& kernel_;
  size_t most_, steps_ = 0;
  Report& report_;
  std::vector<std::optional<int64_t>> values_; ///< of variables
  scalar::Leaves leaves_;
  std::map<uint32_t, Stored> stored_; ///< by buffer
  std::map<const Block*, bool> matters_;
  std::map<const Block*, std::vector<uint32_t>> assigned_;
  std::set<uint32_t> is_told_;
  std::optional<Box> last_box_; ///< of the thread that runs
  const kernel::Launch* launch_ = nullptr;
};

/// Whether the program writes every element of the tensor.
bool is_written_whole(const poly::Scop& scop, uint32_t tensor,
                      const std::vector<int64_t>& extents) {
  isl::set written;
  for (const poly::Access& access : poly::accesses(scop))
    if (access.is_write && access.tensor == tensor && access.is_sure) {
      const isl::set range = access.relation.range();
      written = written.is_null() ? range : written.unite(range);
    }
  if (written.is_null())
    return false;
  isl::set all = isl::set::universe(written.space());
  for (uint32_t d = 0; d < extents.size(); ++d) {
    const Expr at = scalar::iter(d);
    all = restricted(all, binary(BinaryOp::Ge, at, scalar::int_lit(0)), scop.params);
    all = restricted(all, binary(BinaryOp::Lt, at, scalar::int_lit(extents[d])), scop.params);
  }
  return all.is_subset(written);
}

} // namespace

void check_group_stores(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most,
                        Report& report) {
  const auto not_counted = [&](const std::string& why) {
    report.unchecked.push_back("stores of warpgroups: " + why);
  };
  if (!kernel.params.empty())
    return not_counted("sizes are not numbers");
  Counter counter(kernel, most, report);
  try {
    counter.run();
  } catch (const Stop& stop) {
    return not_counted(stop.why);
  }
  for (const auto& [buffer, stored] : counter.stored()) {
    const std::string& name = kernel.buffers[buffer].name;
    const auto tensor = std::find_if(scop.tensors.begin(), scop.tensors.end(),
                                     [&](const program::Tensor& t) { return t.name == name; });
    const auto missing = std::find(stored.ever.begin(), stored.ever.end(), false);
    if (missing == stored.ever.end())
      report.outputs += 1;
    else if (tensor != scop.tensors.end() &&
             is_written_whole(scop, static_cast<uint32_t>(tensor - scop.tensors.begin()),
                              stored.extents))
      report.faults.push_back("nothing stores to " +
                              Counter::text_of(kernel, buffer, missing - stored.ever.begin()));
    else
      not_counted("the program does not write all of " + name);
  }
}

} // namespace kawara::validate
