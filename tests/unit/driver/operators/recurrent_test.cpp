#include "unit/driver/one_node.h"

#include <functional>

namespace kawara::driver::one_node {
namespace {

using Function = std::function<double(double)>;

/// An RNN, GRU or LSTM written down plainly, one sequence after the other.
struct Net {
  std::string op, direction = "forward";
  int64_t steps = 5, batch = 3, inputs = 4, hidden = 2;
  std::vector<int64_t> lengths = {}; ///< empty: all whole
  std::vector<Function> functions;   ///< of one direction, the same for both
  std::optional<double> clip = {};
  bool is_coupled = false, is_reset_late = false, has_peepholes = false, is_batch_first = false;

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

struct Weights {
  Tensor x, w, r, b, h, c, p;
};

Weights weights_of(const Net& n) {
  const int64_t d = n.directions(), g = n.gates() * n.hidden;
  return {varied({n.steps, n.batch, n.inputs}, 1),
          varied({d, g, n.inputs}, 2),
          varied({d, g, n.hidden}, 3),
          varied({d, 2 * g}, 4),
          varied({d, n.batch, n.hidden}, 5),
          varied({d, n.batch, n.hidden}, 6),
          varied({d, 3 * n.hidden}, 7)};
}

/// All outputs of one direction for sequence b.
struct Sequence {
  std::vector<std::vector<double>> y;
  std::vector<double> h, c;
};

Sequence sequence_of(const Net& n, const Weights& ws, int64_t d, int64_t b) {
  const int64_t G = n.gates() * n.hidden, H = n.hidden;
  const bool is_backward = n.direction == "reverse" || d == 1;
  const int64_t length = n.lengths.empty() ? n.steps : n.lengths[static_cast<size_t>(b)];
  Sequence s;
  s.y.assign(static_cast<size_t>(n.steps), std::vector<double>(static_cast<size_t>(H), 0.0));
  for (int64_t k = 0; k < H; ++k) {
    s.h.push_back(ws.h.get_double((d * n.batch + b) * H + k));
    s.c.push_back(ws.c.get_double((d * n.batch + b) * H + k));
  }
  const auto clipped = [&](double v) { return n.clip ? std::clamp(v, -*n.clip, *n.clip) : v; };
  const auto bias = [&](int64_t part, int64_t j) {
    return ws.b.get_double((d * 2 + part) * G + j);
  };
  const auto of_input = [&](int64_t t, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < n.inputs; ++k)
      sum += ws.x.get_double((t * n.batch + b) * n.inputs + k) *
             ws.w.get_double((d * G + j) * n.inputs + k);
    return sum;
  };
  const auto of_state = [&](const std::vector<double>& h, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < H; ++k)
      sum += h[static_cast<size_t>(k)] * ws.r.get_double((d * G + j) * H + k);
    return sum;
  };
  for (int64_t step = 0; step < length; ++step) {
    const int64_t t = is_backward ? length - 1 - step : step;
    const auto whole = [&](int64_t j) {
      return of_input(t, j) + of_state(s.h, j) + bias(0, j) + bias(1, j);
    };
    std::vector<double> h = s.h, c = s.c;
    std::vector<double> reset_state = s.h;
    if (n.op == "GRU")
      for (int64_t k = 0; k < H; ++k)
        reset_state[static_cast<size_t>(k)] *= n.functions[0](clipped(whole(H + k)));
    for (int64_t k = 0; k < H; ++k) {
      const auto at = static_cast<size_t>(k);
      if (n.op == "RNN") {
        h[at] = n.functions[0](clipped(whole(k)));
      } else if (n.op == "GRU") {
        const double z = n.functions[0](clipped(whole(k))),
                     r = n.functions[0](clipped(whole(H + k)));
        const int64_t j = 2 * H + k;
        const double fresh =
            n.is_reset_late ? of_input(t, j) + bias(0, j) + r * (of_state(s.h, j) + bias(1, j))
                            : of_input(t, j) + bias(0, j) + of_state(reset_state, j) + bias(1, j);
        h[at] = (1 - z) * n.functions[1](clipped(fresh)) + z * s.h[at];
      } else {
        const auto hole = [&](int64_t which, double state) {
          return n.has_peepholes ? ws.p.get_double((d * 3 + which) * H + k) * state : 0;
        };
        const double i = n.functions[0](clipped(whole(k) + hole(0, s.c[at])));
        const double f =
            n.is_coupled ? 1 - i : n.functions[0](clipped(whole(2 * H + k) + hole(2, s.c[at])));
        c[at] = f * s.c[at] + i * n.functions[1](clipped(whole(3 * H + k)));
        h[at] = n.functions[0](clipped(whole(H + k) + hole(1, c[at]))) * n.functions[2](c[at]);
      }
    }
    s.h = h;
    s.c = c;
    s.y[static_cast<size_t>(t)] = h;
  }
  if (length == 0)
    s.h.assign(s.h.size(), 0), s.c.assign(s.c.size(), 0);
  return s;
}

Tensor with_batch_first(const Tensor& x, bool is_it, size_t axis) {
  if (!is_it)
    return x;
  Shape shape = x.shape();
  const Shape old = shape;
  const int64_t extent = shape[axis];
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  shape.insert(shape.begin(), extent);
  Tensor out(x.type(), shape);
  int64_t outer = 1, inner = 1;
  for (size_t k = 0; k < old.size(); ++k)
    (k < axis ? outer : inner) *= k == axis ? 1 : old[k];
  for (int64_t a = 0; a < outer; ++a)
    for (int64_t e = 0; e < extent; ++e)
      for (int64_t i = 0; i < inner; ++i)
        out.set_double((e * outer + a) * inner + i, x.get_double((a * extent + e) * inner + i));
  return out;
}

/// Runs the node with these attributes and compares all its results.
void expect_net(const Net& n, Attributes attributes) {
  const Weights ws = weights_of(n);
  if (n.direction != "forward")
    attributes["direction"] = n.direction;
  attributes["hidden_size"] = n.hidden;
  if (n.is_batch_first)
    attributes["layout"] = int64_t{1};
  const bool is_lstm = n.op == "LSTM";
  Tensor lengths;
  if (!n.lengths.empty())
    lengths = tensor(DataType::I32, {n.batch}, n.lengths);
  Case c{n.op, attributes};
  c.inputs = {with_batch_first(ws.x, n.is_batch_first, 1), ws.w, ws.r, ws.b, lengths,
              with_batch_first(ws.h, n.is_batch_first, 1)};
  if (is_lstm)
    c.inputs.push_back(with_batch_first(ws.c, n.is_batch_first, 1));
  if (n.has_peepholes)
    c.inputs.push_back(ws.p);
  c.outputs = is_lstm ? 3 : 2;
  const int64_t D = n.directions(), H = n.hidden;
  Tensor y(DataType::F32, {n.steps, D, n.batch, H}), h(DataType::F32, {D, n.batch, H}),
      element(DataType::F32, {D, n.batch, H});
  for (int64_t d = 0; d < D; ++d)
    for (int64_t b = 0; b < n.batch; ++b) {
      const Sequence s = sequence_of(n, ws, d, b);
      for (int64_t k = 0; k < H; ++k) {
        const auto at = static_cast<size_t>(k);
        for (int64_t t = 0; t < n.steps; ++t)
          y.set_double(((t * D + d) * n.batch + b) * H + k, s.y[static_cast<size_t>(t)][at]);
        h.set_double((d * n.batch + b) * H + k, s.h[at]);
        element.set_double((d * n.batch + b) * H + k, s.c[at]);
      }
    }
  const auto got = run(c);
  ASSERT_EQ(got.size(), c.outputs);
  expect_elements(got[0], elements_of(with_batch_first(y, n.is_batch_first, 2)));
  expect_elements(got[1], elements_of(with_batch_first(h, n.is_batch_first, 1)));
  if (is_lstm)
    expect_elements(got[2], elements_of(with_batch_first(element, n.is_batch_first, 1)));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double tangent(double x) { return std::tanh(x); }
using Texts = std::vector<std::string>;
using Reals = std::vector<double>;

TEST(Recurrent, ReadsSequencesOfAnyLengthInEitherDirection) {
  for (const char* direction : {"forward", "reverse", "bidirectional"})
    for (const bool is_batch_first : {false, true}) {
      SCOPED_TRACE(direction);
      const std::vector<int64_t> lengths = {5, 0, 3};
      expect_net({.op = "RNN",
                  .direction = direction,
                  .lengths = lengths,
                  .functions = {tangent},
                  .is_batch_first = is_batch_first},
                 {});
      expect_net({.op = "GRU",
                  .direction = direction,
                  .lengths = lengths,
                  .functions = {sigmoid, tangent},
                  .is_batch_first = is_batch_first},
                 {});
      expect_net({.op = "LSTM",
                  .direction = direction,
                  .lengths = lengths,
                  .functions = {sigmoid, tangent, tangent},
                  .has_peepholes = true,
                  .is_batch_first = is_batch_first},
                 {});
    }
}

TEST(Recurrent, ClipsWhatGatesAreMadeOf) {
  const Attributes clip = {{"clip", 0.4}};
  expect_net({.op = "RNN", .functions = {tangent}, .clip = 0.4}, clip);
  expect_net({.op = "GRU", .functions = {sigmoid, tangent}, .clip = 0.4}, clip);
  Attributes late = clip;
  late["linear_before_reset"] = int64_t{1};
  expect_net({.op = "GRU", .functions = {sigmoid, tangent}, .clip = 0.4, .is_reset_late = true},
             late);
  expect_net(
      {.op = "LSTM", .functions = {sigmoid, tangent, tangent}, .clip = 0.4, .has_peepholes = true},
      clip);
}

TEST(Recurrent, CouplesTheGatesOfAnLstm) {
  expect_net({.op = "LSTM", .functions = {sigmoid, tangent, tangent}, .is_coupled = true},
             {{"input_forget", int64_t{1}}});
}

TEST(Recurrent, HasTheFunctionsOfTheStandard) {
  struct Known {
    const char* name;
    Reals alpha, beta;
    Function function;
  };
  const Known known[] = {
      {"Relu", {}, {}, [](double x) { return std::max(x, 0.0); }},
      {"Tanh", {}, {}, tangent},
      {"Sigmoid", {}, {}, sigmoid},
      {"Affine", {0.3}, {-0.2}, [](double x) { return 0.3 * x - 0.2; }},
      {"LeakyRelu", {}, {}, [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"LeakyRelu", {0.3}, {}, [](double x) { return x < 0 ? 0.3 * x : x; }},
      {"ThresholdedRelu", {0.25}, {}, [](double x) { return x >= 0.25 ? x : 0; }},
      {"ScaledTanh", {0.7}, {1.3}, [](double x) { return 0.7 * std::tanh(1.3 * x); }},
      {"HardSigmoid", {}, {}, [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSigmoid", {0.4}, {0.3}, [](double x) { return std::clamp(0.4 * x + 0.3, 0.0, 1.0); }},
      {"Elu", {0.6}, {}, [](double x) { return x < 0 ? 0.6 * (std::exp(x) - 1) : x; }},
      {"Softsign", {}, {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"Softplus", {}, {}, [](double x) { return std::log(1 + std::exp(x)); }}};
  for (const Known& k : known) {
    SCOPED_TRACE(k.name);
    Attributes attributes = {{"activations", Texts{k.name}}};
    if (!k.alpha.empty())
      attributes["activation_alpha"] = k.alpha;
    if (!k.beta.empty())
      attributes["activation_beta"] = k.beta;
    expect_net({.op = "RNN", .functions = {k.function}}, attributes);
  }
}

/// Of (HardSigmoid, Tanh, LeakyRelu) the second takes no value from the lists.
TEST(Recurrent, GivesParametersToTheFunctionsThatHaveThem) {
  expect_net({.op = "LSTM",
              .functions = {[](double x) { return std::clamp(0.4 * x + 0.3, 0.0, 1.0); }, tangent,
                            [](double x) { return x < 0 ? 0.2 * x : x; }}},
             {{"activations", Texts{"HardSigmoid", "Tanh", "LeakyRelu"}},
              {"activation_alpha", Reals{0.4, 0.2}},
              {"activation_beta", Reals{0.3}}});
}

std::string refused(const Attributes& attributes) {
  const Net n{.op = "RNN", .functions = {tangent}};
  const Weights ws = weights_of(n);
  return refusal({"RNN", attributes, {ws.x, ws.w, ws.r}});
}

TEST(Recurrent, RefusesWhatItCannotUse) {
  EXPECT_NE(refused({{"activations", Texts{"Tanh", "Tanh"}}}).find("there are 2 activations"),
            std::string::npos);
  EXPECT_NE(refused({{"activations", Texts{"Swoosh"}}}).find("`Swoosh` is not known"),
            std::string::npos);
  EXPECT_EQ(refused({{"activation_alpha", Reals{0.5}}}), ""); // Tanh takes none
  EXPECT_NE(refused({{"activations", Texts{"LeakyRelu"}}, {"activation_alpha", Reals{0.5, 0.1}}})
                .find("1 of 2 values are used"),
            std::string::npos);
  EXPECT_NE(refused({{"activations", Texts{"ScaledTanh"}}}).find("needs activation_alpha"),
            std::string::npos);
  EXPECT_NE(refused({{"direction", std::string("sideways")}}).find("known are forward"),
            std::string::npos);
  EXPECT_NE(refused({{"hidden_size", int64_t{7}}}).find("hidden_size is 7"), std::string::npos);
}

} // namespace
} // namespace kawara::driver::one_node
