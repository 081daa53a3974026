#include "operator_model.h"

#include <limits>

namespace kawara::operator_models {
namespace {

struct Sizes {
  int64_t rows = 1, columns = 1, depth = 1;
};

/// Of a product that is done so often.
Sizes sizes(Maker& m, int64_t times) {
  for (int tries = 0; tries < 1000; ++tries)
    if (const Sizes s{m.channels(), m.channels(), m.channels()};
        m.is_small(static_cast<double>(times * s.rows * s.columns) * static_cast<double>(s.depth)))
      return s;
  return {};
}

void gemm(Maker& m) {
  const Sizes s = sizes(m, 1);
  const bool turns_a = m.chance(25), turns_b = m.chance(50);
  const Made a = m.input(turns_a ? Shape{s.depth, s.rows} : Shape{s.rows, s.depth});
  const Shape right = turns_b ? Shape{s.columns, s.depth} : Shape{s.depth, s.columns};
  std::vector<ValueId> inputs{a.id, m.chance(70) ? m.constant(right).id : m.input(right).id};
  if (m.chance(60))
    inputs.push_back(m.constant(m.chance(70)   ? Shape{s.columns}
                                : m.chance(50) ? Shape{s.rows, 1}
                                               : Shape{1})
                         .id);
  Attributes attributes{{"transA", int64_t{turns_a}}, {"transB", int64_t{turns_b}}};
  if (m.chance(20))
    attributes["alpha"] = 0.5;
  m.output(m.followed(m.add("Gemm", inputs, attributes, {s.rows, s.columns}), 1));
}

void matmul(Maker& m) {
  const int64_t batch = m.batch(), heads = m.chance(40) ? m.between(2, 3) : 1;
  const Sizes s = sizes(m, batch * heads);
  Shape left{s.rows, s.depth}, right{s.depth, s.columns}, result{s.rows, s.columns};
  const bool shares = m.chance(50); // one matrix for all
  for (const int64_t extent : {heads, batch}) {
    if (extent == 1 && m.chance(50))
      continue;
    left.insert(left.begin(), extent);
    result.insert(result.begin(), extent);
    if (!shares)
      right.insert(right.begin(), extent);
  }
  const Made a = m.input(left), b = shares && m.chance(60) ? m.constant(right) : m.input(right);
  m.output(m.followed(m.add("MatMul", {a.id, b.id}, {}, result), result.size() - 1));
}

/// A few rows, or columns: what memory bounds.
void thin(Maker& m) {
  const int64_t few = m.between(1, 5), wide = m.between(64, 200), depth = m.between(100, 300);
  const bool turns = m.chance(50);
  const Made x = m.input({few, depth});
  const Shape shape = turns ? Shape{wide, depth} : Shape{depth, wide};
  const Made w = m.chance(80) ? m.constant(shape) : m.input(shape);
  const Made y =
      m.add("Gemm", {x.id, w.id, m.constant({wide}).id}, {{"transB", int64_t{turns}}}, {few, wide});
  m.output(m.followed(y, 1));
}

/// Queries, keys and values: three products of one input.
void siblings(Maker& m) {
  const Sizes s = sizes(m, 3);
  const Made x = m.input({s.rows, s.depth});
  for (int n = 0; n < 3; ++n) {
    Made y = m.add("MatMul", {x.id, m.constant({s.depth, s.columns}).id}, {}, {s.rows, s.columns});
    if (n > 0)
      y = m.add("Add", {y.id, m.constant({s.columns}).id}, {}, y.shape);
    m.output(y);
  }
}

void attention(Maker& m) {
  const int64_t batch = m.between(1, 3), heads = m.between(1, 3);
  const int64_t width = m.one_of(std::vector<int64_t>{8, 16, 20, 32, 33, 64});
  int64_t queries = 1, keys = 1;
  for (int tries = 0; tries < 1000; ++tries) {
    queries = m.between(1, 80);
    keys = m.between(1, 80);
    if (m.is_small(2.0 * static_cast<double>(batch * heads * width * queries * keys)))
      break;
  }
  const Shape scores{batch, heads, queries, keys};
  const Made q = m.input({batch, heads, queries, width}), k = m.input({batch, heads, width, keys}),
             v = m.input({batch, heads, keys, width});
  Made s = m.add("MatMul", {q.id, k.id}, {}, scores);
  s = m.add("Mul", {s.id, m.filled({}, 0.25).id}, {}, scores);
  if (m.chance(40))
    s = m.add("Add", {s.id, m.input({batch, 1, m.chance(50) ? 1 : queries, keys}).id}, {}, scores);
  s = m.add("Softmax", {s.id}, {{"axis", int64_t{-1}}}, scores);
  Made y = m.add("MatMul", {s.id, v.id}, {}, {batch, heads, queries, width});
  if (m.chance(60)) {
    y = m.add("Transpose", {y.id}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}},
              {batch, queries, heads, width});
    y = m.add("Reshape", {y.id, m.integers({batch, queries, heads * width})}, {},
              {batch, queries, heads * width});
  }
  m.output(y);
}

