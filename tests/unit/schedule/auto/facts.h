#pragma once

#include "unit/schedule/programs.h"

#include <algorithm>
#include <optional>
#include <set>

// What a default schedule does, asked of its loops, marks and tensors instead of its text: a test
// says what it means, and holds when a loop gets another name or a tile another size.

namespace kawara::schedule {

/// `auto` for a processor with all its cores, or so many.
inline Schedule by_default(const std::string& text, const char* processor = "neoverse-n1",
                           std::optional<int64_t> cores = std::nullopt) {
  Environment environment = test_environment();
  environment.cpu = *target::named_cpu(processor);
  environment.cpu.cores = cores.value_or(environment.cpu.cores);
  const Schedule start = initial(text);
  auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result)) << text;
  return result ? *std::move(result) : start;
}

/// Loops and statements of a listing, without the directives above them; for messages.
inline std::string loops_of(const Schedule& schedule) {
  return poly::print(schedule.order, poly::names_of_statements(schedule.scop));
}

/// Extents of a tensor; empty where there is none of that name.
inline std::vector<int64_t> extents_of(const Schedule& schedule, const std::string& name) {
  std::vector<int64_t> extents;
  for (const program::Tensor& tensor : schedule.scop.tensors)
    if (tensor.name == name)
      for (const scalar::Expr& extent : tensor.shape)
        extents.push_back(scalar::constant_of(extent).value_or(0));
  return extents;
}

inline bool has_tensor(const Schedule& schedule, const std::string& name) {
  return std::any_of(schedule.scop.tensors.begin(), schedule.scop.tensors.end(),
                     [&](const program::Tensor& tensor) { return tensor.name == name; });
}

inline bool is_packed(const Schedule& schedule, const std::string& tensor) {
  return has_tensor(schedule, tensor + "_packed");
}

/// Packed, staged or laid out in another order.
inline bool is_copied(const Schedule& schedule, const std::string& tensor) {
  return is_packed(schedule, tensor) || has_tensor(schedule, tensor + "_staged") ||
         has_tensor(schedule, tensor + "_laid_out");
}

/// The loops around one statement.
struct LoopsAround {
  std::vector<poly::OrderLoop> loops; ///< outermost first

  /// The loop of the program that a loop descends from: `j.1.1` is of `j`.
  static std::string origin(const poly::OrderLoop& loop) {
    return loop.name.substr(0, loop.name.find('.'));
  }
  bool is_parallel() const {
    return std::any_of(loops.begin(), loops.end(),
                       [](const poly::OrderLoop& loop) { return loop.marks.is_parallel; });
  }
  /// The loop whose iterations are lanes; null where none are.
  const poly::OrderLoop* vector() const {
    const auto found = std::find_if(loops.begin(), loops.end(), [](const poly::OrderLoop& loop) {
      return loop.marks.vector_width > 0;
    });
    return found == loops.end() ? nullptr : &*found;
  }
  int64_t lanes() const { return vector() ? vector()->marks.vector_width : 0; }
  std::string lanes_along() const { return vector() ? origin(*vector()) : "none"; }
  /// Loops of the program of which a part is unrolled completely: what registers hold.
  std::set<std::string> unrolled() const {
    std::set<std::string> found;
    for (const poly::OrderLoop& loop : loops)
      if (loop.marks.unroll == poly::kFullUnroll)
        found.insert(origin(loop));
    return found;
  }
  /// How often a loop's body is copied; 0: it is not.
  int64_t copies_of(const std::string& name) const {
    int64_t copies = 0;
    for (const poly::OrderLoop& loop : loops)
      if (origin(loop) == name)
        copies = std::max(copies, loop.marks.unroll);
    return copies;
  }
  bool prefetches_along(const std::string& name) const {
    return std::any_of(loops.begin(), loops.end(), [&](const poly::OrderLoop& loop) {
      return origin(loop) == name && !loop.marks.prefetches.empty();
    });
  }
  /// Depth of the innermost loop of that origin that is neither unrolled nor lanes; none: -1.
  int64_t depth_of_steps(const std::string& name) const {
    for (size_t n = loops.size(); n > 0; --n)
      if (const poly::OrderLoop& loop = loops[n - 1]; origin(loop) == name &&
                                                      loop.marks.unroll != poly::kFullUnroll &&
                                                      !loop.marks.vector_width)
        return static_cast<int64_t>(n) - 1;
    return -1;
  }
};

inline LoopsAround around(const Schedule& schedule, uint32_t statement) {
  LoopsAround nest;
  for (const poly::LoopId loop : poly::path_of(schedule.order, poly::StmtId{statement}))
    nest.loops.push_back(schedule.order[loop]);
  return nest;
}

/// Loops that two statements share.
inline size_t shared_loops(const Schedule& schedule, uint32_t a, uint32_t b) {
  return poly::meet(schedule.order, poly::StmtId{a}, poly::StmtId{b}).shared_loops;
}

/// Both statements stand in one innermost loop.
inline bool are_joined(const Schedule& schedule, uint32_t a, uint32_t b) {
  const size_t shared = shared_loops(schedule, a, b);
  return shared == around(schedule, a).loops.size() && shared == around(schedule, b).loops.size();
}

/// Some loop asks for what its next iterations read.
inline bool prefetches(const Schedule& schedule) {
  const auto loops = poly::loops_in_order(schedule.order);
  return std::any_of(loops.begin(), loops.end(), [&](poly::LoopId loop) {
    return !schedule.order[loop].marks.prefetches.empty();
  });
}

/// Some loops are one instruction whose name begins so: `amx.`, `neon.sdot`.
inline bool uses(const Schedule& schedule, const std::string& instruction) {
  const auto loops = poly::loops_in_order(schedule.order);
  return std::any_of(loops.begin(), loops.end(), [&](poly::LoopId loop) {
    return schedule.order[loop].marks.instruction.rfind(instruction, 0) == 0;
  });
}

} // namespace kawara::schedule
