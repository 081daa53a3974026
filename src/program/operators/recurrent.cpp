#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <cctype>

namespace kawara::program::operators {
namespace {
namespace of_recurrent {

/// A function of a gate, as the standard lists them for these operators: {0} is its argument, {1}
/// and {2} are attributes activation_alpha and activation_beta where it has them.
struct Formula {
  std::string_view name; ///< in lower case: files have either
  const char* text;
  int parameters = 0; ///< 1: alpha; 2: beta as well
  std::optional<double> alpha = {}, beta = {};
};

constexpr Formula kFormulas[] = {{"affine", "(({0}) * {1} + {2})", 2, 1.0, 0.0},
                                 {"elu", "select({0} >= 0, {0}, {1} * (exp({0}) - 1))", 1, 1.0},
                                 {"hardsigmoid", "max(0, min(1, ({0}) * {1} + {2}))", 2, 0.2, 0.5},
                                 {"leakyrelu", "select({0} < 0, ({0}) * {1}, {0})", 1, 0.01},
                                 {"relu", "max({0}, 0)"},
                                 {"scaledtanh", "({1} * tanh(({0}) * {2}))", 2},
                                 {"sigmoid", "sigmoid({0})"},
                                 {"softplus", "(max({0}, 0) + log(1 + exp(-abs({0}))))"},
                                 {"softsign", "(({0}) / (1 + abs({0})))"},
                                 {"tanh", "tanh({0})"},
                                 {"thresholdedrelu", "select({0} >= {1}, {0}, 0)", 1, 1.0}};

struct Activation {
  const Formula* formula = nullptr;
  double alpha = 0, beta = 0;

