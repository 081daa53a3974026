#pragma once

#include "kernel/analysis/ranges.h"

#include <functional>
#include <optional>
#include <unordered_map>

namespace kawara::kernel {

/// A place in a buffer as a statement spells it: one cell, or `lanes` of them.
struct Cell {
  uint32_t buffer = 0;
  std::vector<Expr> index;
  scalar::Type type; ///< element type and lanes
};

Cell cell_of(const Kernel&, const Store&);
Cell cell_of(const Expr& load_expr, const scalar::Load&);
bool is_same(const Cell&, const Cell&);
uint64_t hash_of(const Cell&);

/// The two have no cell in common, for all values that the variables can have at once.
bool are_apart(const Cell&, const Cell&, const Ranges&);

/// Numbers cells by spelling.
class CellTable {
public:
  size_t add(const Cell&); ///< the number of an equal cell if there is one
  std::optional<size_t> find(const Cell&) const;
  /// The two are a known number of cells apart, at equal values of the variables. Much cheaper than `are_apart`, which finds more.
  bool are_far_apart(size_t a, size_t b) const;
  const Cell& operator[](size_t id) const { return cells_[id]; }
  size_t size() const { return cells_.size(); }

private:
  /// One index: the terms of its sum, numbered by spelling, plus constants first..last over the lanes.
  struct Reach {
    size_t terms = 0;
    int64_t first = 0, last = 0;
  };
  Reach reach_of(const Expr& index);
  size_t number_of(const Expr& terms);

  std::vector<Cell> cells_;
  std::vector<std::vector<Reach>> reaches_; ///< by cell, then dimension
  std::unordered_multimap<uint64_t, size_t> by_hash_;
  std::vector<Expr> terms_;
  std::unordered_multimap<uint64_t, size_t> terms_by_hash_;
};

} // namespace kawara::kernel
