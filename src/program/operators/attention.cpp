#include "program/operators/registry.h"

#include <algorithm>
#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_attention {

std::string wide_type(DataType type) { return type == DataType::F64 ? "f64" : "f32"; }

/// Heads of queries come in groups, one for each head of keys and values. Operands are [batch, heads, rows, cells] or
/// [batch, rows, heads * cells]; indices are b, n (head of keys), g (of its group), i (query), j (key), k and v (cells).
struct Heads {
  bool is_flat = false;
  int64_t batch = 0, heads = 0, group = 0, queries = 0, keys = 0, past = 0, cells = 0, values = 0;

  int64_t all_keys() const { return past + keys; }
  Shape query_shape(int64_t last) const {
    return is_flat ? Shape{batch, queries, heads, group, last}
                   : Shape{batch, heads, group, queries, last};
  }
  std::string query_index(const char* last) const {
    return is_flat ? fmt::format("b, i, n, g, {}", last) : fmt::format("b, n, g, i, {}", last);
  }
  Shape key_shape(int64_t last) const {
    return is_flat ? Shape{batch, keys, heads, last} : Shape{batch, heads, keys, last};
  }
  std::string key_index(const char* last) const {
    return is_flat ? fmt::format("b, j, n, {}", last) : fmt::format("b, n, j, {}", last);
  }
};

/// Cells of one head: of a dimension that counts them, or that has all heads in a row; 0 where that is impossible.
int64_t cells_of_head(const Shape& shape, int64_t heads, bool is_flat) {
  if (!is_flat)
    return shape[3];
  return heads > 0 && shape[2] % heads == 0 ? shape[2] / heads : 0;
}

std::optional<Heads> heads_of(Definition& d) {
  if (!d.need(0) || !d.need(1) || !d.need(2))
    return std::nullopt;
  const int64_t rank = d.rank(0);
  if ((rank != 3 && rank != 4) || d.rank(1) != rank || d.rank(2) != rank) {
    d.refuse("queries, keys and values have three dimensions each, or four");
    return std::nullopt;
  }
  Heads h;
  h.is_flat = rank == 3;
  const Shape &q = d.shape(0), &k = d.shape(1), &v = d.shape(2);
  const int64_t q_heads = h.is_flat ? d.integer("q_num_heads", 0) : q[1];
  h.heads = h.is_flat ? d.integer("kv_num_heads", 0) : k[1];
  const size_t rows = h.is_flat ? 1 : 2;
  h.batch = q[0];
  h.queries = q[rows];
  h.keys = k[rows];
  h.cells = cells_of_head(q, q_heads, h.is_flat);
  h.values = cells_of_head(v, h.heads, h.is_flat);
  if (d.has(4) && d.rank(4) == 4)
    h.past = d.shape(4)[2];
  const bool fits = h.heads > 0 && q_heads % h.heads == 0 && h.cells > 0 && h.values > 0 &&
                    k[0] == h.batch && v[0] == h.batch && v[rows] == h.keys &&
                    cells_of_head(k, h.heads, h.is_flat) == h.cells &&
                    (h.is_flat || v[1] == h.heads) && d.has(4) == d.has(5) &&
                    (!d.has(4) || (d.shape(4) == Shape{h.batch, h.heads, h.past, h.cells} &&
                                   d.shape(5) == Shape{h.batch, h.heads, h.past, h.values}));
  if (!fits) {
    d.refuse("the numbers of heads, rows and cells of its inputs do not fit together");
    return std::nullopt;
  }
  h.group = q_heads / h.heads;
  return h;
}

