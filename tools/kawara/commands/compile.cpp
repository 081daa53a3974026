#include "kawara/command.h"
#include "kawara/model.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "driver/model/model.h"
#include "driver/tape/kwx.h"
#include "graph/errors.h"
#include "support/memory.h"
#include "support/names_text.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>

namespace kawara::tools {
namespace {

using run::Datum;
using run::Tensor;

struct CompileOptions : CommonOptions {
  std::vector<std::string> inputs, shapes; ///< NAME=file.npy, NAME=1x3x224
  std::string output;
};

double elapsed_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Parsed<Done> compile_model(const CompileOptions& options) {
  const auto gathered = [](Diagnostic d) { return fail(Diagnostics{std::move(d)}); };
  KAWARA_TRY(const auto symbols, sizes_of(options));
  const auto begin = std::chrono::steady_clock::now();
  const auto code = code_options_of(options);
  if (!code)
    return gathered(code.error());
  driver::ModelOptions how;
  how.progress = usual_model_options().progress;
  how.code = *code;
  auto model =
      while_waiting("reading the model", [&] { return driver::load_model(options.file, how); });
  if (!model)
    return gathered(model.error());
  use_tuned(*model, options);
  const graph::Graph& graph = model->graph();
  auto given = read_bindings(options.inputs, declared_inputs(graph));
  if (!given)
    return gathered(given.error());
  const auto sizes = input_sizes({{}, options.shapes, symbols});
  if (!sizes)
    return gathered(sizes.error());
  const auto tape =
      while_waiting("compiling", [&] { return model->record(*std::move(given), *sizes); });
  if (!tape)
    return gathered(tape.error());
  show_notes(model->proof_notes());
  const std::string path =
      options.output.empty()
          ? std::filesystem::path(options.file).replace_extension(".kwx").string()
          : options.output;
  if (const auto done = while_waiting("writing", [&] { return driver::write_kwx(*tape, path); });
      !done)
    return gathered(done.error());
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"ok", true},
                                      {"file", path},
                                      {"bytes", bytes},
                                      {"kernels", model->kernels()},
                                      {"seconds", elapsed_since(begin)}}
                           .dump(2));
    return Done{};
  }
  const auto steps = static_cast<int64_t>(tape->steps.size());
  const int64_t kernels = model->kernels();
  fmt::print("{}: {}, {} step{}, {} kernel{}, in {:.1f} s\n", path,
             bytes_text(static_cast<int64_t>(bytes)), steps, steps == 1 ? "" : "s", kernels,
             kernels == 1 ? "" : "s", elapsed_since(begin));
  for (const driver::Port& port : tape->inputs)
    fmt::print("  input  {}: {}{}\n", printable(port.name), graph::name_of(port.type),
               graph::text_of(port.shape));
  for (const driver::Port& port : tape->outputs)
    fmt::print("  output {}: {}{}\n", printable(port.name), graph::name_of(port.type),
               graph::text_of(port.shape));
  return Done{};
}

std::vector<Tensor> tensors_for(const std::vector<driver::Port>& ports) {
  std::vector<Tensor> tensors;
  for (const driver::Port& port : ports)
    tensors.emplace_back(port.type, port.shape);
  return tensors;
}

