#pragma once

#include "poly/scop.h"
#include "validate/elements.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kawara::validate {

/// Loops and conditions around an access of a launch, in dimensions (place.h).
struct Around {
  std::vector<uint32_t> numbers; ///< of the loops in the kernel, one per dimension
  std::vector<scalar::Expr> conditions;
  bool are_known = true; ///< all conditions are affine; else those that are not are left out
  DimensionRanges ranges;
  size_t threads = 0; ///< dimension of thread x, which y and z follow; those before it are one for
                      ///< all threads of a block
  std::array<int64_t, 3> counts = {1, 1, 1}; ///< of threads
};
/// Conjunctions one by one, without what is not affine.
std::shared_ptr<const Around> around_of(const std::vector<uint32_t>& numbers,
                                        const std::vector<scalar::Expr>& conditions, size_t threads,
                                        const std::array<int64_t, 3>& counts);

/// Elements of a buffer that a thread reads or writes at a place.
struct ThreadTouch {
  uint32_t buffer = 0;
  bool is_write = false;
  bool is_async = false;           ///< kernel::Store
  bool is_whole = false;           ///< all elements, whatever the index
  std::vector<scalar::Expr> index; ///< in dimensions, lane l at kLane
  int64_t lanes = 1;
  std::shared_ptr<const Around> around = {};
};

/// Two touches of threads of one block, between which no barrier stands.
struct Meeting {
  const ThreadTouch* first = nullptr;
  const ThreadTouch* second = nullptr;
  /// By dimension of the second: an expression in the dimensions of the first, as iterations of a
  /// loop that threads go through together have; empty: whatever it is, it is another.
  std::vector<scalar::Expr> tied;
  std::vector<scalar::Expr> conditions; ///< more, in dimensions of the first
  /// A thread may not meet itself either: copies that are under way.
  bool has_same_thread = false;
};

enum class Meets : uint8_t {
  Never,
  Sometimes, ///< there is an example
  Unknown,   ///< an index or a condition is not affine
};
struct MeetingAnswer {
  Meets meets = Meets::Never;
  /// threads[x, y, z of the first, x, y, z of the second]; where nothing is known, why.
  std::string text;
};
/// Whether the two can touch one element. Digits of indices are told apart as expressions first;
/// sets answer the rest.
MeetingAnswer answer_of(const Meeting&, const poly::Scop&);

/// Whether two threads of a block can disagree on a number, or on a condition, at a place.
MeetingAnswer may_disagree(const scalar::Expr&, const Around&, const poly::Scop&);

} // namespace kawara::validate
