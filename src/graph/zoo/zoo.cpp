#include "graph/zoo/zoo.h"

#include "graph/errors.h"
#include "graph/zoo/nets.h"
#include "support/text.h"

#include <fmt/format.h>

#include <array>

namespace kawara::graph::zoo {
namespace {

struct Recipe {
  const char *name, *what;
  void (*add)(Net&, const Sizes&);
  bool has_sequence = false, has_past = false;
  int64_t most_tokens = 1024; ///< of a sequence
};

constexpr std::array kRecipes{
    Recipe{"resnet50", "images 224 x 224 to 1000 classes", add_resnet50},
    Recipe{"mobilenet-v2", "images 224 x 224 to 1000 classes, small", add_mobilenet_v2},
    Recipe{"vgg16", "images 224 x 224 to 1000 classes, large", add_vgg16},
    Recipe{"alexnet", "images 227 x 227 to 1000 classes", add_alexnet},
    Recipe{"bert-base", "tokens to vectors, both directions", add_bert_base, true, false, 4096},
    Recipe{"gpt2-prefill", "tokens to logits and a cache", add_gpt2_prefill, true},
    Recipe{"gpt2-decode", "one token and a cache to logits", add_gpt2_decode, false, true},
    Recipe{"one-attention", "one layer of attention, for lessons", add_one_attention, true, false,
           4096},
    Recipe{"channels-last", "convolutions between transpositions, for lessons", add_channels_last}};

Diagnostic no_such_net(const std::string& name) {
  std::vector<std::string> known;
  for (const Recipe& recipe : kRecipes)
    known.emplace_back(recipe.name);
  Diagnostic d = model_error("K0561", "no net of the zoo is called `" + printable(name) + "`",
                             "The nets are " + join(known, ", ") + ".", "");
  if (const auto meant = closest(name, known))
    d.help.push_back({"did you mean", *meant, false});
  return d;
}

/// Takes over a choice; false when the net has no such size, or it is out of range.
bool settle(const std::optional<int64_t>& choice, bool has_it, int64_t least, int64_t most,
            int64_t& into) {
  if (!choice)
    return true;
  into = *choice;
  return has_it && *choice >= least && *choice <= most;
}

Diagnostic bad_choice(const Recipe& recipe, const std::string& size, int64_t value, bool has_it,
                      int64_t least, int64_t most) {
  return model_error(
      "K0562", fmt::format("`{}` cannot have {} = {}", recipe.name, size, value),
      has_it ? fmt::format("It must be {} to {}.", least, most) : "This net has no such size.", "");
}

Result<Sizes, Diagnostic> sizes_of(const Recipe& recipe, const Choices& choices) {
  constexpr int64_t most_images = 1024, most_past = 1023;
  Sizes sizes;
  if (!settle(choices.batch, true, 1, most_images, sizes.batch))
    return fail(bad_choice(recipe, "batch", sizes.batch, true, 1, most_images));
  if (!settle(choices.sequence, recipe.has_sequence, 1, recipe.most_tokens, sizes.sequence))
    return fail(
        bad_choice(recipe, "seq", sizes.sequence, recipe.has_sequence, 1, recipe.most_tokens));
  if (!settle(choices.past, recipe.has_past, 0, most_past, sizes.past))
    return fail(bad_choice(recipe, "past", sizes.past, recipe.has_past, 0, most_past));
  sizes.has_symbolic_past = !choices.past;
  return sizes;
}

} // namespace

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (const Recipe& recipe : kRecipes) {
    Net net(recipe.name, false);
    recipe.add(net, {});
    all.push_back({recipe.name, recipe.what, net.parameters(), net.flops()});
  }
  return all;
}

Result<Graph, Diagnostic> make(const std::string& name, const Choices& choices) {
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name != name)
      continue;
    KAWARA_TRY(const Sizes sizes, sizes_of(recipe, choices));
    Net net(recipe.name, choices.has_elements);
    recipe.add(net, sizes);
    return net.take();
  }
  return fail(no_such_net(name));
}

} // namespace kawara::graph::zoo
