#include <kawara/model.h>

#include "api/state.h"
#include "driver/model/model.h"
#include "driver/tape/kwx.h"
#include "run/cpu/threads.h"
#include "support/text.h"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace kawara {
namespace {

Element public_type(graph::DataType type) {
  constexpr Element all[] = {Element::F64, Element::F32, Element::F16, Element::BF16, Element::I64,
                             Element::I32, Element::I16, Element::I8,  Element::U8,   Element::Bool,
                             Element::U16, Element::U32, Element::U64};
  return all[static_cast<size_t>(type)];
}

ModelPort declared_port(const graph::Value& value) {
  ModelPort port;
  port.name = value.name;
  port.element = value.type.elem ? public_type(*value.type.elem) : Element::Any;
  if (value.type.shape)
    for (const graph::Dim& dim : *value.type.shape) {
      port.shape.push_back(dim.size.value_or(-1));
      port.symbols.push_back(dim.size ? "" : dim.symbol);
    }
  return port;
}

std::vector<ModelPort> fixed_ports(const std::vector<driver::Port>& ports) {
  std::vector<ModelPort> out;
  for (const driver::Port& port : ports)
    out.push_back({port.name, public_type(port.type), port.shape,
                   std::vector<std::string>(port.shape.size())});
  return out;
}

[[noreturn]] void refuse(const char* code, std::string headline, std::string why) {
  Diagnostic d;
  d.code = code;
  d.headline = std::move(headline);
  d.body.push_back(std::move(why));
  api::raise({d});
}

void check_memory(const ModelPort& port, const TensorData& given, bool is_written) {
  if (given.data() == nullptr && port.count() > 0)
    refuse("K0401", "no memory for `" + printable(port.name) + "`", "Its pointer is null.");
  if (given.count() >= 0 && given.count() < port.count())
    refuse("K0402", "the memory for `" + printable(port.name) + "` is too short",
           "It has " + std::to_string(given.count()) + " elements; the model's has " +
               std::to_string(port.count()) + ".");
  if (given.element() != Element::Any && port.element != Element::Any &&
      given.element() != port.element)
    refuse("K0403", "the memory for `" + printable(port.name) + "` has another element type",
           "The model's is another.");
  if (is_written && given.is_const())
    refuse("K0408", "the memory for `" + printable(port.name) + "` is const",
           "It is an output: the model writes it.");
}

void check_count(const char* what, size_t wanted, size_t given) {
  if (wanted != given)
    refuse("K0401", "the model has " + std::to_string(wanted) + " " + what,
           "Memory was given for " + std::to_string(given) + ".");
}

} // namespace

int64_t ModelPort::count() const {
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0)
      return -1;
    elements *= extent;
  }
  return elements;
}

struct Model::Impl {
  std::optional<driver::Model> model; ///< of an ONNX file
  std::optional<driver::Player> player;
  std::vector<ModelPort> inputs, outputs;
  std::vector<void*> reads, writes; ///< of one call

  void play_from(driver::Tape tape) {
    inputs = fixed_ports(tape.inputs);
    outputs = fixed_ports(tape.outputs);
    reads.assign(inputs.size(), nullptr);
    writes.assign(outputs.size(), nullptr);
    player.emplace(std::move(tape));
  }
};

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::vector<ModelPort>& Model::inputs() const { return impl_->inputs; }
const std::vector<ModelPort>& Model::outputs() const { return impl_->outputs; }

Model Model::load(const std::string& path) {
  (void)api::value_or_throw(run::check_threads());
  auto impl = std::make_unique<Impl>();
  if (std::filesystem::path(path).extension() == ".kwx") {
    impl->play_from(api::value_or_throw(driver::read_kwx(path)));
    return Model(std::move(impl));
  }
  impl->model.emplace(api::value_or_throw(driver::load_model(path)));
  const graph::Graph& graph = impl->model->graph();
  for (const graph::ValueId id : graph.inputs)
    impl->inputs.push_back(declared_port(graph.values[id]));
  for (const graph::ValueId id : graph.outputs)
    impl->outputs.push_back(declared_port(graph.values[id]));
  return Model(std::move(impl));
}

void Model::prepare(const Sizes& symbols, const Shapes& shapes) {
  if (!impl_->model) {
    if (!symbols.empty() || !shapes.empty())
      refuse("K0569", "a compiled model has no open sizes",
             "It runs for the shapes that it was compiled for.");
    return;
  }
  impl_->play_from(api::value_or_throw(impl_->model->record({}, {symbols, shapes})));
}

void Model::run(std::span<const TensorData> inputs, std::span<const TensorData> outputs) {
  if (!impl_->player)
    prepare();
  check_count("inputs", impl_->inputs.size(), inputs.size());
  check_count("outputs", impl_->outputs.size(), outputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    check_memory(impl_->inputs[k], inputs[k], false);
    impl_->reads[k] = inputs[k].data();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    check_memory(impl_->outputs[k], outputs[k], true);
    impl_->writes[k] = outputs[k].data();
  }
  (void)api::value_or_throw(impl_->player->play(impl_->reads, impl_->writes));
}

void Model::run(const std::map<std::string, TensorData>& tensors) {
  if (!impl_->player)
    prepare();
  std::vector<TensorData> lists[2];
  for (size_t side = 0; side < 2; ++side)
    for (const ModelPort& port : side == 0 ? impl_->inputs : impl_->outputs) {
      const auto at = tensors.find(port.name);
      if (at == tensors.end())
        refuse("K0401", "no memory for `" + printable(port.name) + "`",
               side == 0 ? "It is an input of the model." : "It is an output of the model.");
      lists[side].push_back(at->second);
    }
  if (tensors.size() > lists[0].size() + lists[1].size())
    refuse("K0407", "there are more tensors than the model has",
           "It has " + std::to_string(lists[0].size()) + " inputs and " +
               std::to_string(lists[1].size()) + " outputs.");
  run(lists[0], lists[1]);
}

void Model::save(const std::string& path) {
  if (!impl_->player)
    prepare();
  (void)api::value_or_throw(driver::write_kwx(impl_->player->tape(), path));
}

} // namespace kawara
