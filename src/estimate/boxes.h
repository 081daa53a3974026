#pragma once

#include "kernel/kernel.h"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace kawara::estimate {

/// lo..hi, both included.
struct Interval {
  int64_t lo = 0;
  int64_t hi = 0;
  int64_t extent() const { return hi - lo + 1; }
};

/// Values of variables at a place; a fixed one has one.
using Environment = std::map<uint32_t, Interval>;

/// Values that an index can take; nothing for what is no index arithmetic.
std::optional<Interval> interval_of(const scalar::Expr&, const Environment&,
                                    std::span<const int64_t> params);

/// Elements of a buffer, one interval for each dimension.
using Box = std::vector<Interval>;

/// What a block touches, by buffer. Boxes that overlap or nearly so are one.
class Boxes {
public:
  Boxes(const kernel::Kernel& kernel, std::span<const int64_t> params);

  /// All accesses of the block, its loops over all their iterations.
  void add(const kernel::Block&, Environment);
  void add(const kernel::For&, Environment);

  /// Of one buffer, in whole lines, never more than the buffer has.
  double bytes(uint32_t buffer, int64_t line) const;
  double bytes(int64_t line) const; ///< of all
  std::vector<uint32_t> buffers() const;
  bool is_read(uint32_t buffer) const;
  bool is_written(uint32_t buffer) const;

private:
  struct Touched {
    std::vector<Box> boxes;
    bool is_read = false, is_written = false;
  };
  void add_box(uint32_t buffer, const std::vector<scalar::Expr>& index, const Environment&,
               bool is_write);
  void add_reads(const scalar::Expr&, const Environment&);
  void insert(std::vector<Box>&, Box, uint32_t buffer);
  double bytes_of(const Box&, uint32_t buffer, int64_t line) const;

  const kernel::Kernel* kernel_;
  std::span<const int64_t> params_;
  std::vector<std::vector<int64_t>> extents_; ///< by buffer
  std::map<uint32_t, Touched> touched_;
};

} // namespace kawara::estimate
