#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::driver {

/// Texts of programs that differ in sizes alone, and one text with a parameter that stands for all
/// of them.
///
/// Found by comparing: where two texts have different integers (`4`, `4.0`), each of these is
/// `factor * size + offset` of one of them, the size. Whether a further text belongs to the family
/// is answered by writing out the family's text for its size and comparing letter by letter, so
/// that nothing depends on how the family was found.
class TextFamily {
public:
  /// The family of two texts; nothing when they differ in more than integers, or not affinely.
  static std::optional<TextFamily> of(const std::string& first, const std::string& second);

  /// `param size`, its range, and the program.
  std::string text() const;
  /// The size for which the family's program is this text; nothing when it is for none.
  std::optional<int64_t> size_in(const std::string& text) const;
  /// Sizes that the program is compiled for.
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }
  /// The smaller size of the two that made the family.
  int64_t least_met() const { return least_met_; }
  /// Makes `size` the least one, for programs that need room.
  void begin_at(int64_t size) { least_ = size; }

private:
  struct Number {
    int64_t factor = 0, offset = 0;
  };
  std::string at(int64_t size) const;

  std::vector<std::string> pieces_; ///< before, between and after the numbers
  std::vector<Number> numbers_;
  size_t key_ = 0; ///< the number that is the size
  int64_t least_ = 1, most_ = 0, least_met_ = 1;
};

} // namespace kawara::driver
