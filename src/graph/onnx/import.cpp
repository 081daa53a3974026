#include "graph/onnx/import.h"

#include "graph/attributes.h"
#include "graph/errors.h"
#include "graph/onnx/scope.h"
#include "graph/onnx/tensor_reader.h"
#include "support/text.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <istream>
#include <limits>
#include <set>

namespace kawara::graph {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;

/// What all graphs of one file share.
struct File {
  std::string name, folder;
  std::map<std::string, int64_t> opsets;
};

bool parse_message(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return false;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
  return message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

/// Bytes of a stream for the decoder.
class StreamBytes : public google::protobuf::io::CopyingInputStream {
public:
  explicit StreamBytes(std::istream& stream) : stream_(stream) {}
  int Read(void* buffer, int size) override {
    stream_.read(static_cast<char*>(buffer), size);
    return stream_.bad() ? -1 : static_cast<int>(stream_.gcount());
  }

private:
  std::istream& stream_;
};

std::string quoted(const std::string& name) { return "`" + printable(name) + "`"; }

ValueType type_of(const ::onnx::TypeProto& proto) {
  ValueType type;
  if (proto.has_sequence_type()) {
    type.kind = ValueType::Kind::Sequence;
  } else if (proto.has_optional_type()) {
    type.kind = ValueType::Kind::Optional;
  } else if (proto.has_tensor_type()) {
    type.elem = data_type_from_onnx(proto.tensor_type().elem_type());
    if (proto.tensor_type().has_shape()) {
      type.shape.emplace();
      for (const auto& dim : proto.tensor_type().shape().dim())
        type.shape->push_back(dim.has_dim_value() && dim.dim_value() >= 0
                                  ? Dim{dim.dim_value(), {}}
                                  : Dim{std::nullopt, dim.dim_param()});
    }
  }
  return type;
}

/// Builds the Graph of one GraphProto; subgraphs by a reader of their own that knows this one.
class GraphReader {
public:
  GraphReader(const File& file, GraphProto& proto, GraphReader* outer)
      : file_(file), proto_(proto), outer_(outer), scope_(proto, outer ? &outer->scope_ : nullptr) {
  }

  Result<Graph, Diagnostic> read() {
    graph_.name = proto_.name();
    graph_.opsets = file_.opsets;
    KAWARA_TRY([[maybe_unused]] const Done constants, read_initializers());
    KAWARA_TRY([[maybe_unused]] const Done inputs, read_inputs());
    KAWARA_TRY(const std::vector<int> order, sorted_nodes());
    for (const int k : order) {
      KAWARA_TRY([[maybe_unused]] const Done done, read_node(*proto_.mutable_node(k), k));
    }
    scope_.enter(proto_.node_size());
    for (const auto& info : proto_.output()) {
      const ValueId id = lookup(info.name());
      if (id == kAbsent)
        return fail(undefined("the graph's outputs", info.name()));
      graph_.values[id].type = type_of(info.type());
      graph_.outputs.push_back(id);
    }
    return std::move(graph_);
  }

private:
  Diagnostic malformed(std::string headline, std::string why) const {
    return model_error("K0502", "the graph in `" + file_.name + "` " + std::move(headline),
                       std::move(why), "export the model again");
  }
  Diagnostic undefined(const std::string& who, const std::string& name) const {
    return malformed("uses a value that nothing makes",
                     fmt::format("{} reads {}, which is no input, no initializer and no node's "
                                 "output.",
                                 who, quoted(name)));
  }
  Diagnostic twice(const std::string& name) const {
    return malformed("defines a value twice", "Two definitions are called " + quoted(name) + ".");
  }

  ValueId define(const std::string& name) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    if (!ids_.emplace(name, id).second)
      return kAbsent;
    graph_.values.push_back({name, {}});
    return id;
  }

  /// What the node being read means by that name, taken over from the graphs around if need be;
  /// kAbsent if there is none.
  ValueId lookup(const std::string& name) {
    if (scope_.is_own(name)) {
      const auto at = ids_.find(name);
      return at == ids_.end() ? kAbsent : at->second;
    }
    if (const auto at = captured_.find(name); at != captured_.end())
      return at->second;
    const ValueId outer = outer_ ? outer_->lookup(name) : kAbsent;
    if (outer == kAbsent)
      return kAbsent;
    const auto inner = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({*taken_.insert(name_of_captured(name)).first, {}});
    graph_.captures.push_back({outer, inner});
    captured_.emplace(name, inner);
    return inner;
  }

  /// Another name where this graph has a value of its own with that one.
  std::string name_of_captured(const std::string& name) const {
    std::string other = name;
    while (scope_.maker(other) || ids_.count(other) || taken_.count(other))
      other += "_outer";
    return other;
  }

  Result<Done, Diagnostic> read_initializers() {
    if (proto_.sparse_initializer_size() > 0)
      return fail(malformed("has sparse initializers", "Kawara knows dense tensors only."));
    for (auto& proto : *proto_.mutable_initializer()) {
      const std::string name = proto.name();
      const ValueId id = define(name);
      if (id == kAbsent)
        return fail(twice(name));
      KAWARA_TRY(Tensor tensor, read_tensor(proto, "initializer " + quoted(name), file_.folder));
      graph_.initializers.emplace(id, std::move(tensor));
    }
    return Done{};
  }

  Result<Done, Diagnostic> read_inputs() {
    for (const auto& info : proto_.input()) {
      // Before version 4 of the format, initializers were inputs too.
      const auto at = ids_.find(info.name());
      if (at != ids_.end() && graph_.initializers.count(at->second))
        continue;
      const ValueId id = define(info.name());
      if (id == kAbsent)
        return fail(twice(info.name()));
      graph_.values[id].type = type_of(info.type());
      graph_.inputs.push_back(id);
    }
    return Done{};
  }

  /// Positions of the nodes so that producers come first; among those ready, in the file's order.
  Result<std::vector<int>, Diagnostic> sorted_nodes() {
    std::vector<std::vector<int>> readers(static_cast<size_t>(proto_.node_size()));
    std::vector<int> waiting(readers.size(), 0);
    for (int k = 0; k < proto_.node_size(); ++k)
      for (const std::string& name : scope_.reads(k))
        if (const auto maker = scope_.maker(name); maker && scope_.is_own(name)) {
          readers[static_cast<size_t>(*maker)].push_back(k);
          ++waiting[static_cast<size_t>(k)];
        }
    std::set<int> ready;
    for (int k = 0; k < proto_.node_size(); ++k)
      if (waiting[static_cast<size_t>(k)] == 0)
        ready.insert(k);
    std::vector<int> order;
    while (!ready.empty()) {
      const int k = *ready.begin();
      ready.erase(ready.begin());
      order.push_back(k);
      for (const int reader : readers[static_cast<size_t>(k)])
        if (--waiting[static_cast<size_t>(reader)] == 0)
          ready.insert(reader);
    }
    for (int k = 0; k < proto_.node_size(); ++k)
      if (waiting[static_cast<size_t>(k)] > 0)
        return fail(malformed("has a cycle",
                              fmt::format("{} needs its own result, perhaps through other nodes.",
                                          name_of_node(proto_.node(k), k))));
    return order;
  }

  static std::string name_of_node(const NodeProto& node, int position) {
    return node.name().empty()
               ? fmt::format("node {} ({})", position, printable(node.op_type()))
               : fmt::format("node {} ({})", quoted(node.name()), printable(node.op_type()));
  }

  Result<Done, Diagnostic> read_node(NodeProto& proto, int position) {
    scope_.enter(position);
    const std::string shown = name_of_node(proto, position);
    Node node;
    node.name = proto.name().empty() ? fmt::format("{}_{}", printable(proto.op_type()), position)
                                     : printable(proto.name());
    node.op = proto.op_type();
    node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
    for (const std::string& name : proto.input()) {
      const ValueId id = name.empty() ? kAbsent : lookup(name);
      if (id == kAbsent && !name.empty())
        return fail(undefined(shown, name));
      node.inputs.push_back(id);
    }
    for (auto& attribute : *proto.mutable_attribute()) {
      KAWARA_TRY([[maybe_unused]] const Done done, read_attribute(attribute, shown, node));
    }
    if (auto problem = refused_attribute(node, file_.opsets.at("")))
      return fail(*std::move(problem));
    for (const std::string& name : proto.output()) {
      const ValueId id = name.empty() ? kAbsent : define(name);
      if (id == kAbsent && !name.empty())
        return fail(twice(name));
      node.outputs.push_back(id);
    }
    graph_.nodes.push_back(std::move(node));
    return Done{};
  }

  Result<Done, Diagnostic> read_attribute(AttributeProto& proto, const std::string& shown,
                                          Node& node) {
    const std::string what = "attribute " + quoted(proto.name()) + " of " + shown;
    Attribute& value = node.attributes[proto.name()];
    switch (proto.type()) {
    case AttributeProto::INT:
      value = proto.i();
      break;
    case AttributeProto::FLOAT:
      value = static_cast<double>(proto.f());
      break;
    case AttributeProto::STRING:
      value = proto.s();
      break;
    case AttributeProto::INTS:
      value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
      break;
    case AttributeProto::FLOATS:
      value = std::vector<double>(proto.floats().begin(), proto.floats().end());
      break;
    case AttributeProto::STRINGS:
      value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case AttributeProto::TENSOR: {
      KAWARA_TRY(Tensor tensor, read_tensor(*proto.mutable_t(), what, file_.folder));
      value = std::move(tensor);
      break;
    }
    case AttributeProto::GRAPH: {
      GraphReader inner(file_, *proto.mutable_g(), this);
      KAWARA_TRY(Graph graph, inner.read());
      value = std::make_shared<const Graph>(std::move(graph));
      break;
    }
    case AttributeProto::TYPE_PROTO: // only says the type of an empty optional or sequence
      node.attributes.erase(proto.name());
      break;
    default:
      return fail(model_error("K0503", what + " has a kind that Kawara does not know",
                              "Its number is " + std::to_string(proto.type()) +
                                  "; known are integers, numbers, texts, tensors, graphs and "
                                  "lists of the first three.",
                              ""));
    }
    return Done{};
  }

  const File& file_;
  GraphProto& proto_;
  GraphReader* outer_;
  Scope scope_;
  Graph graph_;
  std::map<std::string, ValueId> ids_;      ///< what this graph defines
  std::map<std::string, ValueId> captured_; ///< what it reads from further out
  std::set<std::string> taken_;             ///< names of those here
};

Diagnostic not_a_model(const std::string& name, std::string why) {
  return model_error("K0501", "`" + name + "` is no ONNX model", std::move(why),
                     "give a file that an exporter wrote, whole");
}

Diagnostic not_decoded(const std::string& name, size_t bytes) {
  return not_a_model(name, fmt::format("Its {} bytes do not decode: it is cut off, damaged, "
                                       "or of another kind.",
                                       bytes));
}

/// The message is used up.
Result<Graph, Diagnostic> graph_from_message(::onnx::ModelProto& model, const std::string& name,
                                             const std::string& folder) {
  if (!model.has_graph())
    return fail(not_a_model(name, "It decodes, but holds no graph."));
  File file{name, folder, {}};
  for (const auto& opset : model.opset_import())
    file.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  // Before version 3 of the format there was one set of operators.
  if (model.opset_import_size() == 0 && model.ir_version() < 3)
    file.opsets[""] = 1;
  if (file.opsets.count("") == 0)
    return fail(model_error("K0505", "`" + name + "` names no version of the ONNX operators",
                            "What an operator means depends on it.", "export the model again"));
  return GraphReader(file, *model.mutable_graph(), nullptr).read();
}

} // namespace

