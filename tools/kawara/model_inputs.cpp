#include "kawara/arrays.h"
#include "kawara/model.h"
#include "kawara/usage.h"

#include "program/rewrites/winograd.h"
#include "run/npy.h"
#include "run/npz.h"
#include "support/text.h"

#include <charconv>
#include <cstring>

namespace kawara::tools {
namespace {

using run::Datum;
using run::Tensor;

Diagnostic no_shape(const std::string& text) {
  Diagnostic d;
  d.code = "K0432";
  d.headline = "`--shape " + text + "` does not give a shape";
  d.body.push_back(
      "A shape is the name of an input, `=` and sizes with `x` between them; `scalar` for none.");
  d.help.push_back({"for example", "--shape image=1x3x224x224", false});
  return d;
}

std::optional<graph::Shape> shape_from(const std::string& text) {
  graph::Shape shape;
  if (text == "scalar")
    return shape;
  for (const std::string_view item : split(text, 'x')) {
    const std::string_view digits = trim(item);
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
      return std::nullopt;
    shape.push_back(extent);
  }
  return shape;
}

} // namespace

void add_shapes(CLI::App& command, std::vector<std::string>& shapes) {
  command.add_option("--shape", shapes,
                     "shape of a model's input that is not given: image=1x3x224x224; repeat");
}

Result<driver::InputSizes, Diagnostic> input_sizes(const GivenInputs& given) {
  driver::InputSizes sizes{given.symbols, {}};
  for (const std::string& text : given.shapes) {
    const size_t equals = text.rfind('=');
    const auto shape = equals == std::string::npos || equals == 0
                           ? std::nullopt
                           : shape_from(text.substr(equals + 1));
    if (!shape)
      return fail(no_shape(text));
    const std::string name = text.substr(0, equals);
    const auto [known, is_new] = sizes.shapes.emplace(name, *shape);
    if (!is_new && known->second != *shape)
      return fail(
          given_twice("--shape", name, {graph::text_of(known->second), graph::text_of(*shape)}));
  }
  return sizes;
}

Result<std::map<std::string, Datum>, Diagnostic> read_model_inputs(const driver::Model& model,
                                                                   const GivenInputs& given) {
  const graph::Graph& graph = model.graph();
  KAWARA_TRY(const driver::InputSizes sizes, input_sizes(given));
  KAWARA_TRY(auto data, read_bindings(given.files, declared_inputs(graph)));
  return model.inputs_for(std::move(data), sizes);
}

DeclaredInputs declared_inputs(const graph::Graph& graph) {
  DeclaredInputs all;
  for (const graph::ValueId id : graph.inputs)
    all.emplace_back(graph.values[id].name, graph.values[id].type);
  return all;
}

Result<std::map<std::string, Datum>, Diagnostic>
read_bindings(const std::vector<std::string>& bindings, const DeclaredInputs& known_inputs) {
  std::vector<std::string> names;
  std::map<std::string, graph::ValueType> types;
  for (const auto& [name, type] : known_inputs) {
    names.push_back(name);
    types.emplace(name, type);
  }
  const run::DeclaredTypes declared = [&](const std::string& name) {
    const auto at = types.find(name);
    return at == types.end() ? std::nullopt : at->second.elem;
  };
  std::map<std::string, Datum> inputs;
  std::map<std::string, std::string> named; ///< one by one, which goes before what an .npz file has
  for (const std::string& text : bindings) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      KAWARA_TRY(auto all, run::read_npz_tensors(text, declared));
      for (auto& [name, tensor] : all)
        inputs.try_emplace(name, Datum{std::move(tensor), false, {}});
      continue;
    }
    KAWARA_TRY(const auto binding, binding_of("--input", text, Names::OfModel, names));
    const auto& [name, path] = binding;
    if (const auto [known, is_new] = named.insert(binding); !is_new)
      return fail(given_twice("--input", name, {known->second, path}));
    const auto type = types.find(name);
    if (const auto input = type != types.end() ? declared_input(type->second) : std::nullopt;
        input && (is_value(path) || path.ends_with(".csv"))) {
      KAWARA_TRY(const program::Array array, read_array(name, path, *input));
      inputs[name] = {tensor_from_array(array, *type->second.elem), false, {}};
      continue;
    }
    if (!path.ends_with(".npz")) {
      KAWARA_TRY(graph::Tensor tensor, run::read_npy_tensor(path, declared(name)));
      inputs[name] = {std::move(tensor), false, {}};
      continue;
    }
    KAWARA_TRY(auto all, run::read_npz_tensors(path, declared));
    const auto at = all.find(name);
    if (at == all.end())
      return fail(no_member(name, path));
    inputs[name] = {std::move(at->second), false, {}};
  }
  return inputs;
}

Result<driver::CodeOptions, Diagnostic> code_options_of(const CommonOptions& common) {
  driver::CodeOptions code;
  const auto numerics = numerics_of(common);
  if (!numerics)
    return fail(numerics.error().front());
  code.numerics = numerics->value_or(program::Numerics::Rounding);
  code.winograd = common.winograd;
  code.verify = common.verify;
  if (auto problem = driver::refused_tiles(code.winograd, code.numerics))
    return fail(*std::move(problem));
  return code;
}

} // namespace kawara::tools
