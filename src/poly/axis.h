#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kawara::poly {

/// An index of the threads of a GPU: blocks of a grid, and threads of a block.
enum class Axis : uint8_t { None, BlockX, BlockY, BlockZ, ThreadX, ThreadY, ThreadZ };

inline constexpr std::array<Axis, 6> kAxes = {Axis::BlockX,  Axis::BlockY,  Axis::BlockZ,
                                              Axis::ThreadX, Axis::ThreadY, Axis::ThreadZ};

std::string_view name_of(Axis); ///< "block.x"; empty for None
std::optional<Axis> axis_from_name(std::string_view);

constexpr bool is_block(Axis axis) { return axis >= Axis::BlockX && axis <= Axis::BlockZ; }
constexpr bool is_thread(Axis axis) { return axis >= Axis::ThreadX; }
/// 0, 1, 2 for x, y, z.
constexpr size_t position_of(Axis axis) { return (static_cast<size_t>(axis) - 1) % 3; }

} // namespace kawara::poly
