#pragma once

#include "graph/graph.h"

namespace kawara::graph {

/// The graph with images [n, y, x, c] instead of [n, c, y, x] between convolutions, pooling and what is computed cell by cell, as
/// GPUs want them: channels are what tensor cores reduce along, and lie next to each other. Where another operator reads such an image,
/// and for results of the graph, it is turned back.
///
/// Convolutions with constant weights become `ChannelsLastConv` (program/operators/channels_last.cpp) with weights [r, s, m, c]. One of few
/// channels (a net's first) first has its image sorted into blocks of a stride's extent (`ChannelsLastBlocks`), whose cells lie next
/// to each other; its window is then one of whole rows of blocks.
///
///   before   X[n, 3, 224, 224] -> Conv 7x7/2 -> Relu -> MaxPool
///   after    X -> ChannelsLastBlocks [n, 115, 115, 16] -> ChannelsLastConv 4x1, 64 channels -> Relu -> ChannelsLastMaxPool
Graph with_channels_last(Graph);

} // namespace kawara::graph
