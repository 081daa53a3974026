#include "program/operators/registry.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {
namespace of_recurrent {

/// What LSTM, GRU and RNN have in common. Dimensions: `t` steps, `b` sequences, `k` inputs, `h` cells.
struct Cells {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
  bool is_batch_first = false, is_reverse = false;
  std::vector<std::string> activations;
};

/// The activation as a formula of {0}.
std::optional<std::string> activation(const std::string& name, const std::string& x) {
  static const std::pair<const char*, const char*> kKnown[] = {
      {"Sigmoid", "sigmoid({0})"},
      {"Tanh", "tanh({0})"},
      {"Relu", "max({0}, 0)"},
      {"HardSigmoid", "max(0, min(1, ({0}) * 0.2 + 0.5))"},
      {"Softsign", "(({0}) / (1 + abs({0})))"},
      {"Softplus", "log(1 + exp({0}))"}};
  for (const auto& [known, formula] : kKnown)
    if (name == known)
      return fmt::format(fmt::runtime(formula), x);
  return std::nullopt;
}

std::optional<Cells> cells_of(Definition& d, int64_t gates, std::vector<std::string> usual) {
  for (const size_t k : {size_t{0}, size_t{1}, size_t{2}})
    if (!d.need(k))
      return std::nullopt;
  Cells c;
  c.gates = gates;
  c.is_batch_first = d.integer("layout", 0) != 0;
  const std::string direction = d.word("direction", "forward");
  c.is_reverse = direction == "reverse";
  c.directions = direction == "bidirectional" ? 2 : 1;
  const Shape &x = d.shape(0), &w = d.shape(1), &r = d.shape(2);
  const bool fits = x.size() == 3 && w.size() == 3 && r.size() == 3 && w[0] == c.directions &&
                    r[0] == c.directions && w[1] == r[1] && r[1] == gates * r[2] && w[2] == x[2];
  if (!fits) {
    d.refuse(fmt::format("{} gates with weights {} and {} do not fit the sequences {}", gates,
                         graph::text_of(w), graph::text_of(r), graph::text_of(x)));
    return std::nullopt;
  }
  c.steps = x[c.is_batch_first ? 1 : 0];
  c.batch = x[c.is_batch_first ? 0 : 1];
  c.inputs = x[2];
  c.hidden = r[2];
  if (d.has(3) && d.shape(3) != Shape{c.directions, 2 * gates * c.hidden})
    d.refuse("the bias has the shape " + graph::text_of(d.shape(3)));
  if (d.has(4) && product(d.shape(4)) != c.batch)
    d.refuse("there must be one length per sequence");
  if (d.has(4) && (c.is_reverse || c.directions == 2)) {
    for (const int64_t length : d.values(4))
      if (length != c.steps)
        d.refuse("sequences of different lengths can only be read forwards");
  }
  if (d.has_attribute("clip") || d.integer("input_forget", 0) != 0)
    d.refuse("the attributes clip and input_forget are not known");
  const auto at_names = d.node().attributes.find("activations");
  for (int64_t k = 0; k < c.directions; ++k)
    c.activations.insert(c.activations.end(), usual.begin(), usual.end());
  if (at_names != d.node().attributes.end())
    if (const auto* names = std::get_if<std::vector<std::string>>(&at_names->second))
      if (names->size() == c.activations.size())
        c.activations = *names;
  for (const std::string& name : c.activations)
    if (!activation(name, "x"))
      d.refuse("activation `" + name + "` is not known");
  if (d.is_settled())
    return std::nullopt;
  return c;
}

/// Text of one direction, with names that end in its number.
class Direction {
public:
  Direction(Definition& d, const Cells& c, int64_t number) : d_(d), c_(c), n_(number) {}

  bool is_backward() const { return c_.is_reverse || n_ == 1; }
  std::string name(const char* base) const { return base + std::to_string(n_); }
  /// Name of the activation for gate function k.
  std::string apply(size_t k, const std::string& x) const {
    const size_t each = c_.activations.size() / static_cast<size_t>(c_.directions);
    return *activation(c_.activations[static_cast<size_t>(n_) * each + k], x);
  }
  std::string type() const { return d_.type(0) == DataType::F64 ? "f64" : "f32"; }

  /// State `base`[0, b, h] from input k, or zero; one slot per step and one more.
  void add_state(const char* base, size_t k) {
    d_.temp(name(base), type(), {c_.steps + 1, c_.batch, c_.hidden});
    const std::string index =
        c_.is_batch_first ? fmt::format("b, {}, h", n_) : fmt::format("{}, b, h", n_);
    const std::string start = d_.has(k) ? fmt::format("X{}[{}]", k, index) : "0";
    d_.add_line(fmt::format("for b in range({}):\n  for h in range({}):\n    {}[0, b, h] = {}\n",
                            c_.batch, c_.hidden, name(base), start));
  }

