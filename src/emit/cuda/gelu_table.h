#pragma once

#include "kernel/kernel.h"

#include <array>
#include <cstdint>
#include <string>

namespace kawara::emit {

/// What gelu of an f32 looks up: Phi(-z), the normal distribution's tail for z = |x|, as
/// polynomials of z - centre, one for each of many short intervals. Chosen so that gelu(x) = max(x,
/// 0) - z * Phi(-z) is within 2 units in the last place everywhere, with about half the
/// instructions of a formula for all of them.
///
/// Interval i has the z with floor(kScale * z * (z + kBend)) = i: they are short where the tail
/// falls fast. The index is rounded to quarters before, so polynomials reach a little further.
/// Centres are such that the value there is nearly an f32. All but centres are scaled by 2^64: no
/// tail is lost.
struct GeluTable {
  static constexpr size_t kIntervals = 256, kDegree = 5;
  static constexpr float kMost = 14.5F, kBend = 2.5F; ///< gelu(-kMost) rounds to zero
  static constexpr float kScale = (kIntervals - 0.5F) / (kMost * (kMost + kBend));

  std::array<float, kIntervals> centres;
  std::array<std::array<float, kIntervals>, kDegree + 1> factors; ///< by power of z - centre
};

GeluTable gelu_table();

/// The table and kw_gelu of f32, as text of CUDA C++.
std::string gelu_text();
/// After it: kw_gelu_by_tails looks into shared memory, where kw_bring_tails puts the table. All
/// threads of a block call that together, and each kw_await_tails before its first look.
std::string gelu_by_tails_text();

/// Whether a thread that runs this has so many elements of gelu that bringing the table pays.
bool computes_many_tails(const kernel::Block&);

} // namespace kawara::emit
