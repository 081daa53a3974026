#pragma once

#include "tune/space/point.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kawara::tune {

/// A tile that an instruction of 128 threads computes. The instruction is made for a number of
/// lanes, so its name and the tile's size belong together.
struct Collective {
  size_t tile = 0;              ///< directive
  size_t rows = 0;              ///< item of it; lanes and steps of the reduction follow
  size_t tensorize = 0;         ///< directive
  std::vector<int64_t> extents; ///< of the instruction: rows, lanes, depth
};
std::vector<Collective> collectives_of(const std::vector<Directive>&);

/// Sizes that the item of such a tile may have, ascending; nothing for items of other tiles.
/// Statements that share its blocks have loops of the same names and sizes.
std::optional<std::vector<int64_t>> collective_choices(const std::vector<Directive>&,
                                                       std::string_view loop, int64_t size);

/// Each such tile gets the instruction that is made for its lanes; where there is none, the list
/// stays as it is and the judge refuses it.
void fit_instructions(std::vector<Directive>&);

/// Whether the two differ in nothing but their lanes.
bool is_same_but_lanes(std::string_view instruction, std::string_view other);

} // namespace kawara::tune