Result<Graph, Diagnostic> graph_from_onnx(std::string_view bytes, const std::string& name,
                                          const std::string& folder) {
  ::onnx::ModelProto model;
  if (!parse_message(bytes, model))
    return fail(not_decoded(name, bytes.size()));
  return graph_from_message(model, name, folder);
}

Result<Graph, Diagnostic> graph_from_onnx(std::istream& stream, const std::string& name,
                                          const std::string& folder) {
  constexpr int kPiece = 1 << 20;
  ::onnx::ModelProto model;
  StreamBytes bytes(stream);
  bool is_decoded = false;
  {
    google::protobuf::io::CopyingInputStreamAdaptor pieces(&bytes, kPiece);
    google::protobuf::io::CodedInputStream decoder(&pieces);
    decoder.SetTotalBytesLimit(std::numeric_limits<int>::max());
    is_decoded = model.ParseFromCodedStream(&decoder) && decoder.ConsumedEntireMessage();
  }
  if (!is_decoded) {
    stream.clear();
    stream.seekg(0, std::ios::end);
    return fail(
        not_decoded(name, static_cast<size_t>(std::max<std::streamoff>(stream.tellg(), 0))));
  }
  return graph_from_message(model, name, folder);
}

Result<Tensor, Diagnostic> tensor_from_onnx(std::string_view bytes, const std::string& name) {
  ::onnx::TensorProto proto;
  if (!parse_message(bytes, proto))
    return fail(not_a_model(name, "It does not decode as a tensor either."));
  return read_tensor(proto, "`" + name + "`", "");
}

} // namespace kawara::graph
