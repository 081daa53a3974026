#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::scalar {

/// Tables that formulas look up (scalar/expand/expansion.h). Rows are as many as a power of two, so
/// that the low bits of any integer name one, and a row is what 128 bits hold. A look-up is an
/// Instruction named after table and column; its argument is the row (i32), its value the bits of
/// the element.
///
/// `Gelu`: row r is the cubic polynomial in x - centre that gelu is within an element around the
/// centre, of all x for which the bits of x + kGeluShift end in r. The sum rounds x to the centre:
/// a multiple of 1/128 below -5, of 1/64 above. Beyond kGeluEnd gelu is its argument, and below
/// kGeluStart as there, -0.
///
/// `GeluTail`: the same, but elements of x up to kGeluTail are 1 / kGeluTailScale times as large,
/// so that none of their numbers is denormal.
enum class Table : uint8_t { Gelu, GeluTail };

constexpr size_t kTableColumns = 4;
using Rows = std::vector<std::array<float, kTableColumns>>;

constexpr float kGeluStart = -14.375F, kGeluEnd = 5.5F;
constexpr float kGeluShift = 0x1p17F + 5;
/// Up to the first, the end of an element, gelu is smaller than any normal number.
constexpr float kGeluTail = -13.15234375F, kGeluTailScale = 0x1p-64F;

struct Column {
  Table table;
  size_t number;
};

const Rows& rows_of(Table);
/// The bits of the element in the row that the low bits of `row` name.
int32_t element_in(const Column&, int64_t row);
std::string name_of(const Column&); ///< "gelu_table.0"
std::optional<Column> column_from_name(std::string_view);

} // namespace kawara::scalar
