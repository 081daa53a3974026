#pragma once

#include "support/diagnostic.h"

#include <string>
#include <vector>

namespace kawara::program {

// The stable codes of `.kw` text. Each has a page docs/errors/<code>.md and a test.
//
//   text         K0100 more errors than are shown      K0101 unexpected character
//                K0102 tab in the indentation          K0103 indentation does not fit
//                K0104 number cannot be read           K0105 bracket without a partner
//                K0106 nested too deeply               K0107 text or expression too large
//   syntax       K0110 something else was expected     K0111 missing `:`
//                K0112 block without a statement       K0113 not a statement of the language
//                K0114 `else` without `if`             K0115 declaration inside a block
//                K0116 unknown numerics contract       K0117 second `numerics` line
//                K0118 end of a loop depends on data   K0119 not `let` lines and a value
//   names        K0120 declared twice                  K0121 unknown name
//                K0122 name of a loop is taken         K0123 reserved word
//                K0124 unknown element type            K0125 unknown function
//                K0126 function calls itself
//   tensors      K0130 wrong number of indices         K0131 input is written
//                K0132 target is not a tensor          K0133 no output
//   affine       K0140 not affine                      K0141 condition depends on data
//                K0142 divisor not a positive constant K0143 step not a non-zero constant
//                K0144 malformed range                 K0145 index that reads no integer
//                K0146 assumed values of no integers   K0147 range read from data around more
//   reductions   K0150 range of an index is unknown    K0151 two ranges for one index
//                K0152 free index not alone on the left K0153 malformed reduction
//                K0154 scalar or reduction?            K0155 nested reduction over a varying range
//   types        K0160 `/` of integers                 K0161 float stored in an integer tensor
//                K0162 number and condition mixed up   K0163 wrong number of arguments
//                K0164 `//` or `%` of floats           K0165 operators on bits of floats
//                K0166 default size is no constant
namespace code {
inline constexpr const char* kMoreErrors = "K0100";
inline constexpr const char* kCharacter = "K0101";
inline constexpr const char* kTab = "K0102";
inline constexpr const char* kIndentation = "K0103";
inline constexpr const char* kNumber = "K0104";
inline constexpr const char* kBracket = "K0105";
inline constexpr const char* kTooDeep = "K0106";
inline constexpr const char* kTooLarge = "K0107";
inline constexpr const char* kExpected = "K0110";
inline constexpr const char* kMissingColon = "K0111";
inline constexpr const char* kEmptyBlock = "K0112";
inline constexpr const char* kNotAStatement = "K0113";
inline constexpr const char* kLoneElse = "K0114";
inline constexpr const char* kNestedDeclaration = "K0115";
inline constexpr const char* kUnknownNumerics = "K0116";
inline constexpr const char* kSecondNumerics = "K0117";
inline constexpr const char* kWhile = "K0118";
inline constexpr const char* kFunctionBody = "K0119";
inline constexpr const char* kDeclaredTwice = "K0120";
inline constexpr const char* kUnknownName = "K0121";
inline constexpr const char* kShadows = "K0122";
inline constexpr const char* kReserved = "K0123";
inline constexpr const char* kUnknownElem = "K0124";
inline constexpr const char* kUnknownFunction = "K0125";
inline constexpr const char* kRecursion = "K0126";
inline constexpr const char* kRank = "K0130";
inline constexpr const char* kInputWritten = "K0131";
inline constexpr const char* kNotATensor = "K0132";
inline constexpr const char* kNoOutput = "K0133";
inline constexpr const char* kNotAffine = "K0140";
inline constexpr const char* kDataCondition = "K0141";
inline constexpr const char* kDivisor = "K0142";
inline constexpr const char* kStep = "K0143";
inline constexpr const char* kRange = "K0144";
inline constexpr const char* kDataIndex = "K0145";
inline constexpr const char* kAssumedValues = "K0146";
inline constexpr const char* kDataLoop = "K0147";
inline constexpr const char* kNoRange = "K0150";
inline constexpr const char* kTwoRanges = "K0151";
inline constexpr const char* kFreeIndex = "K0152";
inline constexpr const char* kReduction = "K0153";
inline constexpr const char* kAmbiguous = "K0154";
inline constexpr const char* kVaryingRange = "K0155";
inline constexpr const char* kIntegerDivision = "K0160";
inline constexpr const char* kFloatToInteger = "K0161";
inline constexpr const char* kConditionMixed = "K0162";
inline constexpr const char* kArguments = "K0163";
inline constexpr const char* kFloatFloorDiv = "K0164";
inline constexpr const char* kFloatBits = "K0165";
inline constexpr const char* kDefaultSize = "K0166";
} // namespace code

/// Collects the errors of one text.
class Report {
public:
  static constexpr size_t kShown = 20;

  explicit Report(SourcePtr source) : source_(std::move(source)) {}

  void error(const char* code, Span where, std::string headline, std::string label = {},
             std::vector<Help> help = {}, std::vector<std::string> body = {});

  /// Told at the end of every error from now on; empty for nothing. Returns what was told before.
  std::string set_context(std::string context);
  /// While muted, errors are forgotten: for finding out whether something could be said.
  void mute() { ++muted_; }
  void unmute() { --muted_; }
  bool is_muted() const { return muted_ > 0; }

  bool has_errors() const { return count_ > 0; }
  /// Whether more errors than are ever shown were reported: costly help is not worth building.
  bool is_full() const { return count_ >= kKept; }
  const SourcePtr& source() const { return source_; }

  /// "line 3" of a span, for messages that name a second place.
  std::string line_of(Span) const;

  /// The errors by position; past `kShown` only their number is told.
  Diagnostics finish() &&;

private:
  static constexpr size_t kKept = 200;
  SourcePtr source_;
  Diagnostics errors_;
  size_t count_ = 0;
  std::string context_;
  int muted_ = 0;
};

} // namespace kawara::program
