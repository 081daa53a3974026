#include "graph/onnx/export.h"

#include "graph/errors.h"
#include "graph/onnx/tensor_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

namespace kawara::graph {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr int64_t kMostBytes = std::numeric_limits<int>::max();
/// Elements of an external file begin at multiples of this, so that they can be mapped.
constexpr int64_t kExternalAlignment = 4096;

/// A file beside the model that takes elements; counts only when it has no stream.
struct ExternalFile {
  std::string name;
  int64_t least_bytes = 0;
  std::ofstream stream;
  int64_t size = 0;

  bool takes(const Tensor& tensor) const { return !name.empty() && tensor.bytes() >= least_bytes; }
  int64_t write(const Tensor& tensor) {
    const int64_t offset =
        (size + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
    const std::string gap(static_cast<size_t>(offset - size), '\0');
    stream.write(gap.data(), static_cast<std::streamsize>(gap.size()));
    stream.write(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    size = offset + tensor.bytes();
    return offset;
  }
};

class GraphWriter {
public:
  /// `outer` writes the graph around, null for a model: captured values go by the names they have
  /// there, and no value of this graph gets a name that a graph around has.
  GraphWriter(const Graph& graph, ExternalFile& external, const GraphWriter* outer)
      : graph_(graph), external_(external) {
    if (outer)
      taken_ = outer->taken_;
    names_.resize(graph.values.size());
    for (const Capture& capture : graph.captures)
      names_[capture.inner] = outer->names_[capture.outer];
    std::set<std::string> own;
    for (const Value& value : graph.values)
      own.insert(value.name);
    for (size_t id = 0; id < names_.size(); ++id) {
      if (!names_[id].empty())
        continue;
      names_[id] = graph.values[id].name;
      for (int k = 1; taken_.count(names_[id]) || (k > 1 && own.count(names_[id])); ++k)
        names_[id] = fmt::format("{}_{}", graph.values[id].name, k);
      taken_.insert(names_[id]);
    }
  }

  void write(GraphProto& proto) {
    proto.set_name(graph_.name.empty() ? "graph" : graph_.name);
    for (const ValueId id : graph_.inputs)
      write_value(id, *proto.add_input());
    for (const auto& [id, tensor] : graph_.initializers) {
      TensorProto& into = *proto.add_initializer();
      into.set_name(names_[id]);
      write_elements(tensor, into, external_.takes(tensor));
    }
    for (const Node& node : graph_.nodes)
      write_node(node, *proto.add_node());
    for (const ValueId id : graph_.outputs)
      write_value(id, *proto.add_output());
  }

private:
  void write_value(ValueId id, ::onnx::ValueInfoProto& proto) const {
    const Value& value = graph_.values[id];
    proto.set_name(names_[id]);
    // Nothing is known of it: an empty type is refused by others, where they infer one that is left
    // out.
    if (value.type.kind == ValueType::Kind::Tensor && !value.type.elem && !value.type.shape)
      return;
    switch (value.type.kind) {
    case ValueType::Kind::Tensor:
      return write_tensor_type(value.type, *proto.mutable_type()->mutable_tensor_type());
    case ValueType::Kind::Sequence:
      return write_tensor_type(value.type, *proto.mutable_type()
                                                ->mutable_sequence_type()
                                                ->mutable_elem_type()
                                                ->mutable_tensor_type());
    case ValueType::Kind::Optional:
      return write_tensor_type(value.type, *proto.mutable_type()
                                                ->mutable_optional_type()
                                                ->mutable_elem_type()
                                                ->mutable_tensor_type());
    }
  }

  static void write_tensor_type(const ValueType& type, ::onnx::TypeProto::Tensor& proto) {
    if (type.elem)
      proto.set_elem_type(onnx_number_of(*type.elem));
    if (!type.shape)
      return;
    proto.mutable_shape();
    for (const Dim& dim : *type.shape) {
      auto& into = *proto.mutable_shape()->add_dim();
      if (dim.size)
        into.set_dim_value(*dim.size);
      else if (!dim.symbol.empty())
        into.set_dim_param(dim.symbol);
    }
  }

  void write_elements(const Tensor& tensor, TensorProto& proto, bool is_external) {
    proto.set_data_type(onnx_number_of(tensor.type()));
    for (const int64_t extent : tensor.shape())
      proto.add_dims(extent);
    if (!is_external) {
      proto.set_raw_data(tensor.data(), static_cast<size_t>(tensor.bytes()));
      return;
    }
    const int64_t offset = external_.write(tensor);
    proto.set_data_location(TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, std::string value) {
      auto& into = *proto.add_external_data();
      into.set_key(key);
      into.set_value(std::move(value));
    };
    entry("location", external_.name);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(tensor.bytes()));
  }

  std::string name_of_value(ValueId id) const { return id == kAbsent ? std::string() : names_[id]; }

  void write_node(const Node& node, NodeProto& proto) {
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    if (!node.domain.empty())
      proto.set_domain(node.domain);
    for (const ValueId id : node.inputs)
      proto.add_input(name_of_value(id));
    for (const ValueId id : node.outputs)
      proto.add_output(name_of_value(id));
    for (const auto& [name, value] : node.attributes)
      write_attribute(name, value, *proto.add_attribute());
  }

  void write_attribute(const std::string& name, const Attribute& value, AttributeProto& proto) {
    proto.set_name(name);
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      proto.set_type(AttributeProto::INT);
      proto.set_i(*integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      proto.set_type(AttributeProto::FLOAT);
      proto.set_f(static_cast<float>(*real));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      proto.set_type(AttributeProto::STRING);
      proto.set_s(*text);
    } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
      proto.set_type(AttributeProto::TENSOR);
      write_elements(*tensor, *proto.mutable_t(), false);
    } else if (const auto* inner = std::get_if<GraphPtr>(&value)) {
      proto.set_type(AttributeProto::GRAPH);
      GraphWriter(**inner, external_, this).write(*proto.mutable_g());
    } else {
      write_list(value, proto);
    }
  }

