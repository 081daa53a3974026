#pragma once

#include "graph/graph.h"
#include "support/diagnostic.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kawara::program::operators {

using graph::DataType;
using graph::Shape;
using graph::Tensor;

/// What is known of an operator's input when its meaning is asked for.
struct Operand {
  bool is_present = true;
  DataType type = DataType::F32;
  Shape shape;
  const Tensor* value = nullptr; ///< when the elements are known already
  bool is_weight = false;        ///< keeps its elements from call to call
};

struct Output {
  DataType type = DataType::F32;
  Shape shape;
};

/// What an operator means for operands of given types and shapes. An operator's rule asks this
/// object about the node and its operands, and tells it the outputs and one of
///
///   a program      lines of `.kw` text over X0, X1, ... (operands) and Y0, Y1, ... (outputs);
///                  tensors may be declared with another shape of equally many elements, which is
///                  how neighbouring dimensions are merged
///   a view         the first output is the elements of an operand under another shape
///   constants      the outputs' elements, known now
///
/// A case that none of these fits may be left to a function (`decline`).
/// The first refusal or request for a value sticks; what a rule says after that does not matter, so
/// rules need not stop at once, only stay within their data.
class Definition {
public:
  Definition(const graph::Node& node, int64_t opset, std::vector<Operand> operands)
      : node_(node), opset_(opset), operands_(std::move(operands)) {}

  // The node.
  const graph::Node& node() const { return node_; }
  int64_t opset() const { return opset_; }
  size_t outputs_wanted() const { return node_.outputs.size(); }
  bool wants(size_t output) const;
  bool has_attribute(const std::string& name) { return attribute(name) != nullptr; }
  /// The attribute as it is written; null where it is left out.
  const graph::Attribute* attribute(const std::string& name);
  int64_t integer(const std::string& name, int64_t otherwise);
  double real(const std::string& name, double otherwise);
  /// Of an attribute that has ONNX's number of an element type.
  std::optional<DataType> data_type(const std::string& name, DataType otherwise);
  std::string word(const std::string& name, const std::string& otherwise);
  /// The same for an attribute that names one of a few ways; refuses others.
  std::string word_of(const std::string& name, const std::string& otherwise,
                      const std::vector<std::string>& known);
  std::optional<std::vector<int64_t>> integers(const std::string& name);
  std::vector<double> reals(const std::string& name);
  std::vector<std::string> words(const std::string& name);
  /// For an attribute that has no influence in the case at hand.
  void needs_no(const std::string& name) { attribute(name); }

  // The operands. A missing one has type f32 and no dimensions.
  size_t operands() const { return operands_.size(); }
  bool has(size_t k) const { return k < operands_.size() && operands_[k].is_present; }
  DataType type(size_t k) const;
  const Shape& shape(size_t k) const;
  int64_t rank(size_t k) const { return static_cast<int64_t>(shape(k).size()); }
  const Operand& operand(size_t k) const { return operands_[k]; }
  /// The elements of an operand that the meaning depends on; asks for them when they are not known
  /// yet.
  const Tensor* value(size_t k);
  std::vector<int64_t> values(size_t k); ///< the same as integers; empty until known
  /// `axis` counted from the front; refuses one outside -rank..rank-1.
  int64_t axis_of(int64_t axis, int64_t rank);
  /// Refuses unless operand `k` is there.
  bool need(size_t k);

  // The answer.
  void refuse(std::string why); ///< a sentence about shapes, types or attributes
  /// Leaves this case to the run-time function of the same name.
  void decline() { is_declined_ = true; }
  bool is_settled() const { return refusal_.has_value() || wanted_.has_value() || is_declined_; }
  void output(DataType type, Shape shape);
  template <class... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
    add_line(fmt::format(format, std::forward<Args>(args)...));
  }
  void add_line(std::string text);
  /// Declares operand k (X<k>) or output k (Y<k>) with another shape of equally many elements.
  void declare_operand(size_t k, Shape shape);
  void declare_output(size_t k, Shape shape);
  void temp(const std::string& name, const std::string& type, const Shape& shape);
  void view(size_t operand) { view_ = operand; }
  void constant(Tensor value) { constants_.push_back(std::move(value)); }

  /// A value of this type as one whose order is that of programs: u64 is held in elements of i64,
  /// and adding 2^63 turns its order into theirs. The same again gives the value back.
  static std::string ordered(DataType type, const std::string& value);
  /// Value of element `index` of operand k ("X0[i, j]"), unsigned types widened.
  std::string element(size_t k, const std::string& index) const;
  /// Expression that converts a value for a store to a tensor of this type.
  static std::string stored(DataType type, const std::string& value);
  /// The same for a float and a type of at most 16 bits: what is out of range becomes the nearest
  /// number, NaN the lowest.
  static std::string saturated(DataType type, const std::string& value);

  // For whoever asked.
  /// Attributes that the rule has looked at, whether the node has them or not. What a node has
  /// beyond them did not go into the answer (graph/attributes.h).
  const std::set<std::string>& reads() const { return reads_; }
  const std::optional<std::string>& refusal() const { return refusal_; }
  std::optional<size_t> wanted() const { return wanted_; }
  bool is_declined() const { return is_declined_; }
  const std::vector<Output>& results() const { return results_; }
  std::optional<size_t> view() const { return view_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  bool is_program() const { return !lines_.empty(); }
  /// The whole program. Operands that no line mentions are not declared.
  std::string text() const;
  /// Which operands the program declares, in ascending order.
  std::vector<size_t> used_operands() const;

private:
  template <class T> std::optional<T> attribute_as(const std::string& name, const char* kind);
  bool mentions(const std::string& name) const;

  const graph::Node& node_;
  int64_t opset_;
  std::vector<Operand> operands_;
  std::vector<Output> results_;
  std::map<size_t, Shape> operand_shapes_, output_shapes_;
  std::vector<std::string> lines_, temps_;
  std::optional<size_t> view_, wanted_;
  std::vector<Tensor> constants_;
  std::optional<std::string> refusal_;
  std::set<std::string> reads_;
  bool is_declined_ = false;
};

/// "a, b, c": index names for so many dimensions, `prefix` and a number each.
std::string indices(const std::string& prefix, size_t count);
/// "X0[i, j]"; only the name when the index is empty.
std::string at(const std::string& name, const std::string& index);
/// Whether the operand's integers are known, and all of them zero.
bool is_known_zero(const Definition&, size_t operand);
std::string name_in_program(DataType); ///< of the elements that hold it
/// A literal that reads back as the same number: "0.5", "(-inf)".
std::string literal(double value);
int64_t product(const Shape& shape, size_t begin, size_t end);
inline int64_t product(const Shape& shape) { return product(shape, 0, shape.size()); }

} // namespace kawara::program::operators
