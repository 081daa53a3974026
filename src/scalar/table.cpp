#include "scalar/table.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace kawara::scalar {
namespace {

constexpr size_t kGeluRows = 2048;
constexpr std::string_view kGeluName = "gelu_table.", kGeluTailName = "gelu_tail_table.";

/// Of gelu around x for |t| <= reach: Taylor's polynomial, the term of t^4 replaced by the parabola
/// nearest to it.
std::array<double, kTableColumns> gelu_around(double x, double reach) {
  const double tail = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  std::array<double, kTableColumns> c{x * tail, tail + x * density, (2 - x * x) * density / 2,
                                      (x * x - 4) * x * density / 6};
  const double fourth = ((7 - x * x) * x * x - 4) * density / 24, square = reach * reach;
  if (x == 0) { // relative to t: through zero
    c[2] += fourth * 0.75 * square;
  } else {
    c[2] += fourth * square;
    c[0] -= fourth * square * square / 8;
  }
  return c;
}

/// `tail_scale`: how many times larger elements of the tail are; 1 for as large as they are.
Rows gelu_rows(double tail_scale) {
  // Nothing, but of one sign: a product with it and the scale vanishes.
  const float least = tail_scale == 1 ? 0x1p-149F : 0x1p-100F;
  Rows rows(kGeluRows);
  const auto first = std::bit_cast<uint32_t>(kGeluStart + kGeluShift);
  const auto last = std::bit_cast<uint32_t>(kGeluEnd + kGeluShift);
  static_assert(std::bit_cast<uint32_t>(kGeluEnd + kGeluShift) -
                    std::bit_cast<uint32_t>(kGeluStart + kGeluShift) <
                kGeluRows);
  for (uint32_t bits = first; bits <= last; ++bits) {
    const double x = static_cast<double>(std::bit_cast<float>(bits)) - kGeluShift;
    const std::array<double, kTableColumns> c = gelu_around(x, x < -5 ? 0x1p-8 : 0x1p-7);
    const double scale = x < static_cast<double>(kGeluTail) ? tail_scale : 1;
    auto& row = rows[bits % kGeluRows];
    for (size_t k = 0; k < kTableColumns; ++k)
      row[k] = static_cast<float>(c[k] * scale);
    // The sign of a zero: of the argument at zero, minus where the value vanishes.
    if (x == 0)
      row[0] = -0.0F;
    else if (row[0] == 0)
      row[0] = -least;
  }
  rows[first % kGeluRows] = {-0.0F, -least, 0, 0};
  return rows;
}

} // namespace

const Rows& rows_of(Table table) {
  static const Rows gelu = gelu_rows(1);
  static const Rows tail = gelu_rows(1 / static_cast<double>(kGeluTailScale));
  return table == Table::Gelu ? gelu : tail;
}

int32_t element_in(const Column& column, int64_t row) {
  const Rows& rows = rows_of(column.table);
  return std::bit_cast<int32_t>(rows[static_cast<uint64_t>(row) % rows.size()].at(column.number));
}

std::string name_of(const Column& column) {
  return std::string(column.table == Table::Gelu ? kGeluName : kGeluTailName) +
         std::to_string(column.number);
}

std::optional<Column> column_from_name(std::string_view name) {
  for (const Table table : {Table::Gelu, Table::GeluTail})
    for (size_t k = 0; k < kTableColumns; ++k)
      if (const Column column{table, k}; name == name_of(column))
        return column;
  return std::nullopt;
}

} // namespace kawara::scalar
