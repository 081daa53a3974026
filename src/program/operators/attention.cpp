#include "program/operators/registry.h"

#include <algorithm>
#include <cmath>

namespace kawara::program::operators {
namespace {
namespace of_attention {

std::string wide_type(DataType type) { return type == DataType::F64 ? "f64" : "f32"; }

/// Heads of queries come in groups, one for each head of keys and values. Operands are [batch,
/// heads, rows, elements] or [batch, rows, heads * elements]. Indices are b, n (head of keys), g
/// (of its group), i (query), j (key), k and v (elements); those of one value only are left out,
/// and b and n are one where nothing tells them apart.
struct Heads {
  bool is_flat = false, is_joined = false;
  int64_t batch = 0, heads = 0, group = 0, queries = 0, keys = 0, past = 0, elements = 0,
          values = 0;

  int64_t all_keys() const { return past + keys; }
  int64_t query_heads() const { return heads * group; }
};

/// Dimensions of a tensor: names of indices, and extents.
struct Dims {
  std::string index;
  Shape shape;

  Dims& add(const char* name, int64_t extent, bool is_left_out = false) {
    if (is_left_out)
      return *this;
    index += (index.empty() ? "" : ", ") + std::string(name);
    shape.push_back(extent);
    return *this;
  }
  std::string of(const std::string& tensor) const { return at(tensor, index); }
};

/// Batch and head of keys.
Dims outer_dims(const Heads& h) {
  Dims dims;
  if (h.is_joined)
    return dims.add("n", h.batch * h.heads);
  return dims.add("b", h.batch, h.batch == 1).add("n", h.heads);
}

Dims row_dims(const Heads& h) {
  return outer_dims(h).add("g", h.group, h.group == 1).add("i", h.queries, h.queries == 1);
}

Dims score_dims(const Heads& h) { return row_dims(h).add("j", h.all_keys()); }

Dims query_dims(const Heads& h, const char* last, int64_t elements) {
  if (!h.is_flat)
    return row_dims(h).add(last, elements);
  Dims dims;
  dims.add("b", h.batch, h.batch == 1).add("i", h.queries, h.queries == 1).add("n", h.heads);
  return dims.add("g", h.group, h.group == 1).add(last, elements);
}

Dims key_dims(const Heads& h, const char* last, int64_t elements) {
  if (!h.is_flat)
    return outer_dims(h).add("j", h.keys).add(last, elements);
  Dims dims;
  return dims.add("b", h.batch, h.batch == 1)
      .add("j", h.keys)
      .add("n", h.heads)
      .add(last, elements);
}

/// Elements of one head: of a dimension that counts them, or that has all heads in a row; 0 where
/// that is impossible.
int64_t elements_of_head(const Shape& shape, int64_t heads, bool is_flat) {
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
  // With four dimensions these are known; an attribute may repeat them.
  const int64_t q_heads = d.integer("q_num_heads", h.is_flat ? 0 : q[1]);
  h.heads = d.integer("kv_num_heads", h.is_flat ? 0 : k[1]);
  const size_t rows = h.is_flat ? 1 : 2;
  h.batch = q[0];
  h.queries = q[rows];
  h.keys = k[rows];
  h.elements = elements_of_head(q, q_heads, h.is_flat);
  h.values = elements_of_head(v, h.heads, h.is_flat);
  if (d.has(4) && d.rank(4) == 4)
    h.past = d.shape(4)[2];
  const bool fits = h.heads > 0 && q_heads % h.heads == 0 && h.elements > 0 && h.values > 0 &&
                    k[0] == h.batch && v[0] == h.batch && v[rows] == h.keys &&
                    elements_of_head(k, h.heads, h.is_flat) == h.elements &&
                    (h.is_flat || (v[1] == h.heads && k[1] == h.heads && q[1] == q_heads)) &&
                    d.has(4) == d.has(5) &&
                    (!d.has(4) || (d.shape(4) == Shape{h.batch, h.heads, h.past, h.elements} &&
                                   d.shape(5) == Shape{h.batch, h.heads, h.past, h.values})) &&
                    (!d.has(6) || d.shape(6) == Shape{h.batch});
  if (!fits) {
    d.refuse("the numbers of heads, rows and elements of its inputs do not fit together");
    return std::nullopt;
  }
  h.group = q_heads / h.heads;
  // A mask or a length of its own for each batch or head needs both indices.
  const bool tells_apart =
      d.has(6) || (d.has(3) && d.rank(3) > 2 &&
                   product(d.shape(3), 0, static_cast<size_t>(d.rank(3)) - 2) != 1);
  h.is_joined = !h.is_flat && !tells_apart;
  return h;
}

/// The mask's element for a score. Refuses one that does not spread over [batch, heads, queries,
/// keys].
std::string mask_element(Definition& d, const Heads& h) {
  const Shape& shape = d.shape(3);
  const Shape extents{h.batch, h.query_heads(), h.queries, h.all_keys()};
  if (shape.size() > 4) {
    d.refuse("a mask has at most four dimensions");
    return "";
  }
  Dims dims;
  for (size_t t = 0; t < shape.size(); ++t) {
    const size_t at = 4 - shape.size() + t;
    if (shape[t] != 1 && shape[t] != extents[at])
      d.refuse(fmt::format("the mask {} does not spread over {}", graph::text_of(shape),
                           graph::text_of(extents)));
    if (shape[t] == 1)
      continue;
    if (at == 1)
      dims.add("n", h.heads).add("g", h.group, h.group == 1);
    else
      dims.add(at == 0 ? "b" : at == 2 ? "i" : "j", shape[t]);
  }
  d.declare_operand(3, dims.shape);
  return d.element(3, dims.index);
}

/// Where keys or values are read: new ones alone from their operand, otherwise old and new rows
/// from a tensor that has them one behind the other.
std::string joined_rows(Definition& d, const Heads& h, const char* name, size_t old_rows,
                        size_t new_rows, const char* last, int64_t elements) {
  const Dims fresh = key_dims(h, last, elements);
  d.declare_operand(new_rows, fresh.shape);
  if (h.past == 0)
    return fresh.of(fmt::format("X{}", new_rows));
  Dims old = outer_dims(h), all = outer_dims(h), later = outer_dims(h);
  old.add("j", h.past).add(last, elements);
  all.add("j", h.all_keys()).add(last, elements);
  later.add(fmt::format("j + {}", h.past).c_str(), h.all_keys()).add(last, elements);
  d.declare_operand(old_rows, old.shape);
  d.temp(name, name_in_program(d.type(new_rows)), all.shape);
  const auto part = [&](const std::string& to, int64_t count, const std::string& from) {
    std::string text, margin;
    Dims loops = outer_dims(h);
    loops.add("j", count).add(last, elements);
    std::vector<std::string> names = h.is_joined || h.batch == 1
                                         ? std::vector<std::string>{"n", "j", last}
                                         : std::vector<std::string>{"b", "n", "j", last};
    for (size_t t = 0; t < names.size(); ++t, margin += "    ")
      text += fmt::format("{}for {} in range({}):\n", margin, names[t], loops.shape[t]);
    d.add_line(text + margin + to + " = " + from + "\n");
  };
  part(all.of(name), h.past, old.of(fmt::format("X{}", old_rows)));
  part(later.of(name), h.keys, fresh.of(fmt::format("X{}", new_rows)));
  return all.of(name);
}

/// Which keys a query sees: not the later ones where that is asked for, and none behind the rows
/// that are in use.
std::string seen(Definition& d, const Heads& h) {
  const bool is_causal = d.integer("is_causal", 0) != 0;
  const char* i = h.queries == 1 ? "0" : "i";
  if (!d.has(6)) {
    const bool sees_all = !is_causal || h.past + 1 >= h.all_keys();
    return sees_all ? "" : fmt::format("j <= {} + {}", i, h.past);
  }
  const std::string used = d.element(6, h.batch == 1 ? "0" : "b");
  if (!is_causal)
    return fmt::format("j < {}", used);
  return h.past > 0 ? fmt::format("j < {} and j <= {} + {}", used, i, h.past)
                    : fmt::format("j <= {} + {} - {}", i, used, h.queries);
}

/// Scores, from the product to what softmax reads: S. The fourth output may be any of the steps.
void scores(Definition& d, const Heads& h, const std::string& key) {
  const Dims dims = score_dims(h);
  const double scale = d.real("scale", 1 / std::sqrt(static_cast<double>(h.elements)));
  const double cap = d.real("softcap", 0);
  const int64_t mode = d.integer("qk_matmul_output_mode", 0);
  const std::string s = dims.of("S");
  d.temp("S", wide_type(d.type(0)), dims.shape);
  std::string value = fmt::format("sum(k, {} * {}) * {}", query_dims(h, "k", h.elements).of("X0"),
                                  key, literal(scale));
  const auto show = [&](int64_t step) {
    if (!d.wants(3) || mode != step)
      return;
    d.line("{} = {}", s, value);
    d.line("{} = {}", dims.of("Y3"), Definition::stored(d.type(0), s));
    value = s;
  };
  show(0);
  if (cap != 0) {
    d.line("{} = {}", s, value);
    value = fmt::format("{0} * tanh({1} / {0})", literal(cap), s);
  }
  show(1);
  if (d.has(3)) {
    const std::string mask = mask_element(d, h);
    value = d.type(3) == DataType::Bool ? fmt::format("select({}, {}, (-inf))", mask, value)
                                        : fmt::format("{} + {}", value, mask);
  }
  if (const std::string condition = seen(d, h); !condition.empty())
    value = fmt::format("select({}, {}, (-inf))", condition, value);
  show(2);
  if (value != s)
    d.line("{} = {}", s, value);
}

void declare_attention(Definition& d, const Heads& h) {
  d.output(d.type(0), h.is_flat ? Shape{h.batch, h.queries, h.query_heads() * h.values}
                                : Shape{h.batch, h.query_heads(), h.queries, h.values});
  if (d.outputs_wanted() > 1)
    d.output(d.type(1), {h.batch, h.heads, h.all_keys(), h.elements});
  if (d.outputs_wanted() > 2)
    d.output(d.type(2), {h.batch, h.heads, h.all_keys(), h.values});
  if (d.outputs_wanted() > 3)
    d.output(d.type(0), {h.batch, h.query_heads(), h.queries, h.all_keys()});
  d.declare_operand(0, query_dims(h, "k", h.elements).shape);
  d.declare_output(0, query_dims(h, "v", h.values).shape);
  if (d.outputs_wanted() > 3)
    d.declare_output(3, score_dims(h).shape);
}

/// The new cache: all keys or values, as they are read.
void keep_rows(Definition& d, const Heads& h, size_t output, const char* last, int64_t elements,
               const std::string& from) {
  if (!d.wants(output))
    return;
  const Dims dims = outer_dims(h).add("j", h.all_keys()).add(last, elements);
  d.declare_output(output, dims.shape);
  d.line("{} = {}", dims.of(fmt::format("Y{}", output)), from);
}

/// A quotient by the sum of weights. Passes of Kawara make ZeroingAttention, where the weights of a
/// query that is shown no key, and are no numbers, count as zeros.
std::string by_sum(Definition& d, const std::string& value, const std::string& sum) {
  return d.node().op == "ZeroingAttention"
             ? fmt::format("select({1} == {1}, {0} / {1}, 0)", value, sum)
             : fmt::format("{} / {}", value, sum);
}

/// Types of 16 bits: weights are rounded to them before they are multiplied with the values, as
/// tensor cores want it, and divided by their sum afterwards.
void short_sums(Definition& d, const Heads& h, const std::string& row) {
  const Dims rows = row_dims(h), dims = score_dims(h);
  Dims sums = row_dims(h);
  sums.add("v", h.values);
  for (const char* name : {"M", "T"})
    d.temp(name, "f32", rows.shape);
  d.temp("E", "f32", dims.shape);
  d.temp("P", name_in_program(d.type(0)), dims.shape);
  d.temp("A", "f32", sums.shape);
  d.line("{} = max(j, {})", rows.of("M"), dims.of("S"));
  d.line("{} = exp({} - {})", dims.of("E"), dims.of("S"), rows.of("M"));
  d.line("{} = {}", dims.of("P"), dims.of("E"));
  d.line("{} = sum(j, {})", rows.of("T"), dims.of("E"));
  d.line("{} = sum(j, {} * {})", sums.of("A"), dims.of("P"), row);
  d.line("{} = {}", query_dims(h, "v", h.values).of("Y0"), by_sum(d, sums.of("A"), rows.of("T")));
}

/// Softmax is computed in f64 for f64, in f32 for all others: at least what attribute
/// softmax_precision asks for, unless that is more.
bool softmax_is_precise(Definition& d) {
  constexpr int64_t f32 = 1, f16 = 10, f64 = 11, bf16 = 16;
  const int64_t asked = d.integer("softmax_precision", f32);
  const bool is_known =
      asked == f32 || asked == f16 || asked == bf16 || (asked == f64 && d.type(0) == DataType::F64);
  if (!is_known)
    d.refuse(fmt::format("softmax_precision is {}, and softmax of {} is computed in {}", asked,
                         graph::name_of(d.type(0)), wide_type(d.type(0))));
  return is_known;
}

/// As the standard has it since its versions 23 and 24 were corrected: the cap before the mask, and
/// with earlier keys a causal query sees them all.
void attention(Definition& d) {
  const auto h = heads_of(d);
  if (!h || !softmax_is_precise(d))
    return;
  if (const int64_t mode = d.integer("qk_matmul_output_mode", 0); mode < 0 || mode > 3)
    return d.refuse("qk_matmul_output_mode is 0, 1, 2 or 3");
  declare_attention(d, *h);
  const std::string key = joined_rows(d, *h, "K", 4, 1, "k", h->elements);
  const std::string row = joined_rows(d, *h, "V", 5, 2, "v", h->values);
  keep_rows(d, *h, 1, "k", h->elements, key);
  keep_rows(d, *h, 2, "v", h->values, row);
  scores(d, *h, key);
  const bool shows_weights = d.wants(3) && d.integer("qk_matmul_output_mode", 0) == 3;
  const bool is_short = d.type(0) == DataType::BF16 || d.type(0) == DataType::F16;
  if (is_short && !shows_weights)
    return short_sums(d, *h, row);
  const std::string type = wide_type(d.type(0));
  const Dims rows = row_dims(*h), dims = score_dims(*h);
  for (const char* name : {"M", "T"})
    d.temp(name, type, rows.shape);
  for (const char* name : {"E", "P"})
    d.temp(name, type, dims.shape);
  d.line("{} = max(j, {})", rows.of("M"), dims.of("S"));
  d.line("{} = exp({} - {})", dims.of("E"), dims.of("S"), rows.of("M"));
  d.line("{} = sum(j, {})", rows.of("T"), dims.of("E"));
  d.line("{} = {}", dims.of("P"), by_sum(d, dims.of("E"), rows.of("T")));
  if (shows_weights)
    d.line("{} = {}", dims.of("Y3"), Definition::stored(d.type(0), dims.of("P")));
  d.line("{} = sum(j, {} * {})", query_dims(*h, "v", h->values).of("Y0"), dims.of("P"), row);
}

/// Pairs of elements are transposed by an angle that grows with the position.
void rotary_embedding(Definition& d) {
  if (!d.need(0) || !d.need(1) || !d.need(2))
    return;
  if (d.has(3))
    return d.decline(); // positions are looked up
  const Shape& x = d.shape(0);
  const bool is_flat = x.size() == 3;
  const int64_t named = d.integer("num_heads", 0);
  const int64_t heads = is_flat ? named : x.size() == 4 && (named == 0 || named == x[1]) ? x[1] : 0;
  if (heads <= 0 || (is_flat && x[2] % heads != 0))
    return d.refuse("it needs [batch, heads, rows, elements], or three dimensions and num_heads");
  const int64_t elements = is_flat ? x[2] / heads : x[3], rows = is_flat ? x[1] : x[2];
  const int64_t asked = d.integer("rotary_embedding_dim", 0);
  const int64_t transposed = asked == 0 ? elements : asked, half = transposed / 2;
  const Shape table{x[0], rows, half};
  if (transposed > elements || transposed % 2 != 0 || d.shape(1) != table || d.shape(2) != table)
    return d.refuse(fmt::format("both tables must be {}", graph::text_of(table)));
  d.output(d.type(0), x);
  const Shape shape =
      is_flat ? Shape{x[0], rows, heads, elements} : Shape{x[0], heads, rows, elements};
  d.declare_operand(0, shape);
  d.declare_output(0, shape);
  const bool alternates = d.integer("interleaved", 0) != 0;
  const auto element = [&](const char* tensor, const std::string& last) {
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
  loops(half, fmt::format("{} = {} * X1[b, i, k] - {} * X2[b, i, k]", element("Y0", one),
                          element("X0", one), element("X0", two)));
  loops(half, fmt::format("{} = {} * X2[b, i, k] + {} * X1[b, i, k]", element("Y0", two),
                          element("X0", one), element("X0", two)));
  const std::string rest = fmt::format("k + {}", transposed);
  loops(elements - transposed, element("Y0", rest) + " = " + element("X0", rest));
}

constexpr Operator kAll[] = {{"Attention", attention},
                             {"RotaryEmbedding", rotary_embedding},
                             {"ZeroingAttention", attention}};

} // namespace of_attention
} // namespace

std::span<const Operator> attention_operators() { return of_attention::kAll; }

} // namespace kawara::program::operators