/// Heads of keys that several of queries share, in batches, rows in front of heads; masks as torch
/// writes them, with zeros for queries that see no key.
void grouped_attention(Maker& m) {
  const int64_t batch = m.between(1, 3), heads = m.between(1, 2), each = m.between(2, 4);
  const int64_t width = m.one_of(std::vector<int64_t>{8, 16, 32, 64}), rows = m.between(1, 70);
  const auto by_heads = [&](const Made& x, int64_t count) {
    const Shape apart{batch, rows, count, width}, turned{batch, count, rows, width};
    const Made split = m.add("Reshape", {x.id, m.integers(apart)}, {}, apart);
    return m.add("Transpose", {split.id}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}, turned);
  };
  const auto shared = [&](const Made& x) {
    const Shape one{batch, heads, 1, rows, width}, all{batch, heads, each, rows, width},
        together{batch, heads * each, rows, width};
    const Made apart = m.add("Unsqueeze", {by_heads(x, heads).id, m.integers({2})}, {}, one);
    const Made repeated = m.add("Expand", {apart.id, m.integers(all)}, {}, all);
    return m.add("Reshape", {repeated.id, m.integers(together)}, {}, together);
  };
  const int64_t count = heads * each;
  const Shape scores{batch, count, rows, rows}, results{batch, count, rows, width},
      flat{batch, rows, count * width};
  const Made q = by_heads(m.input(flat), count), k = shared(m.input({batch, rows, heads * width})),
             v = shared(m.input({batch, rows, heads * width}));
  const Made kt = m.add("Transpose", {k.id}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}},
                        {batch, count, width, rows});
  Made s = m.add("MatMul", {q.id, kt.id}, {}, scores);
  s = m.add("Mul", {s.id, m.filled({}, 0.25).id}, {}, scores);
  const bool is_masked = m.chance(60);
  if (is_masked) {
    const Made shown = m.input({batch, 1, 1, rows}, DataType::Bool);
    const Made hidden = m.filled({}, -std::numeric_limits<double>::infinity());
    s = m.add("Where", {shown.id, s.id, hidden.id}, {}, scores);
  }
  s = m.add("Softmax", {s.id}, {{"axis", int64_t{-1}}}, scores);
  if (is_masked) {
    const Made none = m.add("IsNaN", {s.id}, {}, scores, DataType::Bool);
    s = m.add("Where", {none.id, m.filled({}, 0).id, s.id}, {}, scores);
  }
  const Made y = m.add("MatMul", {s.id, v.id}, {}, results);
  const Made turned = m.add("Transpose", {y.id}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}},
                            {batch, rows, count, width});
  m.output(m.add("Reshape", {turned.id, m.integers(flat)}, {}, flat));
}

} // namespace

std::vector<Family> product_families() {
  return {{"gemm", gemm},           {"matmul", matmul},
          {"thin", thin},           {"siblings", siblings},
          {"attention", attention}, {"grouped_attention", grouped_attention}};
}

} // namespace kawara::operator_models