/// What is given, and a fixed pattern for the rest, in the order of the ports.
Result<std::vector<Tensor>, Diagnostic> inputs_of(const driver::Tape& tape,
                                                  std::map<std::string, Datum> given) {
  std::vector<Tensor> tensors = tensors_for(tape.inputs);
  uint64_t seed = 1;
  for (size_t k = 0; k < tensors.size(); ++k) {
    const driver::Port& port = tape.inputs[k];
    ++seed;
    const auto at = given.find(port.name);
    if (at == given.end()) {
      tensors[k] = driver::pattern_tensor(port.type, port.shape, seed);
      continue;
    }
    const Tensor& tensor = at->second.tensor;
    if (tensor.type() != port.type || tensor.shape() != port.shape)
      return fail(
          graph::model_error("K0521",
                             fmt::format("input `{}` of `{}` cannot be {}{}", printable(port.name),
                                         printable(tape.name), graph::name_of(tensor.type()),
                                         graph::text_of(tensor.shape())),
                             fmt::format("The file was compiled for {}{}.",
                                         graph::name_of(port.type), graph::text_of(port.shape)),
                             "compile the ONNX file for this shape"));
    tensors[k] = tensor;
    given.erase(at);
  }
  if (!given.empty()) {
    std::vector<std::string> names;
    for (const driver::Port& port : tape.inputs)
      names.push_back(printable(port.name));
    return fail(graph::model_error("K0520",
                                   "no input is called `" + printable(given.begin()->first) + "`",
                                   names_text("The model", "input", names), ""));
  }
  return tensors;
}

graph::ValueType declared_type_of(const driver::Port& port) {
  std::vector<graph::Dim> dims(port.shape.size());
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d].size = port.shape[d];
  return {graph::ValueType::Kind::Tensor, port.type, std::move(dims)};
}

} // namespace

Result<Done, Diagnostic> run_compiled_model(const ModelOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(driver::Tape tape, driver::read_kwx(options.file, {options.checks_data}));
  if (options.checks_data)
    show_notes({"the sum over the weights is right; kernels were proved when the file was written, "
                "by `kawara compile --verify` without a limit"});
  DeclaredInputs declared;
  for (const driver::Port& port : tape.inputs)
    declared.emplace_back(port.name, declared_type_of(port));
  KAWARA_TRY(auto given, read_bindings(options.given.files, declared));
  KAWARA_TRY(std::vector<Tensor> inputs, inputs_of(tape, std::move(given)));
  driver::Player player(std::move(tape));
  std::vector<Tensor> outputs = tensors_for(player.tape().outputs);
  std::vector<void*> reads, writes;
  for (Tensor& tensor : inputs)
    reads.push_back(tensor.data());
  for (Tensor& tensor : outputs)
    writes.push_back(tensor.data());
  const double loaded = elapsed_since(begin);
  KAWARA_TRY([[maybe_unused]] const Done done, player.play(reads, writes));
  ModelRun run;
  run.first_seconds = elapsed_since(begin);
  run.load_seconds = loaded;
  for (size_t k = 0; k < outputs.size(); ++k) {
    run.names.push_back(player.tape().outputs[k].name);
    run.results.push_back({outputs[k], false, {}});
  }
  run.block_bytes = player.tape().block_bytes;
  run.run_again = [&] { return static_cast<bool>(player.play(reads, writes)); };
  return show_run(options, run);
}

void add_compile(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command = app.add_subcommand(
      "compile", "compile an ONNX model for inputs of one shape into a file that starts at once");
  command->add_option("FILE", options->file, "model.onnx")->required();
  command->add_option("-o,--output", options->output, "file to write; model.kwx when not given");
  command->add_option("-p,--param", options->sizes, "size of a symbol in the inputs' shapes");
  command->add_option("--input", options->inputs,
                      "NAME=file.npy, where shapes inside depend on the values of an input");
  add_shapes(*command, options->shapes);
  command->add_option("--numerics", options->numerics, "exact, rounding (the default) or fast");
  command->add_flag("--json", options->json, "machine-readable output");
  command->add_flag("--verify", options->verify, "check every artefact on the way");
  add_database(*command, *options);
  add_examples(*command, {"kawara compile resnet50.onnx -o resnet50.kwx",
                          "kawara compile gpt2-decode.onnx -p past=128",
                          "kawara run resnet50.kwx --input image=image.npy"});
  command->callback([options, command, &exit_code] {
    auto refused = refused_option(*command, kind_of(*options));
    if (!refused)
      refused = refused_database(*options);
    if (refused) {
      exit_code = report({*refused}, *options);
      return;
    }
    const auto done = compile_model(*options);
    exit_code = done ? kOk : report(done.error(), *options);
  });
}

} // namespace kawara::tools
