#include "graph/zoo/nets.h"

#include <cmath>

namespace kawara::graph::zoo {
namespace {

constexpr int64_t kLayers = 12, kHidden = 768, kHeads = 12, kInner = 3072, kWords = 30522;

struct Constants {
  Piece head_root, root_two, one, half; ///< of attention and GELU
};

/// [batch, tokens, hidden] as [batch, heads, tokens, hidden / heads], or with the last two
/// exchanged.
Piece split_heads(Net& net, const std::string& name, const Piece& x,
                  const std::vector<int64_t>& order) {
  const Shape shape{x.shape[0], x.shape[1], kHeads, kHidden / kHeads};
  return net.transpose(name + ".transposed", net.reshape(name + ".heads", x, shape), order);
}

Piece self_attention(Net& net, const Constants& c, const std::string& name, const Piece& x,
                     const Piece& mask) {
  const Piece q =
      split_heads(net, name + ".q", net.linear(name + ".query", x, kHidden), {0, 2, 1, 3});
  const Piece k =
      split_heads(net, name + ".k", net.linear(name + ".key", x, kHidden), {0, 2, 3, 1});
  const Piece v =
      split_heads(net, name + ".v", net.linear(name + ".value", x, kHidden), {0, 2, 1, 3});
  Piece scores = net.matmul(name + ".scores", q, k);
  scores = net.same("Div", name + ".scaled", {scores, c.head_root});
  scores = net.same("Add", name + ".masked", {scores, mask});
  scores = net.same("Softmax", name + ".softmax", {scores}, {{"axis", int64_t{-1}}});
  const Piece mixed = net.transpose(name + ".mixed.transposed",
                                    net.matmul(name + ".mixed", scores, v), {0, 2, 1, 3});
  return net.linear(name + ".output", net.reshape(name + ".joined", mixed, x.shape), kHidden);
}

/// x / 2 * (1 + erf(x / sqrt 2)), in the operators that exporters write.
Piece gelu(Net& net, const Constants& c, const std::string& name, const Piece& x) {
  const Piece scaled = net.same("Div", name + ".scaled", {x, c.root_two});
  const Piece erf = net.same("Erf", name + ".erf", {scaled});
  const Piece raised = net.same("Add", name + ".raised", {erf, c.one});
  return net.same("Mul", name + ".half", {net.same("Mul", name + ".product", {x, raised}), c.half});
}

Piece encoder_layer(Net& net, const Constants& c, const std::string& name, const Piece& x,
                    const Piece& mask) {
  const Piece attended = self_attention(net, c, name + ".attention", x, mask);
  const Piece y = net.layer_norm(name + ".attention.norm",
                                 net.same("Add", name + ".attention.sum", {attended, x}));
  const Piece wide = gelu(net, c, name + ".gelu", net.linear(name + ".wide", y, kInner, 1.4));
  const Piece narrow = net.linear(name + ".narrow", wide, kHidden);
  return net.layer_norm(name + ".norm", net.same("Add", name + ".sum", {narrow, y}));
}

/// 0 where the mask is 1, a large negative number where it is 0.
Piece additive_mask(Net& net, const Piece& mask, const Piece& one) {
  const Shape wide{mask.shape[0], 1, 1, mask.shape[1]};
  const Piece cast = net.same("Cast", "mask.cast", {mask}, {{"to", int64_t{1}}});
  const Piece inverted = net.other("Sub", "mask.inverted", {one, cast}, mask.shape);
  const Piece scaled = net.same("Mul", "mask.scaled", {inverted, {net.scalar("lowest", -1e4), {}}});
  return net.reshape("mask.wide", scaled, wide);
}

} // namespace

void add_bert_base(Net& net, const Sizes& sizes) {
  const Shape tokens{sizes.batch, sizes.sequence};
  const Shape embedded{sizes.batch, sizes.sequence, kHidden};
  const Piece ids = net.input("input_ids", DataType::I64, tokens);
  const Piece mask = net.input("attention_mask", DataType::I64, tokens);
  const Piece kinds = net.input("token_type_ids", DataType::I64, tokens);
  const Constants c{{net.scalar("head_root", std::sqrt(static_cast<double>(kHidden / kHeads))), {}},
                    {net.scalar("root_two", std::sqrt(2.0)), {}},
                    {net.scalar("one", 1), {}},
                    {net.scalar("half", 0.5), {}}};
  const Piece words{net.weight("word_embeddings", {kWords, kHidden}, 0.5), {}};
  const Piece types{net.weight("token_type_embeddings", {2, kHidden}, 0.2), {}};
  const Piece places{net.weight("position_embeddings", {1, sizes.sequence, kHidden}, 0.2), {}};
  Piece x = net.other("Gather", "words", {words, ids}, embedded);
  x = net.same("Add", "words_types", {x, net.other("Gather", "types", {types, kinds}, embedded)});
  x = net.layer_norm("embeddings.norm", net.same("Add", "embeddings", {x, places}));
  const Piece additive = additive_mask(net, mask, c.one);
  for (int64_t k = 0; k < kLayers; ++k)
    x = encoder_layer(net, c, "layer" + std::to_string(k), x, additive);
  net.output(x);
  const Piece first = net.other("Gather", "first_token", {x, {net.integers("zero", {0}), {}}},
                                {sizes.batch, 1, kHidden}, {{"axis", int64_t{1}}});
  const Piece pooled = net.linear("pooler", net.flatten("first_flat", first), kHidden);
  net.output(net.same("Tanh", "pooled", {pooled}));
}

} // namespace kawara::graph::zoo
