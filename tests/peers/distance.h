#pragma once

#include "peers/maker.h"

#include <functional>
#include <string>
#include <vector>

namespace kawara::peers {

/// How far each element of each output may be from what is expected, beside a few roundings of its
/// own; empty: no further.
using Spread = std::vector<std::vector<double>>;

/// An element of an output that is not what it should be.
struct ElementDifference {
  size_t output = 0;
  int64_t element = 0;
};

/// Elements that differ, but for `kRoundings` units in the last place of the expected element and
/// its spread. NaN is NaN, an infinity is itself, integers are exact but for their spread. `form`
/// gets what is wrong with types and shapes. `part` of all that is allowed.
std::vector<ElementDifference> differences(const std::vector<Datum>& got,
                                           const std::vector<Datum>& expected, const Spread& spread,
                                           std::string& form, double part = 1);

/// The nodes of a graph in ONNX Runtime, each in a session of its own: what comes between them can
/// be seen, and moved.
class NodeChain {
public:
  /// Nothing where a node alone is refused.
  static std::unique_ptr<NodeChain> open(const Graph&, const Peer&);

  /// All values of the graph.
  std::vector<Datum> run(const std::vector<Datum>& inputs) const;
  /// How far the outputs move when everything that is rounded on the way is rounded a little
  /// otherwise: results of functions by two units in their last place, terms of sums by one.
  Spread spread(const std::vector<Datum>& inputs) const;

private:
  using Noise = std::function<void(Tensor&, double units)>;
  std::vector<Datum> run(const std::vector<Datum>& inputs, const Noise& noise) const;

  explicit NodeChain(const Graph& graph) : graph_(graph) {}
  Graph graph_;
  std::vector<std::unique_ptr<PeerSession>> sessions_;
};

/// Which operands of a node are inputs of its session, in order, each once; the others are
/// constants.
std::vector<ValueId> session_inputs(const Graph&, const graph::Node&);

/// A unit in the last place at a number, of a float type.
double unit_at(DataType, double);

} // namespace kawara::peers
