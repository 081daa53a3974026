#pragma once

#include "kernel/analysis/ranges.h"

#include <functional>
#include <optional>
#include <unordered_map>

namespace kawara::kernel {

/// A place in a buffer as a statement spells it: one element, or `lanes` of them.
struct Element {
  uint32_t buffer = 0;
  std::vector<Expr> index;
  scalar::Type type; ///< element type and lanes
};

Element element_of(const Kernel&, const Store&);
Element element_of(const Expr& load_expr, const scalar::Load&);
bool is_same(const Element&, const Element&);
uint64_t hash_of(const Element&);

/// The two have no element in common, for all values that the variables can have at once.
bool are_apart(const Element&, const Element&, const Ranges&);

/// Numbers elements by spelling.
class ElementTable {
public:
  size_t add(const Element&); ///< the number of an equal element if there is one
  std::optional<size_t> find(const Element&) const;
  /// The two are a known number of elements apart, at equal values of the variables. Much cheaper
  /// than `are_apart`, which finds more.
  bool are_far_apart(size_t a, size_t b) const;
  const Element& operator[](size_t id) const { return elements_[id]; }
  size_t size() const { return elements_.size(); }

private:
  /// One index: the terms of its sum, numbered by spelling, plus constants first..last over the
  /// lanes.
  struct Reach {
    size_t terms = 0;
    int64_t first = 0, last = 0;
  };
  Reach reach_of(const Expr& index);
  size_t number_of(const Expr& terms);

  std::vector<Element> elements_;
  std::vector<std::vector<Reach>> reaches_; ///< by element, then dimension
  std::unordered_multimap<uint64_t, size_t> by_hash_;
  std::vector<Expr> terms_;
  std::unordered_multimap<uint64_t, size_t> terms_by_hash_;
};

} // namespace kawara::kernel
