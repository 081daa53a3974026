#include "program/text/other_words.h"

#include "support/text.h"

#include <vector>

namespace kawara::program {

namespace {

// Element types of other languages.
constexpr OtherWord kOtherElems[] = {{"float", "f32"},
                                     {"float32", "f32"},
                                     {"fp32", "f32"},
                                     {"double", "f64"},
                                     {"float64", "f64"},
                                     {"fp64", "f64"},
                                     {"half", "f16"},
                                     {"float16", "f16"},
                                     {"fp16", "f16"},
                                     {"bfloat16", "bf16"},
                                     {"int", "i32"},
                                     {"int32", "i32"},
                                     {"int64", "i64"},
                                     {"long", "i64"},
                                     {"int16", "i16"},
                                     {"short", "i16"},
                                     {"float8_e4m3fn", "f8e4m3"},
                                     {"e4m3", "f8e4m3"},
                                     {"fp8", "f8e4m3"},
                                     {"float8_e5m2", "f8e5m2"},
                                     {"e5m2", "f8e5m2"},
                                     {"int8", "i8"},
                                     {"char", "i8"},
                                     {"uint8", "u8"},
                                     {"uint16", "u16"},
                                     {"uint32", "u32"},
                                     {"unsigned", "u32"},
                                     {"uint64", "u64"},
                                     {"boolean", "bool"}};

} // namespace

std::optional<std::string> word_for(std::string_view other, std::span<const OtherWord> words) {
  for (const auto& [theirs, ours] : words)
    if (other == theirs)
      return std::string(ours);
  return std::nullopt;
}

std::optional<std::string> elem_elsewhere(std::string_view word) {
  return word_for(word, kOtherElems);
}

std::optional<std::string> elem_meant(std::string_view word) {
  if (auto ours = elem_elsewhere(word))
    return ours;
  const std::vector<std::string> all = {"f64",    "f32", "f16", "bf16", "f8e4m3",
                                        "f8e5m2", "i64", "i32", "i16",  "i8",
                                        "u64",    "u32", "u16", "u8",   "bool"};
  return closest(word, all);
}

} // namespace kawara::program
