#include "driver/check/reference.h"
#include "driver/model/model.h"
#include "graph/builder.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <random>

/// random_sizes FROM COUNT: nets with several symbolic sizes, each seed one of them at a few random
/// sizes one after the other in one model, every result against the reference interpreter's.
namespace kawara {
namespace {

using graph::Attributes;
using graph::Builder;
using graph::DataType;
using graph::Dim;
using graph::Shape;
using graph::Tensor;
using graph::ValueId;

using Ints = std::vector<int64_t>;

/// A net and its symbols, each with its least size.
struct Net {
  graph::Graph graph;
  std::map<std::string, int64_t> symbols;
};

Dim sym(const std::string& name) { return {std::nullopt, name}; }
Dim num(int64_t size) { return {size, {}}; }

/// A Builder with words for what the nets below need.
class Maker {
public:
  explicit Maker(const std::string& name) : b_(name) {}

  ValueId input(const std::string& name, std::vector<Dim> shape, DataType type = DataType::F32) {
    return b_.input(name, type, std::move(shape));
  }
  ValueId weights(const Shape& shape) {
    Tensor tensor(DataType::F32, shape);
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_double(k, static_cast<double>((k * 37 + 11) % 29 - 14) / 32);
    return b_.constant(next("w"), tensor);
  }
  ValueId ints(const Ints& values) { return b_.integers(next("i"), values); }
  ValueId op(const std::string& name, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return b_.add(name, next(name), std::move(inputs), std::move(attributes));
  }
  ValueId transposed(ValueId x, Ints perm) {
    return op("Transpose", {x}, {{"perm", std::move(perm)}});
  }
  ValueId norm(ValueId x, int64_t width) {
    return op("LayerNormalization", {x, weights({width}), weights({width})},
              {{"axis", int64_t{-1}}, {"epsilon", 1e-5}});
  }
  /// Heads of four: [n, s, 8] to [n, 2, s, 4].
  ValueId heads(ValueId x) {
    return transposed(op("Reshape", {x, ints({0, 0, 2, 4})}), {0, 2, 1, 3});
  }
  ValueId attention(ValueId q, ValueId k, ValueId v, ValueId mask = graph::kAbsent) {
    ValueId scores = op("MatMul", {q, transposed(k, {0, 1, 3, 2})});
    scores = op("Mul", {scores, weights({1})});
    if (mask != graph::kAbsent)
      scores = op("Add", {scores, mask});
    return op("MatMul", {op("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
  }
  graph::Graph with(const std::vector<ValueId>& outputs) {
    for (const ValueId id : outputs)
      b_.output(id, DataType::F32, {});
    return b_.take();
  }

private:
  std::string next(const std::string& name) { return fmt::format("{}_{}", name, names_++); }
  Builder b_;
  int names_ = 0;
};

Net self_attention() {
  Maker m("self_attention");
  const ValueId x = m.input("x", {sym("n"), sym("s"), num(4)});
  const ValueId scores = m.op("MatMul", {x, m.transposed(x, {0, 2, 1})});
  const ValueId weights = m.op("Softmax", {scores}, {{"axis", int64_t{-1}}});
  return {m.with({m.op("MatMul", {weights, x})}), {{"n", 1}, {"s", 1}}};
}

/// Encoder layer: two symbols, a mask over the sequence.
Net encoder() {
  Maker m("encoder");
  const ValueId x = m.input("x", {sym("n"), sym("s"), num(8)});
  const ValueId mask = m.input("mask", {sym("n"), num(1), num(1), sym("s")});
  const auto projected = [&](ValueId v) { return m.op("MatMul", {v, m.weights({8, 8})}); };
  const ValueId mixed =
      m.attention(m.heads(projected(x)), m.heads(projected(x)), m.heads(projected(x)), mask);
  const ValueId rows = m.op("Reshape", {m.transposed(mixed, {0, 2, 1, 3}), m.ints({0, 0, 8})});
  const ValueId first = m.norm(m.op("Add", {projected(rows), x}), 8);
  const ValueId wide = m.op("Relu", {m.op("MatMul", {first, m.weights({8, 20})})});
  const ValueId back = m.op("MatMul", {wide, m.weights({20, 8})});
  return {m.with({m.norm(m.op("Add", {back, first}), 8)}), {{"n", 1}, {"s", 1}}};
}

/// A decoder's step: a cache that grows, and what an encoder left; three symbols.
Net decoder() {
  Maker m("decoder");
  const ValueId x = m.input("x", {sym("n"), num(2), num(1), num(4)});
  const ValueId keys = m.input("keys", {sym("n"), num(2), sym("past"), num(4)});
  const ValueId values = m.input("values", {sym("n"), num(2), sym("past"), num(4)});
  const ValueId told = m.input("told", {sym("n"), num(2), sym("s"), num(4)});
  const Attributes axis{{"axis", int64_t{2}}};
  const ValueId all_keys = m.op("Concat", {keys, m.op("Tanh", {x})}, axis);
  const ValueId all_values = m.op("Concat", {values, m.op("Neg", {x})}, axis);
  const ValueId own = m.op("Add", {m.attention(x, all_keys, all_values), x});
  return {m.with({m.attention(own, told, told), all_keys}), {{"n", 1}, {"past", 1}, {"s", 1}}};
}

Net images() {
  Maker m("images");
  const ValueId x = m.input("x", {sym("n"), num(3), sym("h"), sym("w")});
  const Attributes same{{"pads", Ints{1, 1, 1, 1}}};
  const ValueId a =
      m.op("Relu", {m.op("Conv", {x, m.weights({4, 3, 3, 3}), m.weights({4})}, same)});
  const ValueId b = m.op("Add", {m.op("Conv", {a, m.weights({4, 4, 3, 3})}, same), a});
  const ValueId p = m.op("MaxPool", {b}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  const ValueId c = m.op("Conv", {p, m.weights({5, 4, 1, 1})});
  const ValueId flat = m.op("Flatten", {m.op("GlobalAveragePool", {c})});
  return {m.with({m.op("Gemm", {flat, m.weights({5, 6})}), c}), {{"n", 1}, {"h", 2}, {"w", 2}}};
}

Net broadcasts() {
  Maker m("broadcasts");
  const ValueId a = m.input("a", {sym("n"), num(1), sym("s")});
  const ValueId b = m.input("b", {num(1), sym("t"), num(1)});
  const ValueId c = m.input("c", {sym("t"), sym("s")});
  const ValueId sum = m.op("Mul", {m.op("Add", {a, b}), c});
  const Attributes last{{"axes", Ints{2}}, {"keepdims", int64_t{0}}};
  const ValueId means = m.op("ReduceMean", {sum}, last);
  const ValueId most = m.op("ReduceMax", {sum}, {{"axes", Ints{0, 1}}, {"keepdims", int64_t{1}}});
  const ValueId near = m.op("Softmax", {m.op("Sub", {sum, most})}, {{"axis", int64_t{1}}});
  return {m.with({means, m.transposed(near, {2, 0, 1})}), {{"n", 1}, {"s", 1}, {"t", 1}}};
}

/// Tokens and their places, of which as many are taken as there are tokens.
Net embedding() {
  Maker m("embedding");
  const ValueId ids = m.input("ids", {sym("n"), sym("s")}, DataType::I64);
  const ValueId rows = m.op("Gather", {m.weights({7, 6}), ids});
  const ValueId length =
      m.op("Gather", {m.op("Shape", {ids}), m.ints({1})}, {{"axis", int64_t{0}}});
  const ValueId places = m.op("Slice", {m.weights({128, 6}), m.ints({0}), length, m.ints({0})});
  const ValueId x = m.norm(m.op("Add", {rows, places}), 6);
  const ValueId grams = m.op("MatMul", {x, m.transposed(x, {0, 2, 1})});
  return {m.with({m.op("Sigmoid", {grams}), x}), {{"n", 1}, {"s", 1}}};
}

/// Borders, joins and products along both symbolic dimensions.
Net frames() {
  Maker m("frames");
  const ValueId x = m.input("x", {sym("h"), sym("w")});
  const ValueId y = m.input("y", {sym("h"), sym("v")});
  const ValueId wide = m.op("Concat", {x, y, x}, {{"axis", int64_t{1}}});
  const ValueId framed = m.op("Pad", {wide, m.ints({1, 2, 0, 1})});
  const ValueId product = m.op("MatMul", {m.transposed(framed, {1, 0}), framed});
  const ValueId tall = m.op("Concat", {x, m.op("Abs", {x})}, {{"axis", int64_t{0}}});
  return {m.with({m.op("Tanh", {product}), m.op("MatMul", {tall, m.transposed(x, {1, 0})})}),
          {{"h", 1}, {"w", 1}, {"v", 1}}};
}

std::vector<Net> nets() {
  return {self_attention(), encoder(), decoder(), images(), broadcasts(), embedding(), frames()};
}

std::string text_of(const std::map<std::string, int64_t>& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, size);
  return text;
}

/// Mostly small; often one, or the same for two symbols; sometimes more than a tile.
std::map<std::string, int64_t> random_sizes(const Net& net, std::mt19937_64& random) {
  std::map<std::string, int64_t> sizes;
  int64_t last = 1;
  for (const auto& [name, least] : net.symbols) {
    const uint64_t kind = random() % 10;
    int64_t size =
        kind < 6 ? 1 + static_cast<int64_t>(random() % 9) : 1 + static_cast<int64_t>(random() % 40);
    size = kind == 0 ? 1 : kind == 1 ? last : size;
    last = std::max(size, least);
    sizes[name] = last;
  }
  return sizes;
}

/// Empty: results are those of the interpreter.
std::string difference(driver::Model& model, const graph::Graph& graph,
                       const std::map<std::string, int64_t>& sizes) {
  const auto inputs = model.pattern_inputs({}, sizes);
  std::vector<run::Datum> in_order;
  for (const ValueId id : graph.inputs)
    in_order.push_back(inputs.at(graph.values[id].name));
  const auto got = model.run(inputs), wanted = driver::interpret(graph, in_order);
  if (!got || !wanted)
    return render((!got ? got : wanted).error());
  for (size_t k = 0; k < wanted->size(); ++k) {
    const Tensor &a = (*got)[k].tensor, &b = (*wanted)[k].tensor;
    if (a.shape() != b.shape())
      return fmt::format("output {} is {}, not {}", k, graph::text_of(a.shape()),
                         graph::text_of(b.shape()));
    double largest = 1;
    for (int64_t at = 0; at < b.elements(); ++at)
      largest = std::max(largest, std::abs(b.get_double(at)));
    for (int64_t at = 0; at < b.elements(); ++at)
      if (!(std::abs(a.get_double(at) - b.get_double(at)) <= 2e-5 * largest))
        return fmt::format("element {} of output {} is {}, not {}", at, k, a.get_double(at),
                           b.get_double(at));
  }
  return "";
}

int check_all(uint64_t from, uint64_t count) {
  constexpr int kSizes = 5;
  const std::vector<Net> all = nets();
  int wrong = 0;
  for (uint64_t seed = from; seed < from + count; ++seed) {
    const Net& net = all[seed % all.size()];
    std::mt19937_64 random(seed);
    driver::Model model(net.graph);
    std::string met;
    for (int k = 0; k < kSizes; ++k) {
      const auto sizes = random_sizes(net, random);
      met += (met.empty() ? "" : "; ") + text_of(sizes);
      if (const std::string what = difference(model, net.graph, sizes); !what.empty()) {
        fmt::print("seed {}, {} at {}:\n{}\n", seed, net.graph.name, met, what);
        ++wrong;
        break;
      }
    }
  }
  fmt::print("{} models from seed {} on, each at {} sizes, {} wrong\n", count, from, kSizes, wrong);
  return wrong > 0 ? 1 : 0;
}

} // namespace
} // namespace kawara

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  return kawara::check_all(std::strtoull(argv[1], nullptr, 10),
                           std::strtoull(argv[2], nullptr, 10));
}
