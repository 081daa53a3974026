#pragma once

#include "kernel/ranges.h"

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
  const Cell& operator[](size_t id) const { return cells_[id]; }
  size_t size() const { return cells_.size(); }

private:
  std::vector<Cell> cells_;
  std::unordered_multimap<uint64_t, size_t> by_hash_;
};

} // namespace kawara::kernel