/// The mask's cell for a score. Refuses one that does not spread over [batch, heads, queries, keys].
std::string mask_cell(Definition& d, const Heads& h) {
  const Shape& shape = d.shape(3);
  const std::vector<int64_t> extents{h.batch, h.heads * h.group, h.queries, h.all_keys()};
  const std::vector<std::string> names{"b", "n, g", "i", "j"};
  Shape declared;
  std::string index;
  for (size_t t = 0; t < shape.size() && shape.size() <= 4; ++t) {
    const size_t at = 4 - shape.size() + t;
    if (shape[t] != 1 && shape[t] != extents[at])
      d.refuse(fmt::format("the mask {} does not spread over {}", graph::text_of(shape),
                           graph::text_of(extents)));
    if (shape[t] == 1)
      continue;
    index += (index.empty() ? "" : ", ") + names[at];
    if (at == 1)
      declared.insert(declared.end(), {h.heads, h.group});
    else
      declared.push_back(shape[t]);
  }
  if (shape.size() > 4)
    d.refuse("a mask has at most four dimensions");
  d.declare_operand(3, declared);
  return d.cell(3, index);
}

/// Old and new rows of keys or values, one behind the other.
void join_rows(Definition& d, const Heads& h, const char* name, size_t old_rows, size_t new_rows,
               int64_t cells) {
  d.temp(name, name_in_program(d.type(new_rows)), {h.batch, h.heads, h.all_keys(), cells});
  const auto part = [&](int64_t begin, int64_t count, const std::string& from) {
    d.add_line(
        fmt::format("for b in range({}):\n    for n in range({}):\n        for j in "
                    "range({}):\n            for k in range({}):\n                {}[b, n, j "
                    "+ {}, k] = {}\n",
                    h.batch, h.heads, count, cells, name, begin, from));
  };
  if (h.past > 0)
    part(0, h.past, fmt::format("X{}[b, n, j, k]", old_rows));
  part(h.past, h.keys, fmt::format("X{}[{}]", new_rows, h.key_index("k")));
}

void scores(Definition& d, const Heads& h) {
  const Shape all{h.batch, h.heads, h.group, h.queries, h.all_keys()};
  const double scale = d.real("scale", 1 / std::sqrt(static_cast<double>(h.cells)));
  const double cap = d.real("softcap", 0);
  d.temp("S", wide_type(d.type(0)), all);
  d.line("S[b, n, g, i, j] = sum(k, X0[{}] * K[b, n, j, k]) * {}", h.query_index("k"),
         literal(scale));
  if (cap != 0)
    d.line("S[b, n, g, i, j] = {0} * tanh(S[b, n, g, i, j] / {0})", literal(cap));
  if (d.has(3)) {
    const std::string mask = mask_cell(d, h);
    if (d.type(3) == DataType::Bool)
      d.line("S[b, n, g, i, j] = select({}, S[b, n, g, i, j], (-inf))", mask);
    else
      d.line("S[b, n, g, i, j] = S[b, n, g, i, j] + {}", mask);
  }
  if (d.integer("is_causal", 0) != 0 && h.all_keys() > 1)
    d.add_line(fmt::format("for b in range({}):\n    for n in range({}):\n        for g in "
                           "range({}):\n            for i "
                           "in range({}):\n                for j in range(i + 1, {}):\n            "
                           "        S[b, n, g, i, "
                           "j] = (-inf)\n",
                           h.batch, h.heads, h.group, std::min(h.queries, h.all_keys() - 1),
                           h.all_keys()));
}

