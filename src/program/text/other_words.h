#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kawara::program {

/// A word of another language, and what is written for it here.
using OtherWord = std::pair<std::string_view, std::string_view>;
std::optional<std::string> word_for(std::string_view other, std::span<const OtherWord> words);

/// The element type that C, NumPy or PyTorch call `word`: `f64` for `double`.
std::optional<std::string> elem_elsewhere(std::string_view word);

/// As `elem_elsewhere`; else the element type that is spelled nearly like it.
std::optional<std::string> elem_meant(std::string_view word);

} // namespace kawara::program
