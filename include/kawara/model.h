#pragma once

#include "kawara/diagnostic.h"
#include "kawara/executable.h"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kawara {

/// An input or output of a model.
struct ModelPort {
  std::string name;
  Element element = Element::Any; ///< Any for types that the language does not have (u16, u32, u64)
  std::vector<int64_t> shape;     ///< -1 where the file leaves the extent open
  std::vector<std::string> symbols; ///< names of open extents, empty for the others
  int64_t count() const;            ///< elements; -1 while an extent is open
};

/// Shapes of inputs, by name.
using Shapes = std::map<std::string, std::vector<int64_t>>;

/// A model from a file: ONNX, or compiled before (`kawara compile`, `Model::save`). Movable. Calls
/// by several threads at once need a model each.
///
///   kawara::Model model = kawara::Model::load("resnet50.kwx");
///   model.run({image}, {classes});
class Model {
public:
  /// By the file's name: `.kwx` is a compiled model, everything else ONNX. Throws Error when it
  /// cannot be read (K0420), is damaged (K0501 to K0505, K0564, K0565) or is for another machine
  /// (K0566).
  static Model load(const std::string& path);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const std::vector<ModelPort>& inputs() const; ///< in the file's order
  const std::vector<ModelPort>& outputs() const;

  /// Gives open extents a size, by symbol, or by the shape of a whole input (the way for extents
  /// without a name), and compiles. Afterwards all shapes are known. `run` does it when it was not
  /// done. A compiled model has no open extents. Throws Error where an extent stays open (K0570),
  /// for symbols (K0569) and shapes (K0571) that the model does not have, an operator (K0510) or
  /// shapes (K0511) that cannot be compiled, and models with subgraphs (K0563).
  void prepare(const Sizes& symbols = {}, const Shapes& shapes = {});

  /// Runs on the caller's memory, in the order of the ports; inputs and outputs must not overlap.
  /// After the first call nothing is allocated, unless the model uses run-time functions (Gather,
  /// TopK, ...). Throws Error when memory is missing (K0401), too short (K0402), of another element
  /// type (K0403) or const but written (K0408), and when shapes inside depend on values that are
  /// others than those compiled for (K0568).
  void run(std::span<const TensorData> inputs, std::span<const TensorData> outputs);
  void run(std::initializer_list<TensorData> inputs, std::initializer_list<TensorData> outputs) {
    run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
  }
  /// The same by name, all inputs and outputs in one map.
  void run(const std::map<std::string, TensorData>& tensors);

  /// Writes the prepared model as a `.kwx` file, which loads in milliseconds.
  void save(const std::string& path);

private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace kawara
