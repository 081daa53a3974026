#include "tune/measure/code_size.h"

#include <algorithm>
#include <cstdint>

namespace kawara::tune {
namespace {

/// Copies of a statement that unrolling may make.
constexpr int64_t kMostCopies = 1024;
/// Bytes of a kernel's text that are always fine, and how far others may be beyond the default's.
constexpr size_t kFineText = 24 * 1024;
constexpr double kMostGrowth = 1.25;

/// Copies that unrolling makes of a statement.
int64_t copies_of(const schedule::Schedule& schedule, poly::StmtId id) {
  int64_t copies = 1;
  for (const poly::LoopId loop : poly::path_of(schedule.order, id)) {
    const poly::OrderLoop& own = schedule.order[loop];
    if (own.marks.unroll == 0)
      continue;
    const int64_t length = own.marks.unroll == poly::kFullUnroll
                               ? std::max<int64_t>(own.tile_size, 1)
                               : own.marks.unroll;
    // Lanes of one vector are one copy.
    const int64_t width = std::max<int64_t>(own.marks.vector_width, 1);
    copies = std::min(copies * std::max<int64_t>(length / width, 1), kMostCopies * 1024);
  }
  return copies;
}

} // namespace

bool is_unrolled_too_far(const schedule::Schedule& schedule) {
  for (uint32_t s = 0; s < schedule.scop.statements.size(); ++s)
    if (copies_of(schedule, poly::StmtId{s}) > kMostCopies)
      return true;
  return false;
}

size_t most_text_beside(size_t text_of_default) {
  return std::max(kFineText,
                  static_cast<size_t>(kMostGrowth * static_cast<double>(text_of_default)));
}

} // namespace kawara::tune
