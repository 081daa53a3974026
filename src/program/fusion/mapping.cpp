#include "program/fusion/mapping.h"

#include <algorithm>
#include <iterator>

namespace kawara::program::fusion {
namespace {

constexpr std::string_view kOneToOne[] = {"Abs",
                                          "Acos",
                                          "Acosh",
                                          "Add",
                                          "And",
                                          "Asin",
                                          "Asinh",
                                          "Atan",
                                          "Atanh",
                                          "BatchNormalization",
                                          "BitShift",
                                          "Cast",
                                          "CastLike",
                                          "Ceil",
                                          "Celu",
                                          "Clip",
                                          "Cos",
                                          "Cosh",
                                          "DequantizeLinear",
                                          "Div",
                                          "Elu",
                                          "Equal",
                                          "Erf",
                                          "Exp",
                                          "Floor",
                                          "Gelu",
                                          "Greater",
                                          "GreaterOrEqual",
                                          "HardSigmoid",
                                          "HardSwish",
                                          "IsInf",
                                          "IsNaN",
                                          "LeakyRelu",
                                          "Less",
                                          "LessOrEqual",
                                          "Log",
                                          "Max",
                                          "Mean",
                                          "Min",
                                          "Mish",
                                          "Mod",
                                          "Mul",
                                          "Neg",
                                          "Not",
                                          "Or",
                                          "PRelu",
                                          "Pow",
                                          "QuantizeLinear",
                                          "Reciprocal",
                                          "Relu",
                                          "Round",
                                          "Selu",
                                          "Shrink",
                                          "Sigmoid",
                                          "Sign",
                                          "Sin",
                                          "Sinh",
                                          "Slice",
                                          "Softplus",
                                          "Softsign",
                                          "Split",
                                          "Sqrt",
                                          "Sub",
                                          "Sum",
                                          "Swish",
                                          "Tan",
                                          "Tanh",
                                          "ThresholdedRelu",
                                          "Trilu",
                                          "Where",
                                          "Xor",
                                          "Concat",
                                          "Pad"};
constexpr std::string_view kOneToMany[] = {"Expand", "Gather", "Resize", "Tile", "Upsample"};
constexpr std::string_view kReorganise[] = {"Dropout", "Flatten", "Identity",
                                            "Reshape", "Squeeze", "Unsqueeze"};
constexpr std::string_view kShuffle[] = {"DepthToSpace", "SpaceToDepth", "Transpose"};

template <size_t N> bool is_listed(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

} // namespace

std::string_view name_of(Mapping mapping) {
  constexpr std::string_view names[] = {"one-to-one", "one-to-many", "many-to-many", "reorganise",
                                        "shuffle"};
  return names[static_cast<size_t>(mapping)];
}

Pairing pairing_of(Mapping first, Mapping second) {
  using enum Mapping;
  using enum Verdict;
  static constexpr Pairing kTable[5][5] = {{{OneToOne, Fuse},
                                            {OneToMany, Fuse},
                                            {ManyToMany, Fuse},
                                            {Reorganise, Fuse},
                                            {Shuffle, Fuse}},
                                           {{OneToMany, Fuse},
                                            {OneToMany, Maybe},
                                            {ManyToMany, Never},
                                            {OneToMany, Maybe},
                                            {OneToMany, Maybe}},
                                           {{ManyToMany, Fuse},
                                            {ManyToMany, Maybe},
                                            {ManyToMany, Never},
                                            {ManyToMany, Maybe},
                                            {ManyToMany, Maybe}},
                                           {{Reorganise, Fuse},
                                            {OneToMany, Maybe},
                                            {ManyToMany, Maybe},
                                            {Reorganise, Fuse},
                                            {Reorganise, Fuse}},
                                           {{Shuffle, Fuse},
                                            {OneToMany, Maybe},
                                            {ManyToMany, Maybe},
                                            {Reorganise, Fuse},
                                            {Shuffle, Fuse}}};
  return kTable[static_cast<size_t>(first)][static_cast<size_t>(second)];
}

Mapping mapping_of(std::string_view op) {
  if (is_listed(kOneToOne, op))
    return Mapping::OneToOne;
  if (is_listed(kOneToMany, op))
    return Mapping::OneToMany;
  if (is_listed(kReorganise, op))
    return Mapping::Reorganise;
  return is_listed(kShuffle, op) ? Mapping::Shuffle : Mapping::ManyToMany;
}

bool reads_from_memory(std::string_view op) { return op == "ChannelsLastConv"; }

} // namespace kawara::program::fusion
