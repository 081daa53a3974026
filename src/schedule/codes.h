#pragma once

#include <string_view>

namespace kawara::schedule {

// Every code a directive can be refused with. Each has a page in docs/errors/.
//
//   judged                                 shape: these loops
//   K0203  order not kept                  K0210  something stands between the loops
//   K0204  parallel iterations collide     K0211  loops are not nested in each other
//   K0205  vector lanes collide            K0212  size, factor or amount out of range
//   K0206  could not be decided            K0213  a vector loop is not innermost
//                                          K0214  loops do not follow each other
//   names                                  K0215  pair of loops is not rectangular
//   K0201  no such loop                    K0216  not a point loop of a tile
//   K0202  several loops of that name      K0217  loop is marked or coalesced already
//   K0207  no such statement               K0218  nothing to separate
//   K0208  no such tensor
//                                          K0219  extent is not a constant
//   directive text                         K0220  the same loop is named twice
//   K0230  not a directive                 K0221  cut finds nothing to cut
//   K0231  unexpected text                 K0222  statement cannot be computed there
//   K0232  wrong arguments                 K0223  statement cannot be inlined
//   K0233  groups nested too deep          K0224  not a reduction carried by the loop
//   K0234  number out of range             K0226  no loop inside to jam into
//                                          K0227  the numerics contract forbids it
//                                          K0235  tensor cannot be staged there
//                                          K0236  iterations cannot have copies of a tensor
//                                          K0237  a temp's values cannot lie in another tensor
//                                          K0245  nothing to prefetch
//                                          K0260  added iterations change results
//                                          K0261  elements that only data know
//                                          K0263  statements that cannot be arranged so
//   K0209  no such instruction             K0242  the instruction computes something else
//   one pass
//   K0240  nothing to run in one pass
//   K0241  a sum that cannot be corrected
//   GPU
//   K0701  an axis is bound twice
//   K0702  blocks do not stand directly inside each other
//   K0703  a thread loop without a constant or with too large an extent
//   K0704  nothing is staged in the loop that could be copied ahead

inline constexpr std::string_view kUnknownLoop = "K0201";
inline constexpr std::string_view kAmbiguousLoop = "K0202";
inline constexpr std::string_view kOrderNotKept = "K0203";
inline constexpr std::string_view kParallelCollides = "K0204";
inline constexpr std::string_view kVectorCollides = "K0205";
inline constexpr std::string_view kUndecided = "K0206";
inline constexpr std::string_view kUnknownStatement = "K0207";
inline constexpr std::string_view kUnknownTensor = "K0208";

inline constexpr std::string_view kImperfectNest = "K0210";
inline constexpr std::string_view kNotNested = "K0211";
inline constexpr std::string_view kBadSize = "K0212";
inline constexpr std::string_view kNotInnermost = "K0213";
inline constexpr std::string_view kNotSiblings = "K0214";
inline constexpr std::string_view kNotRectangular = "K0215";
inline constexpr std::string_view kNotPointLoop = "K0216";
inline constexpr std::string_view kAlreadyMarked = "K0217";
inline constexpr std::string_view kNothingToSeparate = "K0218";
inline constexpr std::string_view kExtentNotConstant = "K0219";
inline constexpr std::string_view kNamedTwice = "K0220";
inline constexpr std::string_view kCannotCut = "K0221";
inline constexpr std::string_view kCannotComputeAt = "K0222";
inline constexpr std::string_view kCannotInline = "K0223";
inline constexpr std::string_view kNotAReduction = "K0224";
inline constexpr std::string_view kNothingToJam = "K0226";
inline constexpr std::string_view kNumericsForbid = "K0227";
inline constexpr std::string_view kNoChain = "K0240";
inline constexpr std::string_view kNoLaw = "K0241";

inline constexpr std::string_view kUnknownInstruction = "K0209";
inline constexpr std::string_view kOtherMeaning = "K0242";
inline constexpr std::string_view kAxisTaken = "K0701";
inline constexpr std::string_view kMisplacedBlock = "K0702";
inline constexpr std::string_view kTooManyThreads = "K0703";
inline constexpr std::string_view kNothingToPipeline = "K0704";

inline constexpr std::string_view kCannotStage = "K0235";
inline constexpr std::string_view kCannotStoreAt = "K0236";
inline constexpr std::string_view kCannotStoreIn = "K0237";
inline constexpr std::string_view kNothingToPrefetch = "K0245";
inline constexpr std::string_view kCannotFold = "K0255";
inline constexpr std::string_view kCannotPromote = "K0256";
inline constexpr std::string_view kCannotLayOut = "K0257";
inline constexpr std::string_view kChangesResults = "K0260";
inline constexpr std::string_view kUnknownElements = "K0261";

inline constexpr std::string_view kCannotArrange = "K0263";

inline constexpr std::string_view kNotADirective = "K0230";
inline constexpr std::string_view kUnexpectedText = "K0231";
inline constexpr std::string_view kWrongArguments = "K0232";
inline constexpr std::string_view kNestedTooDeep = "K0233";
inline constexpr std::string_view kNumberOutOfRange = "K0234";

} // namespace kawara::schedule
