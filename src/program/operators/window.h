#pragma once

#include "program/operators/definition.h"

namespace kawara::program::operators {

/// How a window moves over the spatial dimensions: one entry per dimension in each list.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, begin, end; ///< begin, end: padding
  std::vector<int64_t> out;                                  ///< positions of the window
};

/// From the attributes kernel_shape (or `kernel` when the attribute is left out), strides,
/// dilations, pads, auto_pad and ceil_mode. Refuses what is inconsistent.
Window window_of(Definition& d, const std::vector<int64_t>& spatial,
                 const std::vector<int64_t>& kernel);
/// The same for a transposed convolution: `out` is the size of its result (attributes output_shape,
/// output_padding).
Window transposed_window_of(Definition& d, const std::vector<int64_t>& spatial,
                            const std::vector<int64_t>& kernel);

/// "2 * o0 + 3 * k0": where the window's tap lies in the padded input, in dimension d.
std::string tap(const Window& window, size_t d);
bool is_padded(const Window& window);
/// Elements of the padded input in dimension d; the last window may reach past the padding
/// (ceil_mode).
int64_t padded_extent(const Window& window, size_t d, int64_t spatial);

/// Names and extents of loops, written as nested `for`s around lines.
class Nest {
public:
  void loop(const std::string& name, int64_t extent) { loops_.emplace_back(name, extent); }
  std::string index() const; ///< "n, c, i0"
  const std::string& name(size_t k) const { return loops_[k].first; }
  Shape shape() const;
  /// The loops with `body` (lines without indentation) inside.
  std::string around(const std::vector<std::string>& body) const;

private:
  std::vector<std::pair<std::string, int64_t>> loops_;
};

/// Adds lines that fill temp `name` with the padded operand 0, seen as [outer..., spatial...] with
/// `outer` leading dimensions; elements outside hold `fill`. The index is (a0, ..., i0, ...).
void add_padding(Definition& d, const std::string& name, const Shape& outer,
                 const std::vector<int64_t>& spatial, const Window& window,
                 const std::string& fill);

} // namespace kawara::program::operators
