#include "run/functions/function.h"

#include "support/hash.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace kawara::run {
namespace {
namespace of_random {

/// Numbers of the Mersenne twister (32 bits), drawn as NumPy's RandomState draws them: uniform ones
/// from two words, with all bits of a double, normal ones by the polar method, of whose pairs the
/// second comes first.
class Rng {
public:
  explicit Rng(uint32_t seed) : words_(seed) {}

  double uniform() {
    const auto high = static_cast<uint64_t>(words_() >> 5),
               low = static_cast<uint64_t>(words_() >> 6);
    return static_cast<double>(high << 26 | low) * 0x1p-53;
  }

  double normal() {
    if (kept_)
      return *std::exchange(kept_, std::nullopt);
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    kept_ = factor * x;
    return factor * y;
  }

private:
  std::mt19937 words_;
  std::optional<double> kept_;
};

/// By attribute `seed`, an integer or a number; without one each node has its own, made from its
/// name.
Rng chance_of(const FunctionCall& call) {
  const graph::Attribute* seed = call.attribute("seed");
  if (const auto* integer = seed ? std::get_if<int64_t>(seed) : nullptr)
    return Rng(static_cast<uint32_t>(*integer));
  if (const auto* real = seed ? std::get_if<double>(seed) : nullptr; real && std::isfinite(*real))
    return Rng(static_cast<uint32_t>(static_cast<int64_t>(std::fmod(*real, 0x1p32))));
  const uint64_t name = hash_text(call.node.name);
  return Rng(static_cast<uint32_t>(name ^ name >> 32));
}

/// Type by attribute `dtype`.
Result<DataType, std::string> type_of(const FunctionCall& call, DataType otherwise) {
  if (!call.attribute("dtype"))
    return otherwise;
  const auto type = graph::data_type_with_number(call.integer("dtype", 0));
  if (!type)
    return fail(std::string("attribute `dtype` names no type that Kawara has"));
  return *type;
}

template <class Draw> Outputs filled(DataType type, const Shape& shape, Draw draw) {
  if (!graph::is_float(type))
    return fail("random numbers are floats, not " + std::string(graph::name_of(type)));
  if (!graph::elements_of(shape))
    return fail("the result would have the shape " + graph::text_of(shape));
  Tensor out(type, shape);
  for (int64_t k = 0; k < out.elements(); ++k)
    out.set_double(k, draw());
  return one(std::move(out));
}

Outputs drawn(const FunctionCall& call, DataType usual, const Shape& shape) {
  KAWARA_TRY(const DataType type, type_of(call, usual));
  Rng rng = chance_of(call);
  if (call.node.op.rfind("RandomNormal", 0) == 0) {
    const double mean = call.real("mean", 0), scale = call.real("scale", 1);
    return filled(type, shape, [&] { return mean + scale * rng.normal(); });
  }
  const double low = call.real("low", 0), high = call.real("high", 1);
  return filled(type, shape, [&] { return low + (high - low) * rng.uniform(); });
}

Outputs random(const FunctionCall& call) {
  return drawn(call, DataType::F32, call.integers("shape"));
}

Outputs random_like(const FunctionCall& call) {
  return drawn(call, call.tensor(0).type(), call.tensor(0).shape());
}

/// 1 where a number of [0, 1), rounded to the operand's type, is under the operand.
Outputs bernoulli(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  KAWARA_TRY(const DataType type, type_of(call, x.type()));
  Rng rng = chance_of(call);
  KAWARA_TRY(const std::vector<Datum> bounds,
             filled(x.type(), x.shape(), [&] { return rng.uniform(); }));
  Tensor out(type, x.shape());
  for (int64_t k = 0; k < x.elements(); ++k)
    out.set_int(k, bounds[0].tensor.get_double(k) < x.get_double(k) ? 1 : 0);
  return one(std::move(out));
}

/// Classes, by the logarithms of their chances, which need not add up to 1.
Outputs multinomial(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const int64_t samples = call.integer("sample_size", 1);
  KAWARA_TRY(const DataType type, type_of(call, DataType::I32));
  if (x.rank() != 2 || x.shape()[1] == 0 || !graph::is_float(x.type()) || samples < 0 ||
      (type != DataType::I32 && type != DataType::I64))
    return fail(
        std::string("it needs floats [batch, classes] and gives some i32 or i64 for each row"));
  const int64_t rows = x.shape()[0], classes = x.shape()[1];
  if (!graph::elements_of({rows, samples}))
    return fail(fmt::format("its sample_size is {}", samples));
  Rng rng = chance_of(call);
  Tensor out(type, {rows, samples});
  std::vector<double> sums(static_cast<size_t>(classes));
  for (int64_t row = 0; row < rows; ++row) {
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      largest = std::max(largest, x.get_double(row * classes + c));
    for (int64_t c = 0; c < classes; ++c)
      sums[static_cast<size_t>(c)] = sum += std::exp(x.get_double(row * classes + c) - largest);
    if (!std::isfinite(sum) || sum <= 0)
      return fail(fmt::format("row {} has no chances", row));
    for (int64_t k = 0; k < samples; ++k) {
      const double at = rng.uniform() * sum;
      int64_t found = 0;
      while (found + 1 < classes && at >= sums[static_cast<size_t>(found)])
        ++found;
      out.set_int(row * samples + k, found);
    }
  }
  return one(std::move(out));
}

/// In training: elements are dropped by chance, the others made larger so that sums stay what they
/// are.
Outputs dropout(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const double ratio = call.opset < 12 ? call.real("ratio", 0.5)
                       : call.has(1) && call.tensor(1).elements() == 1
                           ? call.tensor(1).get_double(0)
                           : 0.5;
  if (!graph::is_float(x.type()) || !(ratio >= 0 && ratio < 1))
    return fail(fmt::format("it drops a part of floats from 0 to less than 1, not {}", ratio));
  call.integer("is_test", 0); // is 0 when this is called
  Rng rng = chance_of(call);
  Tensor out(x.type(), x.shape()), mask(call.opset < 10 ? x.type() : DataType::Bool, x.shape());
  for (int64_t k = 0; k < x.elements(); ++k) {
    const bool stays = rng.uniform() >= ratio;
    mask.set_int(k, stays ? 1 : 0);
    out.set_double(k, stays ? x.get_double(k) / (1 - ratio) : 0);
  }
  return std::vector<Datum>{{std::move(out), false, {}}, {std::move(mask), false, {}}};
}

constexpr Function kAll[] = {{"Bernoulli", 1, bernoulli},          {"Dropout", 1, dropout},
                             {"Multinomial", 1, multinomial},      {"RandomNormal", 0, random},
                             {"RandomNormalLike", 1, random_like}, {"RandomUniform", 0, random},
                             {"RandomUniformLike", 1, random_like}};

} // namespace of_random
} // namespace

std::span<const Function> random_functions() { return of_random::kAll; }

} // namespace kawara::run
