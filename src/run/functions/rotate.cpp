#include "run/functions/function.h"

#include <fmt/format.h>

namespace kawara::run {
namespace {
namespace of_rotate {

/// Extents of what is transposed: [batch, heads, rows, elements], or rows of all heads side by
/// side.
struct Transposed {
  bool is_flat = false;
  int64_t batch = 0, heads = 0, rows = 0, elements = 0, half = 0;

  int64_t row_at(int64_t b, int64_t h, int64_t i) const {
    return is_flat ? ((b * rows + i) * heads + h) * elements
                   : ((b * heads + h) * rows + i) * elements;
  }
};

Result<Transposed, std::string> transposed_of(const FunctionCall& call) {
  const Shape& x = call.tensor(0).shape();
  Transposed t;
  t.is_flat = x.size() == 3;
  const int64_t named = call.integer("num_heads", 0);
  t.heads = t.is_flat ? named : x.size() == 4 && (named == 0 || named == x[1]) ? x[1] : 0;
  if (t.heads <= 0 || (t.is_flat && x[2] % t.heads != 0))
    return fail(
        std::string("it needs [batch, heads, rows, elements], or three dimensions and num_heads"));
  t.batch = x[0];
  t.rows = t.is_flat ? x[1] : x[2];
  t.elements = t.is_flat ? x[2] / t.heads : x[3];
  const int64_t asked = call.integer("rotary_embedding_dim", 0);
  const int64_t transposed = asked == 0 ? t.elements : asked;
  t.half = transposed / 2;
  if (transposed < 0 || transposed > t.elements || transposed % 2 != 0)
    return fail(
        fmt::format("{} of {} elements cannot be transposed in pairs", transposed, t.elements));
  const Shape &cosines = call.tensor(1).shape(), &sines = call.tensor(2).shape();
  if (cosines.size() != 2 || cosines != sines || cosines[1] != t.half)
    return fail(fmt::format("with positions both tables must have rows of {} elements", t.half));
  const Tensor& places = call.tensor(3);
  if (places.type() != DataType::I64 || places.shape() != Shape{t.batch, t.rows})
    return fail(fmt::format("the positions must be i64{}", graph::text_of({t.batch, t.rows})));
  return t;
}

/// Pairs of elements are transposed by the angle of their row's position, whose cosine and sine
/// stand in two tables.
Outputs rotary_embedding(const FunctionCall& call) {
  if (!call.has(3))
    return fail(std::string("it needs positions"));
  KAWARA_TRY(const Transposed t, transposed_of(call));
  const Tensor &x = call.tensor(0), &cosines = call.tensor(1), &sines = call.tensor(2);
  const bool alternates = call.integer("interleaved", 0) != 0;
  const int64_t places = cosines.shape()[0];
  Tensor out = call.result_like(0, x);
  for (int64_t b = 0; b < t.batch; ++b)
    for (int64_t i = 0; i < t.rows; ++i) {
      const int64_t place = call.tensor(3).get_int(b * t.rows + i);
      if (place < 0 || place >= places)
        return fail(fmt::format("position {} is outside tables of {} rows", place, places));
      for (int64_t h = 0; h < t.heads; ++h)
        for (int64_t k = 0; k < t.half; ++k) {
          const int64_t row = t.row_at(b, h, i);
          const int64_t one_at = row + (alternates ? 2 * k : k);
          const int64_t two_at = row + (alternates ? 2 * k + 1 : k + t.half);
          const double c = cosines.get_double(place * t.half + k),
                       s = sines.get_double(place * t.half + k);
          const double first = x.get_double(one_at), second = x.get_double(two_at);
          out.set_double(one_at, first * c - second * s);
          out.set_double(two_at, first * s + second * c);
        }
    }
  return one(std::move(out));
}

constexpr Function kAll[] = {{"RotaryEmbedding", 4, rotary_embedding}};

} // namespace of_rotate
} // namespace

std::span<const Function> rotate_functions() { return of_rotate::kAll; }

} // namespace kawara::run
