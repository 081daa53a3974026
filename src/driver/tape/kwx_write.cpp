#include "driver/tape/kwx.h"

#include "driver/tape/kwx_format.h"
#include "emit/unit.h"
#include "graph/onnx/export.h"
#include "run/file.h"
#include "support/byte_stream.h"

#include <cstdio>
#include <fstream>
#include <map>

namespace kawara::driver {
namespace {

/// Pieces of the data, each aligned, in the order of the file.
class DataPieces {
public:
  int64_t add(std::string_view bytes) {
    const int64_t at = size_;
    pieces_.push_back(bytes);
    // Code may read a little past the end of what it is given.
    size_ += (static_cast<int64_t>(bytes.size()) + 2 * kKwxAlignment - 1) / kKwxAlignment *
             kKwxAlignment;
    return at;
  }
  int64_t size() const { return size_; }
  /// Gives each piece and the zeros after it to `f`.
  template <class F> void for_each(F f) const {
    const std::string zeros(2 * kKwxAlignment, '\0');
    for (const std::string_view piece : pieces_) {
      const auto whole = (static_cast<int64_t>(piece.size()) + 2 * kKwxAlignment - 1) /
                         kKwxAlignment * kKwxAlignment;
      f(piece);
      f(std::string_view(zeros).substr(0, static_cast<size_t>(whole) - piece.size()));
    }
  }

private:
  std::vector<std::string_view> pieces_;
  int64_t size_ = 0;
};

class KwxWriter {
public:
  explicit KwxWriter(const Tape& tape) : tape_(tape) {}

  std::string describe() {
    const emit::CodeTarget target = emit::host_code_target();
    out_.text(target.triple);
    out_.text(target.cpu);
    out_.text(target.features);
    out_.text(tape_.name);
    out_.integer(tape_.block_bytes);
    for (const auto* ports : {&tape_.inputs, &tape_.outputs}) {
      out_.integer(static_cast<int64_t>(ports->size()));
      for (const Port& port : *ports) {
        out_.text(port.name);
        type(port.type, port.shape);
      }
    }
    out_.integer(static_cast<int64_t>(tape_.constants.size()));
    const std::vector<bool> is_read = constants_that_are_read();
    for (size_t k = 0; k < tape_.constants.size(); ++k) {
      const Tensor& tensor = tape_.constants[k];
      type(tensor.type(), tensor.shape());
      out_.integer(is_read[k] ? data_.add({reinterpret_cast<const char*>(tensor.data()),
                                           static_cast<size_t>(tensor.bytes())})
                              : kKwxUsedUp);
    }
    codes();
    calls();
    out_.integer(static_cast<int64_t>(tape_.steps.size()));
    for (const TapeStep& each : tape_.steps)
      std::visit([&](const auto& s) { step(s); }, each);
    return out_.bytes();
  }
  const DataPieces& data() const { return data_; }

private:
  /// Packed weights are read no more by the kernels that have packed them.
  std::vector<bool> constants_that_are_read() const {
    std::vector<bool> is_read(tape_.constants.size(), false);
    const auto read = [&](const Slot& slot) {
      if (slot.where == Slot::Where::Constant)
        is_read[static_cast<size_t>(slot.at)] = true;
    };
    for (const TapeStep& step : tape_.steps)
      if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
        const auto& arguments = kernel->code->signature().arguments;
        const bool has_prepared = kernel->params.empty() && !kernel->code->prepared().empty();
        for (size_t k = 0; k < arguments.size(); ++k)
          if (!has_prepared || !arguments[k].is_dead_once_prepared)
            read(kernel->arguments[k]);
      } else if (const auto* call = std::get_if<TapeCall>(&step)) {
        for (const auto& input : call->inputs)
          if (input)
            read(input->slot);
      } else if (const auto* copy = std::get_if<TapeCopy>(&step)) {
        read(copy->from);
      } else {
        read(std::get<TapeGuard>(step).slot);
      }
    return is_read;
  }

  using CodeKey = std::pair<std::string_view, std::vector<int64_t>>;
  static CodeKey key_of(const TapeKernel& kernel) { return {kernel.code->object(), kernel.params}; }
  void type(graph::DataType elem, const Shape& shape) {
    out_.integer(static_cast<int64_t>(elem));
    out_.integers(shape);
  }
  void slot(const Slot& s) {
    out_.integer(static_cast<int64_t>(s.where));
    out_.integer(s.at);
  }
  void tensor(const std::optional<TapeTensor>& t) {
    out_.integer(t ? 1 : 0);
    if (!t)
      return;
    slot(t->slot);
    type(t->type, t->shape);
  }

