#pragma once

#include "program/program.h"
#include "schedule/schedule.h"

#include <string>

namespace kawara::explain {

/// What the judge says of running the maker of a value where its reader is.
struct FusionVerdict {
  enum class Answer : uint8_t { Legal, Illegal, Undecided, NotAsked };
  Answer answer = Answer::NotAsked;
  std::string directives; ///< of the program of both, separated by `;`; empty where there are none
  std::string witness;    ///< the two iterations that would break; why it was not asked
};
std::string_view name_of(FusionVerdict::Answer); ///< "legal", "not asked"

/// Tries the directives that bring the nests of both together, on the program of maker and reader
/// (program::fusion::joined), and asks the judge each time. The maker's statements are computed in
/// the outermost loop of the reader that the value's elements follow, where the value is a temp;
/// else their outermost loops become one. The first that is legal is the answer, else the first
/// that the judge refused.
FusionVerdict judged_fusion(const program::Program& joined, const std::string& tensor,
                            const schedule::Environment&);

} // namespace kawara::explain
