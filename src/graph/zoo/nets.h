#pragma once

#include "graph/zoo/net.h"

namespace kawara::graph::zoo {

/// Sizes that are settled.
struct Sizes {
  int64_t batch = 1, sequence = 128, past = 128;
  bool has_symbolic_past = false;
};

// One net per file; each adds inputs, layers and outputs.
void add_resnet50(Net&, const Sizes&);
void add_mobilenet_v2(Net&, const Sizes&);
void add_vgg16(Net&, const Sizes&);
void add_alexnet(Net&, const Sizes&);
void add_bert_base(Net&, const Sizes&);
void add_gpt2_prefill(Net&, const Sizes&);
void add_gpt2_decode(Net&, const Sizes&);
void add_one_attention(Net&, const Sizes&);
void add_channels_last(Net&, const Sizes&);

} // namespace kawara::graph::zoo