  void buffers(const std::vector<emit::BufferInfo>& list, const std::vector<int64_t>& params) {
    out_.integer(static_cast<int64_t>(list.size()));
    for (const emit::BufferInfo& info : list) {
      out_.text(info.name);
      out_.integer(static_cast<int64_t>(info.elem));
      out_.integer(static_cast<int64_t>(info.role));
      out_.integer(info.is_constant ? 1 : 0);
      out_.integer(info.is_dead_once_prepared ? 1 : 0);
      out_.integer(emit::bytes_of(info, params).value_or(0) / scalar::bytes_of(info.elem));
    }
  }

  /// The different kernels, with the sizes that they are called with. Those for different constants
  /// share one code.
  void codes() {
    std::vector<const TapeKernel*> different;
    for (const TapeStep& step : tape_.steps)
      if (const auto* kernel = std::get_if<TapeKernel>(&step))
        if (numbers_.emplace(key_of(*kernel), different.size()).second)
          different.push_back(kernel);
    out_.integer(static_cast<int64_t>(different.size()));
    for (const TapeKernel* kernel : different) {
      const emit::Signature& signature = kernel->code->signature();
      out_.text(signature.name);
      out_.integer(signature.has_prepared ? 1 : 0);
      out_.integers(kernel->params);
      buffers(signature.arguments, kernel->params);
      buffers(signature.workspace, kernel->params);
      buffers(signature.scratch, kernel->params);
      out_.text(kernel->code->object());
    }
  }

  /// The nodes of run-time functions, with their attributes, as a graph.
  void calls() {
    graph::Graph graph;
    graph.name = "calls";
    graph.opsets[""] = 1;
    for (const TapeStep& step : tape_.steps)
      if (const auto* call = std::get_if<TapeCall>(&step)) {
        graph::Node node = call->node;
        graph.opsets[""] = call->opset; // that of the model, for all of them
        node.inputs.clear();
        for (graph::ValueId& id : node.outputs) {
          graph.values.push_back({"v" + std::to_string(graph.values.size()), {}});
          id = static_cast<graph::ValueId>(graph.values.size() - 1);
        }
        graph.nodes.push_back(std::move(node));
      }
    const auto bytes = graph::onnx_from_graph(graph);
    out_.text(bytes ? *bytes : std::string());
  }

  void step(const TapeKernel& kernel) {
    out_.integer(0);
    out_.integer(static_cast<int64_t>(numbers_.at(key_of(kernel))));
    for (const Slot& argument : kernel.arguments)
      slot(argument);
    const auto prepared = kernel.code->prepared();
    out_.integer(prepared.empty() ? 0 : 1);
    if (!prepared.empty()) {
      out_.integer(data_.add({reinterpret_cast<const char*>(prepared.data()), prepared.size()}));
      out_.integer(static_cast<int64_t>(prepared.size()));
    }
  }
  void step(const TapeCall& call) {
    out_.integer(1);
    out_.integer(call.opset);
    for (const auto* list : {&call.inputs, &call.outputs}) {
      out_.integer(static_cast<int64_t>(list->size()));
      for (const auto& t : *list)
        tensor(t);
    }
  }
  void step(const TapeCopy& copy) {
    out_.integer(2);
    slot(copy.from);
    slot(copy.to);
    out_.integer(copy.bytes);
  }
  void step(const TapeGuard& guard) {
    out_.integer(3);
    slot(guard.slot);
    out_.text(guard.elements);
    out_.text(guard.value);
  }

  const Tape& tape_;
  ByteWriter out_;
  DataPieces data_;
  std::map<CodeKey, size_t> numbers_;
};

} // namespace

Result<Done, Diagnostic> write_kwx(const Tape& tape, const std::string& path) {
  KwxWriter writer(tape);
  const std::string description = writer.describe();
  KwxHeader header;
  header.description_bytes = static_cast<int64_t>(description.size());
  header.description_sum = kwx_sum(description);
  const int64_t before = static_cast<int64_t>(sizeof header) + header.description_bytes;
  header.data_at = (before + kKwxPage - 1) / kKwxPage * kKwxPage;
  header.data_bytes = writer.data().size();
  KwxSum sum;
  writer.data().for_each([&](std::string_view bytes) { sum.add(bytes); });
  header.data_sum = sum.value();
  header.header_sum =
      kwx_sum({reinterpret_cast<const char*>(&header), offsetof(KwxHeader, header_sum)});

  // Beside the place first: a run in another process may have the old file mapped.
  const std::string beside = path + ".part";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(description.data(), header.description_bytes);
  const std::string zeros(static_cast<size_t>(header.data_at - before), '\0');
  file.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
  writer.data().for_each([&](std::string_view bytes) {
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  });
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
    std::remove(beside.c_str());
    return fail(run::file_error("K0425", "cannot write `" + path + "`",
                                "The file cannot be created, or the disk is full.",
                                "choose another place"));
  }
  return Done{};
}

} // namespace kawara::driver
