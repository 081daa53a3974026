#include "graph/zoo/nets.h"

#include <cmath>

namespace kawara::graph::zoo {
namespace {

constexpr int64_t kGptLayers = 12, kGptHidden = 768, kGptHeads = 12, kGptInner = 3072;
constexpr int64_t kGptWords = 50257, kGptPlaces = 1024, kHeadSize = kGptHidden / kGptHeads;

/// What all layers of a GPT-2 share.
struct Gpt {
  Net& net;
  const Sizes& sizes;
  bool is_decoding = false;
  Piece root, mask, half, one, cubic, factor, three; ///< of attention and GELU

  int64_t tokens() const { return is_decoding ? 1 : sizes.sequence; }
};

Piece gpt_heads(Gpt& gpt, const std::string& name, const Piece& x) {
  const Shape shape{gpt.sizes.batch, gpt.tokens(), kGptHeads, kHeadSize};
  return gpt.net.transpose(name + ".transposed", gpt.net.reshape(name + ".heads", x, shape),
                           {0, 2, 1, 3});
}

/// The keys or values of this run, after those of the cache when there is one; an output too.
Piece with_cache(Gpt& gpt, const std::string& kind, int64_t layer, const Piece& fresh) {
  const std::string number = std::to_string(layer);
  if (!gpt.is_decoding) {
    const Piece present = gpt.net.same("Identity", "present_" + kind + "_" + number, {fresh});
    gpt.net.output(present);
    return fresh;
  }
  const Shape shape{gpt.sizes.batch, kGptHeads, gpt.sizes.past, kHeadSize};
  const std::string name = "past_" + kind + "_" + number;
  const Piece past = gpt.sizes.has_symbolic_past
                         ? gpt.net.symbolic_input(name, DataType::F32, shape, 2, "past")
                         : gpt.net.input(name, DataType::F32, shape);
  Shape longer = shape;
  ++longer[2];
  const Piece present = gpt.net.other("Concat", "present_" + kind + "_" + number, {past, fresh},
                                      longer, {{"axis", int64_t{2}}});
  if (gpt.sizes.has_symbolic_past)
    gpt.net.symbolic_output(present, 2, "past_and_one");
  else
    gpt.net.output(present);
  return present;
}

Piece causal_attention(Gpt& gpt, const std::string& name, int64_t layer, const Piece& x) {
  Net& net = gpt.net;
  const Piece q = gpt_heads(gpt, name + ".q", net.linear(name + ".query", x, kGptHidden));
  const Piece k = with_cache(gpt, "key", layer,
                             gpt_heads(gpt, name + ".k", net.linear(name + ".key", x, kGptHidden)));
  const Piece v = with_cache(
      gpt, "value", layer, gpt_heads(gpt, name + ".v", net.linear(name + ".value", x, kGptHidden)));
  Piece scores =
      net.matmul(name + ".scores", q, net.transpose(name + ".k.columns", k, {0, 1, 3, 2}));
  scores = net.same("Div", name + ".scaled", {scores, gpt.root});
  if (!gpt.is_decoding)
    scores = net.same("Add", name + ".masked", {scores, gpt.mask});
  scores = net.same("Softmax", name + ".softmax", {scores}, {{"axis", int64_t{-1}}});
  const Piece mixed = net.transpose(name + ".mixed.transposed",
                                    net.matmul(name + ".mixed", scores, v), {0, 2, 1, 3});
  return net.linear(name + ".output", net.reshape(name + ".joined", mixed, x.shape), kGptHidden,
                    0.3);
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), in the operators that exporters write.
Piece gelu_by_tanh(Gpt& gpt, const std::string& name, const Piece& x) {
  Net& net = gpt.net;
  const Piece cube = net.same("Pow", name + ".cube", {x, gpt.three});
  const Piece bent =
      net.same("Add", name + ".bent", {x, net.same("Mul", name + ".small", {cube, gpt.cubic})});
  const Piece tanh =
      net.same("Tanh", name + ".tanh", {net.same("Mul", name + ".scaled", {bent, gpt.factor})});
  const Piece raised = net.same("Add", name + ".raised", {tanh, gpt.one});
  return net.same("Mul", name + ".product",
                  {net.same("Mul", name + ".half", {x, gpt.half}), raised});
}

Piece decoder_layer(Gpt& gpt, int64_t layer, const Piece& x) {
  Net& net = gpt.net;
  const std::string name = "layer" + std::to_string(layer);
  const Piece attended = causal_attention(gpt, name + ".attention", layer,
                                          net.layer_norm(name + ".attention.norm", x));
  const Piece y = net.same("Add", name + ".attention.sum", {attended, x});
  const Piece wide =
      gelu_by_tanh(gpt, name + ".gelu",
                   net.linear(name + ".wide", net.layer_norm(name + ".norm", y), kGptInner));
  return net.same("Add", name + ".sum", {net.linear(name + ".narrow", wide, kGptHidden, 0.5), y});
}

/// 0 on and below the diagonal, a large negative number above.
Tensor causal_mask(int64_t tokens) {
  Tensor mask(DataType::F32, {1, 1, tokens, tokens});
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t j = i + 1; j < tokens; ++j)
      mask.as<float>()[i * tokens + j] = -1e4F;
  return mask;
}

void add_gpt2(Net& net, const Sizes& sizes, bool is_decoding) {
  Gpt gpt{net, sizes, is_decoding, {}, {}, {}, {}, {}, {}, {}};
  const int64_t tokens = gpt.tokens();
  const Shape each{sizes.batch, tokens}, embedded{sizes.batch, tokens, kGptHidden};
  const Piece ids = net.input("input_ids", DataType::I64, each);
  gpt.root = {net.scalar("head_root", std::sqrt(static_cast<double>(kHeadSize))), {}};
  gpt.half = {net.scalar("half", 0.5), {}};
  gpt.one = {net.scalar("one", 1), {}};
  gpt.three = {net.scalar("three", 3), {}};
  gpt.cubic = {net.scalar("cubic", 0.044715), {}};
  gpt.factor = {net.scalar("root_two_over_pi", std::sqrt(2 / 3.14159265358979323846)), {}};
  const Piece words{net.weight("word_embeddings", {kGptWords, kGptHidden}, 0.04), {}};
  const Piece places{net.weight("position_embeddings", {kGptPlaces, kGptHidden}, 0.02), {}};
  Piece position;
  if (is_decoding) {
    position = net.input("position_ids", DataType::I64, each);
  } else {
    std::vector<int64_t> count;
    for (int64_t k = 0; k < tokens; ++k)
      count.push_back(k);
    position = {net.integers("positions", count), {}};
    gpt.mask = {net.constant("causal_mask", causal_mask(tokens)), {}};
  }
  Piece x = net.other("Gather", "words", {words, ids}, embedded);
  x = net.same("Add", "embeddings",
               {x, net.other("Gather", "places", {places, position}, embedded)});
  for (int64_t k = 0; k < kGptLayers; ++k)
    x = decoder_layer(gpt, k, x);
  x = net.reshape("last_rows", net.layer_norm("last_norm", x), {sizes.batch * tokens, kGptHidden});
  // The words' own vectors once more.
  const Piece rows = net.tied_gemm("logit_rows", x, {words.id, {kGptWords, kGptHidden}});
  net.output(net.reshape("logits", rows, {sizes.batch, tokens, kGptWords}));
}

} // namespace

void add_gpt2_prefill(Net& net, const Sizes& sizes) { add_gpt2(net, sizes, false); }
void add_gpt2_decode(Net& net, const Sizes& sizes) { add_gpt2(net, sizes, true); }

} // namespace kawara::graph::zoo