  void write_list(const Attribute& value, AttributeProto& proto) {
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
      proto.set_type(AttributeProto::INTS);
      proto.mutable_ints()->Add(integers->begin(), integers->end());
    } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
      proto.set_type(AttributeProto::FLOATS);
      for (const double real : *reals)
        proto.add_floats(static_cast<float>(real));
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      proto.set_type(AttributeProto::STRINGS);
      for (const std::string& text : *texts)
        proto.add_strings(text);
    } else {
      proto.set_type(AttributeProto::TENSORS);
      for (const Tensor& tensor : std::get<std::vector<Tensor>>(value))
        write_elements(tensor, *proto.add_tensors(), false);
    }
  }

  const Graph& graph_;
  ExternalFile& external_;
  std::vector<std::string> names_;
  std::set<std::string> taken_; ///< names of this graph and those around
};

/// Bytes of elements that will lie in the model's own file, before any of them is copied.
int64_t inner_bytes(const Graph& graph, const ExternalFile& external) {
  int64_t bytes = 0;
  for (const auto& [id, tensor] : graph.initializers)
    bytes += external.takes(tensor) ? 0 : tensor.bytes();
  return bytes;
}

Diagnostic too_large_for_a_file(const Graph& graph, int64_t bytes) {
  return model_error("K0560", "the graph `" + graph.name + "` does not fit into one ONNX file",
                     fmt::format("It has {:.1f} GB of tensors; such a file holds 2 GiB.",
                                 static_cast<double>(bytes) * 1e-9),
                     "keep the weights in a file beside the model");
}

Diagnostic not_written(const std::string& path) {
  return model_error("K0425", "cannot write `" + path + "`",
                     "The file cannot be created, or the disk is full.", "choose another place");
}

/// The version of the format that came with a version of the operators.
int64_t format_of(const Graph& graph) {
  constexpr std::pair<int64_t, int64_t> kFormats[] = {{24, 12}, {23, 11}, {21, 10}, {19, 9}};
  const auto own = graph.opsets.find("");
  for (const auto& [opset, format] : kFormats)
    if (own != graph.opsets.end() && own->second >= opset)
      return format;
  return 8;
}

Result<ModelProto, Diagnostic> model_of(const Graph& graph, ExternalFile& external) {
  if (const int64_t bytes = inner_bytes(graph, external); bytes > kMostBytes)
    return fail(too_large_for_a_file(graph, bytes));
  ModelProto model;
  model.set_ir_version(format_of(graph));
  model.set_producer_name("kawara");
  for (const auto& [domain, version] : graph.opsets) {
    auto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  GraphWriter(graph, external, nullptr).write(*model.mutable_graph());
  if (const auto bytes = static_cast<int64_t>(model.ByteSizeLong()); bytes > kMostBytes)
    return fail(too_large_for_a_file(graph, bytes));
  return model;
}

} // namespace

Result<std::string, Diagnostic> onnx_from_graph(const Graph& graph) {
  ExternalFile none;
  KAWARA_TRY(const ModelProto model, model_of(graph, none));
  return model.SerializeAsString();
}

Result<Done, Diagnostic> write_onnx(const Graph& graph, const std::string& path,
                                    const ExportOptions& options) {
  ExternalFile external;
  external.name = options.external_file;
  external.least_bytes = options.external_bytes;
  const std::string beside =
      (std::filesystem::path(path).parent_path() / options.external_file).string();
  if (!options.external_file.empty())
    external.stream.open(beside, std::ios::binary | std::ios::trunc);
  if (!external.stream)
    return fail(not_written(beside));
  KAWARA_TRY(const ModelProto model, model_of(graph, external));
  if (!external.stream.flush())
    return fail(not_written(beside));
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file || !model.SerializeToOstream(&file) || !file.flush())
    return fail(not_written(path));
  return Done{};
}

} // namespace kawara::graph