void attention(Definition& d) {
  const auto h = heads_of(d);
  if (!h)
    return;
  if (d.wants(3))
    return d.refuse("the scores are no output here; multiply queries and keys apart");
  if (d.has(4) && d.integer("is_causal", 0) != 0)
    return d.refuse("causal with earlier keys can be meant in two ways; give a mask");
  if (d.has(3) && d.real("softcap", 0) != 0)
    return d.refuse("versions of the standard disagree on a mask with softcap; use one of them");
  d.output(d.type(0), h->is_flat ? Shape{h->batch, h->queries, h->heads * h->group * h->values}
                                 : Shape{h->batch, h->heads * h->group, h->queries, h->values});
  if (d.outputs_wanted() > 1)
    d.output(d.type(1), {h->batch, h->heads, h->all_keys(), h->cells});
  if (d.outputs_wanted() > 2)
    d.output(d.type(2), {h->batch, h->heads, h->all_keys(), h->values});
  d.declare_operand(0, h->query_shape(h->cells));
  d.declare_operand(1, h->key_shape(h->cells));
  d.declare_operand(2, h->key_shape(h->values));
  d.declare_output(0, h->query_shape(h->values));
  join_rows(d, *h, "K", 4, 1, h->cells);
  join_rows(d, *h, "V", 5, 2, h->values);
  if (d.outputs_wanted() > 1)
    d.line("Y1[b, n, j, k] = K[b, n, j, k]");
  if (d.outputs_wanted() > 2)
    d.line("Y2[b, n, j, k] = V[b, n, j, k]");
  scores(d, *h);
  const std::string type = wide_type(d.type(0));
  for (const char* name : {"M", "T"})
    d.temp(name, type, {h->batch, h->heads, h->group, h->queries});
  for (const char* name : {"E", "P"})
    d.temp(name, type, {h->batch, h->heads, h->group, h->queries, h->all_keys()});
  d.line("M[b, n, g, i] = max(j, S[b, n, g, i, j])");
  d.line("E[b, n, g, i, j] = exp(S[b, n, g, i, j] - M[b, n, g, i])");
  d.line("T[b, n, g, i] = sum(j, E[b, n, g, i, j])");
  d.line("P[b, n, g, i, j] = E[b, n, g, i, j] / T[b, n, g, i]");
  d.line("Y0[{}] = sum(j, P[b, n, g, i, j] * V[b, n, j, v])", h->query_index("v"));
}

/// Pairs of cells are turned by an angle that grows with the position.
void rotary_embedding(Definition& d) {
  if (!d.need(0) || !d.need(1) || !d.need(2))
    return;
  if (d.has(3))
    return d.refuse("positions are not looked up here; gather the rows of both tables before");
  const Shape& x = d.shape(0);
  const bool is_flat = x.size() == 3;
  const int64_t heads = is_flat ? d.integer("num_heads", 0) : x.size() == 4 ? x[1] : 0;
  if (heads <= 0 || (is_flat && x[2] % heads != 0))
    return d.refuse("it needs [batch, heads, rows, cells], or three dimensions and num_heads");
  const int64_t cells = is_flat ? x[2] / heads : x[3], rows = is_flat ? x[1] : x[2];
  const int64_t asked = d.integer("rotary_embedding_dim", 0);
  const int64_t turned = asked == 0 ? cells : asked, half = turned / 2;
  const Shape table{x[0], rows, half};
  if (turned > cells || turned % 2 != 0 || d.shape(1) != table || d.shape(2) != table)
    return d.refuse(fmt::format("both tables must be {}", graph::text_of(table)));
  d.output(d.type(0), x);
  const Shape shape = is_flat ? Shape{x[0], rows, heads, cells} : Shape{x[0], heads, rows, cells};
  d.declare_operand(0, shape);
  d.declare_output(0, shape);
  const bool alternates = d.integer("interleaved", 0) != 0;
  const auto cell = [&](const char* tensor, const std::string& last) {
    return fmt::format("{}[b, {}, {}]", tensor, is_flat ? "i, n" : "n, i", last);
  };
  const std::string one = alternates ? "2 * k" : "k",
                    two = alternates ? "2 * k + 1" : fmt::format("k + {}", half);
  const auto loops = [&](int64_t count, const std::string& body) {
    if (count > 0)
      d.add_line(fmt::format("for b in range({}):\n    for n in range({}):\n        for i in "
                             "range({}):\n            for k in range({}):\n                {}\n",
                             x[0], heads, rows, count, body));
  };
  loops(half, fmt::format("{} = {} * X1[b, i, k] - {} * X2[b, i, k]", cell("Y0", one),
                          cell("X0", one), cell("X0", two)));
  loops(half, fmt::format("{} = {} * X2[b, i, k] + {} * X1[b, i, k]", cell("Y0", two),
                          cell("X0", one), cell("X0", two)));
  const std::string rest = fmt::format("k + {}", turned);
  loops(cells - turned, cell("Y0", rest) + " = " + cell("X0", rest));
}

constexpr Operator kAll[] = {{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}};

} // namespace of_attention
} // namespace

std::span<const Operator> attention_operators() { return of_attention::kAll; }

} // namespace kawara::program::operators