  std::string of(const std::string& x) const {
    return fmt::format(fmt::runtime(formula->text), x, literal(alpha), literal(beta));
  }
};

/// What LSTM, GRU and RNN have in common. Dimensions: `t` steps, `b` sequences, `k` inputs, `h`
/// elements.
struct Elements {
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
  bool is_batch_first = false, is_reverse = false;
  std::optional<double> clip;
  std::vector<Activation> activations;
};

const Formula* formula_named(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Formula& formula : kFormulas)
    if (formula.name == name)
      return &formula;
  return nullptr;
}

/// The functions of all gates, direction by direction. Parameters are taken from their lists in
/// this order, by those functions that have them; where a list ends, the standard's values count.
std::vector<Activation> activations_of(Definition& d, const Elements& c,
                                       const std::vector<std::string>& usual) {
  std::vector<std::string> names = d.words("activations");
  if (!d.has_attribute("activations"))
    for (int64_t k = 0; k < c.directions; ++k)
      names.insert(names.end(), usual.begin(), usual.end());
  const size_t wanted = usual.size() * static_cast<size_t>(c.directions);
  if (names.size() != wanted)
    d.refuse(fmt::format("there are {} activations where {} are needed", names.size(), wanted));
  const std::vector<double> alphas = d.reals("activation_alpha"),
                            betas = d.reals("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> out;
  for (const std::string& name : names) {
    const Formula* formula = formula_named(name);
    if (!formula) {
      d.refuse("activation `" + printable(name) + "` is not known");
      continue;
    }
    const auto parameter = [&](bool has, const std::vector<double>& given, size_t& next,
                               std::optional<double> otherwise) {
      if (!has)
        return 0.0;
      if (next < given.size())
        return given[next++];
      if (!otherwise)
        d.refuse("activation `" + printable(name) + "` needs activation_alpha and activation_beta");
      return otherwise.value_or(0);
    };
    const double alpha = parameter(formula->parameters > 0, alphas, next_alpha, formula->alpha);
    out.push_back(
        {formula, alpha, parameter(formula->parameters > 1, betas, next_beta, formula->beta)});
  }
  // Values that are left over beside functions that took some may be meant for others than these.
  if ((next_alpha > 0 && next_alpha < alphas.size()) || (next_beta > 0 && next_beta < betas.size()))
    d.refuse(
        fmt::format("of activation_alpha {} of {} values are used, of activation_beta {} of {}",
                    next_alpha, alphas.size(), next_beta, betas.size()));
  return out;
}

/// Refuses states, lengths and biases that do not fit.
void check_operands(Definition& d, const Elements& c) {
  const Shape state = c.is_batch_first ? Shape{c.batch, c.directions, c.hidden}
                                       : Shape{c.directions, c.batch, c.hidden};
  if (d.has(3) && d.shape(3) != Shape{c.directions, 2 * c.gates * c.hidden})
    d.refuse("the bias has the shape " + graph::text_of(d.shape(3)));
  if (d.has(4) && d.shape(4) != Shape{c.batch})
    d.refuse("there must be one length per sequence");
  for (const size_t k : {size_t{5}, size_t{6}})
    if (d.has(k) && d.shape(k) != state)
      d.refuse(fmt::format("a first state has the shape {}, not {}", graph::text_of(d.shape(k)),
                           graph::text_of(state)));
  if (const int64_t hidden = d.integer("hidden_size", c.hidden); hidden != c.hidden)
    d.refuse(fmt::format("hidden_size is {}, and the weights are for {}", hidden, c.hidden));
}

std::optional<Elements> elements_of(Definition& d, int64_t gates,
                                    const std::vector<std::string>& usual) {
  for (const size_t k : {size_t{0}, size_t{1}, size_t{2}})
    if (!d.need(k))
      return std::nullopt;
  Elements c;
  c.gates = gates;
  c.is_batch_first = d.integer("layout", 0) != 0;
  const std::string direction =
      d.word_of("direction", "forward", {"forward", "reverse", "bidirectional"});
  c.is_reverse = direction == "reverse";
  c.directions = direction == "bidirectional" ? 2 : 1;
  if (d.has_attribute("clip"))
    c.clip = d.real("clip", 0);
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
  check_operands(d, c);
  c.activations = activations_of(d, c, usual);
  if (d.is_settled())
    return std::nullopt;
  return c;
}

/// Text of one direction, with names that end in its number.
class Direction {
public:
  Direction(Definition& d, const Elements& c, int64_t number) : d_(d), c_(c), n_(number) {}

  bool is_backward() const { return c_.is_reverse || n_ == 1; }
  std::string name(const char* base) const { return base + std::to_string(n_); }
  /// Function k of a gate's value.
  std::string apply(size_t k, const std::string& x) const {
    const size_t each = c_.activations.size() / static_cast<size_t>(c_.directions);
    return c_.activations[static_cast<size_t>(n_) * each + k].of(x);
  }
  /// The same of a value that attribute `clip` bounds: what a gate is made of, but not the state of
  /// an LSTM.
  std::string gate(size_t k, const std::string& x) const {
    return apply(
        k, c_.clip ? fmt::format("max({}, min({}, {}))", literal(-*c_.clip), literal(*c_.clip), x)
                   : x);
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
    const std::string at = place();
    d_.line("{}[t, b, j] = sum(k in range({}), X0[{}, k] * X1[{}, j, k])", name("Z"), c_.inputs,
            c_.is_batch_first ? "b, " + at : at + ", b", n_);
  }

  /// Bias of the inputs (part 0) or of the state (part 1) for index `j`.
  std::string bias(int64_t part, const std::string& j) const {
    return d_.has(3) ? fmt::format("X3[{}, {} + {}]", n_, part * c_.gates * c_.hidden, j) : "0";
  }

  /// Step t in the order of the sequence, of which a backward direction sees the last one first.
  std::string place() const { return is_backward() ? fmt::format("{} - t", c_.steps - 1) : "t"; }

  /// `value` while the sequence has such a step; outside, what it was. Read backward, a shorter
  /// sequence thus begins with its own last step.
  std::string while_running(const char* base, const std::string& value) const {
    if (!d_.has(4))
      return value;
    return fmt::format("select({} < X4[b], {}, {}[t, b, h])", place(), value, name(base));
  }

  /// Y0[t, n, b, h] and the final states.
  void add_results(bool has_element_state) {
    const std::string at = place();
    if (d_.wants(0)) {
      const std::string index = c_.is_batch_first ? fmt::format("b, {}, {}, h", at, n_)
                                                  : fmt::format("{}, {}, b, h", at, n_);
      std::string value = fmt::format("{}[t + 1, b, h]", name("H"));
      if (d_.has(4))
        value = fmt::format("select({} < X4[b], {}, 0)", at, value);
      d_.add_line(
          fmt::format("for t in range({}):\n  for b in range({}):\n    for h in range({}):\n"
                      "      Y0[{}] = {}\n",
                      c_.steps, c_.batch, c_.hidden, index, value));
    }
    // A sequence without steps has no last state: the result is 0.
    const char* states[] = {"H", "C"};
    for (size_t k = 1; k <= (has_element_state ? 2u : 1u); ++k) {
      if (!d_.wants(k))
        continue;
      const std::string last = fmt::format("{}[{}, b, h]", name(states[k - 1]), c_.steps);
      d_.add_line(fmt::format(
          "for b in range({}):\n  for h in range({}):\n    Y{}[{}] = {}\n", c_.batch, c_.hidden, k,
          c_.is_batch_first ? fmt::format("b, {}, h", n_) : fmt::format("{}, b, h", n_),
          d_.has(4) ? fmt::format("select(X4[b] > 0, {}, 0)", last) : last));
    }
  }

private:
  Definition& d_;
  const Elements& c_;
  int64_t n_;
};

void declare_results(Definition& d, const Elements& c, size_t count) {
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
  const auto c = elements_of(d, 4, {"Sigmoid", "Tanh", "Tanh"});
  if (!c)
    return;
  const int64_t n = c->hidden;
  if (d.has(7) && d.shape(7) != Shape{c->directions, 3 * n})
    return d.refuse("the peepholes have the shape " + graph::text_of(d.shape(7)));
  const bool is_coupled = d.integer("input_forget", 0) != 0; // what is not kept is taken
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
    const std::string taken = dir.gate(0, gate(0, 0, "t")),
                      kept = is_coupled ? "(1 - " + taken + ")" : dir.gate(0, gate(2, 2, "t"));
    const std::string element =
        fmt::format("{} * {}[t, b, h] + {} * {}", kept, C, taken, dir.gate(1, gate(3, -1, "")));
    const std::string out =
        fmt::format("{} * {}", dir.gate(0, gate(1, 1, "t + 1")), dir.apply(2, C + "[t + 1, b, h]"));
    d.add_line(fmt::format(
        "for t in range({0}):\n  for b in range({1}):\n    for j in range({2}):\n"
        "      {3}[t, b, j] = {4}[t, b, j] + {5} + {6}\n"
        "      for k in range({7}):\n        {3}[t, b, j] += {8}[t, b, k] * X2[{9}, j, k]\n"
        "    for h in range({7}):\n      {10}[t + 1, b, h] = {11}\n      {8}[t + 1, b, h] = {12}\n",
        c->steps, c->batch, 4 * n, G, dir.name("Z"), dir.bias(0, "j"), dir.bias(1, "j"), n, H, k, C,
        dir.while_running("C", element), dir.while_running("H", out)));
    dir.add_results(true);
  }
}

/// Gates in the order update (z), reset (r), new (h).
void gru(Definition& d) {
  const auto c = elements_of(d, 3, {"Sigmoid", "Tanh"});
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
    const std::string update = dir.gate(0, G + "[t, b, h]");
    const std::string reset =
        dir.gate(0, fmt::format("{}[t, b, {} + {}]", G, n, is_reset_late ? "h" : "k"));
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
        fmt::format("(1 - {0}) * {1} + {0} * {2}[t, b, h]", update, dir.gate(1, fresh), H);
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
  const auto c = elements_of(d, 1, {"Tanh"});
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
        dir.while_running("H", dir.gate(0, G + "[t, b, h]"))));
    dir.add_results(false);
  }
}

constexpr Operator kAll[] = {{"GRU", gru}, {"LSTM", lstm}, {"RNN", rnn}};

} // namespace of_recurrent
} // namespace

std::span<const Operator> recurrent_operators() { return of_recurrent::kAll; }

} // namespace kawara::program::operators