  /// Z[t, b, j]: what the inputs give to every gate, for all steps at once.
  void add_inputs() {
    const int64_t width = c_.gates * c_.hidden;
    d_.temp(name("Z"), type(), {c_.steps, c_.batch, width});
    const std::string at = is_backward() ? fmt::format("{} - t", c_.steps - 1) : "t";
    d_.line("{}[t, b, j] = sum(k in range({}), X0[{}, k] * X1[{}, j, k])", name("Z"), c_.inputs,
            c_.is_batch_first ? "b, " + at : at + ", b", n_);
  }

  /// Bias of the inputs (part 0) or of the state (part 1) for index `j`.
  std::string bias(int64_t part, const std::string& j) const {
    return d_.has(3) ? fmt::format("X3[{}, {} + {}]", n_, part * c_.gates * c_.hidden, j) : "0";
  }

  /// `value` once a sequence has ended: what it was.
  std::string while_running(const char* base, const std::string& value) const {
    if (!d_.has(4) || is_backward())
      return value;
    return fmt::format("select(t < X4[b], {}, {}[t, b, h])", value, name(base));
  }

  /// Y0[t, n, b, h] and the final states.
  void add_results(bool has_cell_state) {
    const std::string at = is_backward() ? fmt::format("{} - t", c_.steps - 1) : "t";
    if (d_.wants(0)) {
      const std::string index = c_.is_batch_first ? fmt::format("b, {}, {}, h", at, n_)
                                                  : fmt::format("{}, {}, b, h", at, n_);
      std::string value = fmt::format("{}[t + 1, b, h]", name("H"));
      if (d_.has(4) && !is_backward())
        value = fmt::format("select(t < X4[b], {}, 0)", value);
      d_.add_line(
          fmt::format("for t in range({}):\n  for b in range({}):\n    for h in range({}):\n"
                      "      Y0[{}] = {}\n",
                      c_.steps, c_.batch, c_.hidden, index, value));
    }
    const char* states[] = {"H", "C"};
    for (size_t k = 1; k <= (has_cell_state ? 2u : 1u); ++k)
      if (d_.wants(k))
        d_.add_line(fmt::format(
            "for b in range({}):\n  for h in range({}):\n    Y{}[{}] = {}[{}, b, h]\n", c_.batch,
            c_.hidden, k,
            c_.is_batch_first ? fmt::format("b, {}, h", n_) : fmt::format("{}, b, h", n_),
            name(states[k - 1]), c_.steps));
  }

private:
  Definition& d_;
  const Cells& c_;
  int64_t n_;
};

void declare_results(Definition& d, const Cells& c, size_t count) {
  const Shape all = c.is_batch_first ? Shape{c.batch, c.steps, c.directions, c.hidden}
                                     : Shape{c.steps, c.directions, c.batch, c.hidden};
  const Shape last = c.is_batch_first ? Shape{c.batch, c.directions, c.hidden}
                                      : Shape{c.directions, c.batch, c.hidden};
  for (size_t k = 0; k < count && k < std::max<size_t>(d.outputs_wanted(), 1); ++k)
    d.output(d.type(0), k == 0 ? all : last);
  if (d.has(4))
    d.declare_operand(4, {c.batch});
}

void lstm(Definition& d) {
  const auto c = cells_of(d, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (!c)
    return;
  const int64_t n = c->hidden;
  if (d.has(7) && d.shape(7) != Shape{c->directions, 3 * n})
    return d.refuse("the peepholes have the shape " + graph::text_of(d.shape(7)));
  declare_results(d, *c, 3);
  for (int64_t k = 0; k < c->directions; ++k) {
    Direction dir(d, *c, k);
    dir.add_state("H", 5);
    dir.add_state("C", 6);
    dir.add_inputs();
    d.temp(dir.name("G"), dir.type(), {c->steps, c->batch, 4 * n});
    const std::string G = dir.name("G"), H = dir.name("H"), C = dir.name("C");
    const auto gate = [&](int64_t which, int64_t peephole, const char* state) {
      std::string value = fmt::format("{}[t, b, {} + h]", G, which * n);
      if (d.has(7) && peephole >= 0)
        value += fmt::format(" + X7[{}, {} + h] * {}[{}, b, h]", k, peephole * n, C, state);
      return value;
    };
    const std::string cell =
        fmt::format("{} * {}[t, b, h] + {} * {}", dir.apply(0, gate(2, 2, "t")), C,
                    dir.apply(0, gate(0, 0, "t")), dir.apply(1, gate(3, -1, "")));
    const std::string out = fmt::format("{} * {}", dir.apply(0, gate(1, 1, "t + 1")),
                                        dir.apply(2, C + "[t + 1, b, h]"));
    d.add_line(fmt::format(
        "for t in range({0}):\n  for b in range({1}):\n    for j in range({2}):\n"
        "      {3}[t, b, j] = {4}[t, b, j] + {5} + {6}\n"
        "      for k in range({7}):\n        {3}[t, b, j] += {8}[t, b, k] * X2[{9}, j, k]\n"
        "    for h in range({7}):\n      {10}[t + 1, b, h] = {11}\n      {8}[t + 1, b, h] = {12}\n",
        c->steps, c->batch, 4 * n, G, dir.name("Z"), dir.bias(0, "j"), dir.bias(1, "j"), n, H, k, C,
        dir.while_running("C", cell), dir.while_running("H", out)));
    dir.add_results(true);
  }
}

/// Gates in the order update (z), reset (r), new (h).
void gru(Definition& d) {
  const auto c = cells_of(d, 3, {"Sigmoid", "Tanh"});
  if (!c)
    return;
  const int64_t n = c->hidden;
  const bool is_reset_late = d.integer("linear_before_reset", 0) != 0;
  declare_results(d, *c, 2);
  for (int64_t k = 0; k < c->directions; ++k) {
    Direction dir(d, *c, k);
    dir.add_state("H", 5);
    dir.add_inputs();
    const std::string G = dir.name("G"), H = dir.name("H"), N = dir.name("N"), Z = dir.name("Z");
    d.temp(G, dir.type(), {c->steps, c->batch, 2 * n});
    d.temp(N, dir.type(), {c->steps, c->batch, n});
    const std::string update = dir.apply(0, G + "[t, b, h]");
    const std::string reset =
        dir.apply(0, fmt::format("{}[t, b, {} + {}]", G, n, is_reset_late ? "h" : "k"));
    // What the state gives to the new value: reset before the product, or after it.
    const std::string term =
        is_reset_late ? fmt::format("{}[t, b, k] * X2[{}, {} + h, k]", H, k, 2 * n)
                      : fmt::format("{} * {}[t, b, k] * X2[{}, {} + h, k]", reset, H, k, 2 * n);
    const std::string offset = fmt::format("{} + h", 2 * n);
    const std::string fresh = is_reset_late ? fmt::format("{}[t, b, {}] + {} + {} * {}[t, b, h]", Z,
                                                          offset, dir.bias(0, offset), reset, N)
                                            : fmt::format("{}[t, b, {}] + {} + {}[t, b, h]", Z,
                                                          offset, dir.bias(0, offset), N);
    const std::string out =
        fmt::format("(1 - {0}) * {1} + {0} * {2}[t, b, h]", update, dir.apply(1, fresh), H);
    d.add_line(fmt::format(
        "for t in range({0}):\n  for b in range({1}):\n    for j in range({2}):\n"
        "      {3}[t, b, j] = {4}[t, b, j] + {5} + {6}\n"
        "      for k in range({7}):\n        {3}[t, b, j] += {8}[t, b, k] * X2[{9}, j, k]\n"
        "    for h in range({7}):\n      {10}[t, b, h] = {11}\n"
        "      for k in range({7}):\n        {10}[t, b, h] += {12}\n"
        "    for h in range({7}):\n      {8}[t + 1, b, h] = {13}\n",
        c->steps, c->batch, 2 * n, G, Z, dir.bias(0, "j"), dir.bias(1, "j"), n, H, k, N,
        dir.bias(1, offset), term, dir.while_running("H", out)));
    dir.add_results(false);
  }
}

void rnn(Definition& d) {
  const auto c = cells_of(d, 1, {"Tanh"});
  if (!c)
    return;
  declare_results(d, *c, 2);
  for (int64_t k = 0; k < c->directions; ++k) {
    Direction dir(d, *c, k);
    dir.add_state("H", 5);
    dir.add_inputs();
    const std::string G = dir.name("G"), H = dir.name("H");
    d.temp(G, dir.type(), {c->steps, c->batch, c->hidden});
    d.add_line(fmt::format(
        "for t in range({0}):\n  for b in range({1}):\n    for j in range({2}):\n"
        "      {3}[t, b, j] = {4}[t, b, j] + {5} + {6}\n"
        "      for k in range({2}):\n        {3}[t, b, j] += {7}[t, b, k] * X2[{8}, j, k]\n"
        "    for h in range({2}):\n      {7}[t + 1, b, h] = {9}\n",
        c->steps, c->batch, c->hidden, G, dir.name("Z"), dir.bias(0, "j"), dir.bias(1, "j"), H, k,
        dir.while_running("H", dir.apply(0, G + "[t, b, h]"))));
    dir.add_results(false);
  }
}

constexpr Operator kAll[] = {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}};

} // namespace of_recurrent
} // namespace

std::span<const Operator> recurrent_operators() { return of_recurrent::kAll; }

} // namespace kawara::program::operators
