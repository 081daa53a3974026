#include "poly/axis.h"

namespace kawara::poly {

std::string_view name_of(Axis axis) {
  switch (axis) {
  case Axis::None:
    return "";
  case Axis::BlockX:
    return "block.x";
  case Axis::BlockY:
    return "block.y";
  case Axis::BlockZ:
    return "block.z";
  case Axis::ThreadX:
    return "thread.x";
  case Axis::ThreadY:
    return "thread.y";
  case Axis::ThreadZ:
    return "thread.z";
  }
  return "";
}

std::optional<Axis> axis_from_name(std::string_view name) {
  for (const Axis axis : kAxes)
    if (name_of(axis) == name)
      return axis;
  return std::nullopt;
}

} // namespace kawara::poly
