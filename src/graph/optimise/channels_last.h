#pragma once

#include "graph/graph.h"

namespace kawara::graph {

/// What convolutions and pools become.
enum class ChannelsLastForm : uint8_t {
  Windows, ///< for GPUs: the elements under a window side by side, weights [r, s, m, c]
  Padded,  ///< for processors: a window over a padded image, weights as they were
};

/// The graph with images [n, y, x, c] instead of [n, c, y, x] between convolutions, pooling and
/// what is computed element by element. Where another operator reads such an image, and for results
/// of the graph, it is transposed back.
///
/// GPUs want it so: channels are what tensor cores reduce along, and lie next to each other.
/// Convolutions with constant weights become `ChannelsLastConv`
/// (program/operators/channels_last.cpp). One of few channels (a net's first) first has its image
/// sorted into blocks of a stride's extent (`ChannelsLastBlocks`), whose elements lie next to each
/// other; its window is then one of whole rows of blocks.
///
///   before   X[n, 3, 224, 224] -> Conv 7x7/2 -> Relu -> MaxPool
///   Windows  X -> ChannelsLastBlocks [n, 115, 115, 16] -> ChannelsLastConv 4x1, 64 channels
///            -> Relu -> ChannelsLastMaxPool
///   Padded   X -> ChannelsLastPaddedConv 7x7/2, channels first
///            -> Relu -> ChannelsLastPaddedMaxPool
///
/// Processors compute a vector of filters at once: with channels last neither are images copied
/// into panels for that nor results transposed, and what is read and written for a pixel lies
/// together.
Graph with_channels_last(Graph, ChannelsLastForm = ChannelsLastForm::Windows);

/// Convolutions that would have their channels last, those of at least so many filters, and the
/// images that would have to be transposed for that.
struct ChannelsLastEffect {
  Graph graph;
  int64_t convolutions = 0, transpositions = 0;
};
ChannelsLastEffect try_channels_last(Graph, ChannelsLastForm, int64_t fewest_filters = 16);

} // namespace kawara::graph
