#pragma once

#include "program/program.h"
#include "support/result.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kawara::program::fusion {

using ValueId = uint32_t;

/// The program of one operator, and the value of the graph behind each of its tensors (kNoValue for
/// temps and for results that nobody reads).
struct Part {
  Program program;
  std::vector<ValueId> values; ///< by tensor
};
inline constexpr ValueId kNoValue = ~ValueId{0};

/// Several operators as one program: X0, X1, ... are read, Y0, Y1, ... written.
struct Composed {
  std::string text;
  std::vector<ValueId> operands, results;
};

/// One program that does what the parts do one after the other. Values of which some part is the
/// maker and that are not `needed` elsewhere become temps, or vanish into the statements that read
/// them. Shapes under which parts see a value are brought together by cutting loops of element-wise
/// parts. Fails with a reason when that is not possible, or when a value would be read several
/// times per element and not vanish.
Result<Composed, std::string> compose(std::vector<Part> parts, const std::set<ValueId>& needed);

/// The parts one after the other and nothing more: each statement stays, in loops of its own.
struct Joined {
  std::string text;
  std::map<ValueId, std::string> names; ///< of the tensors in it, by their values
};
/// Values of which some part is the maker and that are not `needed` elsewhere are temps. Fails with
/// a reason where parts see a value under shapes that cannot be brought together.
Result<Joined, std::string> joined(std::vector<Part> parts, const std::set<ValueId>& needed);

} // namespace kawara::program::fusion
