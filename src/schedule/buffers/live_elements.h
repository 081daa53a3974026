#pragma once

#include "schedule/propose.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// A write that comes between another element's write and its read, at the smallest sizes where
/// there is one.
struct Intrusion {
  std::vector<int64_t> params;
  poly::StmtId writer, reader, intruder;
  std::vector<int64_t> written_at, read_at, intrudes_at; ///< iterators of the three
  std::vector<int64_t> element, other;                   ///< that is read; that is written between
};

/// Which elements of a tensor hold values that are still needed at the same time, under an order,
/// one iteration after the other. Exact over all sizes: sets of integers, no samples. Under the
/// caller's quota.
class LiveElements {
public:
  LiveElements(const poly::Scop&, const poly::Order&, uint32_t tensor);

  /// The largest distance along dimension `dim` between an element whose value is still needed and
  /// one that is written meanwhile, the other dimensions being the same; nothing when it grows with
  /// the sizes.
  std::optional<int64_t> reach(size_t dim) const;

  /// The first intrusion into a ring of `size` elements along `dim`; nothing when all fits.
  std::optional<Intrusion> intrusion(size_t dim, int64_t size) const;

private:
  /// w -> [r -> v]: r reads what w wrote, v writes another element after w and before r.
  struct Between {
    const poly::Access *write, *read, *other;
    isl::map triples;
  };
  isl::map elements(const poly::Access&) const;

  const poly::Scop& scop_;
  std::vector<poly::Access> accesses_;
  std::vector<Between> between_;
};

} // namespace kawara::schedule
