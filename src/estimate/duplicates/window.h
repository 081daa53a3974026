#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::estimate {

/// An iterator of a window: it takes the values 0 .. extent - 1.
struct WindowIterator {
  std::string name;
  int64_t extent = 1;
  bool is_of_result = false; ///< says which result is computed; else it is summed over
};

/// One dimension of the tensor that is read: its index is the constant and each factor times its
/// iterator. What lies outside of 0 .. extent - 1 is padding, which nobody loads.
struct WindowDimension {
  int64_t extent = 1, constant = 0;
  std::vector<std::pair<size_t, int64_t>> terms; ///< number of the iterator, factor above 0
};

/// The reads of one tensor by a statement. No iterator stands in two dimensions.
///
/// Lowered to a matrix product, the tensor becomes a workspace: a row for each result, a column for
/// each product that is summed, both in the order of the iterators. An element stands there as
/// often as iterations load it.
struct Window {
  std::vector<WindowIterator> iterators; ///< outermost first
  std::vector<WindowDimension> dimensions;
};

struct Loads {
  double loads = 0;    ///< entries of the workspace that are no padding
  double elements = 0; ///< different ones among them
  double padding = 0;  ///< entries that are
  double factor() const { return elements > 0 ? loads / elements : 0; }
};

/// How often elements are loaded; exact.
Loads loads_of(const Window&);

/// The element that an iteration loads; nothing where that is padding. `at` has a value for each
/// iterator.
std::optional<std::vector<int64_t>> element_at(const Window&, const std::vector<int64_t>& at);

/// All iterations that load an element: the inverse of `element_at`.
std::vector<std::vector<int64_t>> iterations_of(const Window&, const std::vector<int64_t>& element);

/// The same count for pieces of so many neighbouring entries of a row of the workspace, rows padded
/// to a multiple of `row_unit` entries: two pieces are one where all their entries are. Pieces of
/// padding alone are left out. Nothing where the workspace has more than 50 million entries.
std::optional<Loads> piece_loads_of(const Window&, int64_t piece, int64_t row_unit = 16);

} // namespace kawara::estimate
