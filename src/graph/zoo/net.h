#pragma once

#include "graph/builder.h"

namespace kawara::graph::zoo {

/// A value of a net with its shape. A symbolic extent counts as the number that it is estimated
/// with.
struct Piece {
  ValueId id = kAbsent;
  Shape shape;
  int64_t channels() const { return shape[1]; }
};

/// Builds a net layer by layer and counts its weights and operations. Names of layers become names
/// of nodes and weights. Weights are pseudo-random, uniform around 0 and scaled by the number of
/// elements that each result sums up, so that activations keep their size from layer to layer.
class Net {
public:
  /// Without elements, weights have shapes only: the graph cannot be run, but the counts are right.
  Net(const std::string& name, bool has_elements) : builder_(name), has_elements_(has_elements) {}

  Piece input(const std::string& name, DataType type, const Shape& shape);
  /// An input of which one extent is a symbol.
  Piece symbolic_input(const std::string& name, DataType type, const Shape& shape, size_t at,
                       const std::string& symbol);
  void output(const Piece&, DataType type = DataType::F32);
  void symbolic_output(const Piece&, size_t at, const std::string& symbol);

  /// Uniform numbers of standard deviation `deviation`, around `mean`.
  ValueId weight(const std::string& name, const Shape& shape, double deviation, double mean = 0);
  ValueId constant(const std::string& name, Tensor tensor);
  ValueId scalar(const std::string& name, double value);
  ValueId integers(const std::string& name, const std::vector<int64_t>& values);

  // Layers. `gain` scales the weights against what keeps the size of activations.
  struct Window {
    int64_t size = 3, stride = 1, pad = 1;
  };
  Piece conv(const std::string& name, const Piece& x, int64_t channels, Window window,
             int64_t groups = 1, bool has_bias = true, double gain = 1);
  Piece batch_norm(const std::string& name, const Piece& x, double scale = 1);
  Piece max_pool(const std::string& name, const Piece& x, Window window);
  Piece global_average_pool(const std::string& name, const Piece& x);
  Piece flatten(const std::string& name, const Piece& x);
  Piece gemm(const std::string& name, const Piece& x, int64_t features, double gain = 1);
  /// x times the transpose of weights that exist already.
  Piece tied_gemm(const std::string& name, const Piece& x, const Piece& weights);
  Piece layer_norm(const std::string& name, const Piece& x);
  /// x times a matrix of weights, plus a bias, over the last dimension.
  Piece linear(const std::string& name, const Piece& x, int64_t features, double gain = 1);
  Piece matmul(const std::string& name, const Piece& a, const Piece& b);
  Piece reshape(const std::string& name, const Piece& x, const Shape& shape);
  Piece transpose(const std::string& name, const Piece& x, const std::vector<int64_t>& order);
  /// An operator whose result has the shape of its first operand.
  Piece same(const std::string& op, const std::string& name, const std::vector<Piece>& inputs,
             Attributes attributes = {});
  /// Any other operator.
  Piece other(const std::string& op, const std::string& name, const std::vector<Piece>& inputs,
              Shape shape, Attributes attributes = {});

  double flops() const { return flops_; } ///< additions and multiplications of products
  int64_t parameters() const { return parameters_; }
  Graph take() { return builder_.take(); }

private:
  Builder builder_;
  bool has_elements_;
  double flops_ = 0;
  int64_t parameters_ = 0;
  uint64_t weights_ = 0; ///< made so far; seeds the next
};

} // namespace kawara::graph::zoo
