#pragma once

#include "driver/model/model.h"
#include "kawara/command.h"
#include "run/functions/function.h"
#include "run/npz.h"

#include <functional>
#include <map>

namespace kawara::tools {

/// What is asked of a model's graph.
struct GraphFlags {
  std::string floats;    ///< bf16, f16: type of the model's f32 values; empty: f32
  std::string attention; ///< parts, whole; empty: what costs less
  std::string layout;    ///< written; empty: what costs least
};

/// Inputs of a model, and sizes of those that are not given.
struct GivenInputs {
  std::vector<std::string> files;         ///< NAME=file.npy
  std::vector<std::string> shapes;        ///< NAME=1x3x224
  std::map<std::string, int64_t> symbols; ///< of `-p`
};

struct ModelOptions {
  std::string file;
  GivenInputs given;
  std::vector<std::string> outputs; ///< NAME=file.npy
  std::vector<std::string> printed; ///< outputs to print whole
  std::string output_dir;           ///< output_0.npy, ... are written there when it is not empty
  bool time = false, json = false;
  bool checks_data = false;            ///< of a compiled model: the sum over its constants too
  std::string against;                 ///< "ort": ONNX Runtime is measured in turns with Kawara
  std::string peers;                   ///< folder with its library
  std::vector<std::string> more_sizes; ///< "past=64": run with these, too
  bool check = false; ///< compare with the reference; on a GPU with this machine's processor
  GraphFlags graph;
  driver::CodeOptions code;
};

/// With the cache of code, and a line of progress on standard error when compiling takes long.
driver::ModelOptions usual_model_options();
/// Adds --shape.
void add_shapes(CLI::App&, std::vector<std::string>& shapes);
/// Inputs from files, the others of a fixed pattern. Refuses what is no shape (K0432) and what
/// `Model::inputs_for` refuses.
Result<std::map<std::string, run::Datum>, Diagnostic> read_model_inputs(const driver::Model&,
                                                                        const GivenInputs&);
/// The sizes that are not in files. Refuses what is no shape (K0432).
Result<driver::InputSizes, Diagnostic> input_sizes(const GivenInputs&);
/// Contract, tile and checks that the options ask for. Refuses an unknown contract (K0433), and
/// tiles that there are not, or not under that contract (K0258).
Result<driver::CodeOptions, Diagnostic> code_options_of(const CommonOptions&);

void add_fusion(CLI::App&, int& exit_code); ///< the command

/// Is it an `.onnx` or a `.kwx` file, by its name?
bool is_model(const std::string& path);
bool is_compiled_model(const std::string& path); ///< a `.kwx` file

/// Lets programs that were tuned run as they were found to be fastest.
void use_tuned(driver::Model&, const CommonOptions&);
/// What the database has for programs on that machine; empty without a database.
driver::KnownSchedule tuned_schedules(const CommonOptions&, const schedule::Environment&);

/// What is declared of each input.
using DeclaredInputs = std::vector<std::pair<std::string, graph::ValueType>>;
/// ... of this graph.
DeclaredInputs declared_inputs(const graph::Graph&);
/// The arrays that `--input NAME=FILE` names, and the numbers in `--input NAME=NUMBER`.
Result<std::map<std::string, run::Datum>, Diagnostic>
read_bindings(const std::vector<std::string>& bindings, const DeclaredInputs&);

/// A model that has run once.
struct ModelRun {
  std::vector<std::string> names; ///< of the outputs
  std::vector<run::Datum> results;
  double first_seconds = 0, compile_seconds = 0; ///< up to the first result; of these, to compile
  double load_seconds = 0;                       ///< until a compiled model was ready to run
  int64_t kernels = 0, block_bytes = 0;
  std::function<bool()> run_again; ///< for timing; false when that failed
  /// Lines for people, and the members of a JSON object. May be empty.
  std::function<Result<std::pair<std::string, std::string>, Diagnostic>()> check;
  int64_t from_cache = 0; ///< of the kernels
  /// For timing, too: lines for people, and the members of a JSON object. May be empty.
  std::function<Result<std::pair<std::string, std::string>, Diagnostic>()> measure_more;
  bool always_more = false; ///< also without timing
};
/// Prints a line per output, or JSON, writes outputs to files and measures, as the options say.
Result<Done, Diagnostic> show_run(const ModelOptions&, const ModelRun&);

/// Runs a `.kwx` file.
Result<Done, Diagnostic> run_compiled_model(const ModelOptions&);

/// Texts of the programs that a model needs for these inputs, with the number of places where each
/// runs. Runs the model.
Result<std::map<std::string, int64_t>, Diagnostic> programs_of_model(const std::string& path,
                                                                     const GivenInputs&,
                                                                     const GraphFlags&,
                                                                     const driver::CodeOptions&);

/// Runs a model with what was tuned for it and the sizes of `-p`, prints a line per output, or
/// JSON; returns an exit code.
int run_model(ModelOptions, const CommonOptions&);
/// Time of the steps, and of ONNX Runtime if the options ask for it: lines and JSON.
Result<std::pair<std::string, std::string>, Diagnostic>
measure_steps(driver::Model&, const std::map<std::string, run::Datum>& inputs, const ModelOptions&,
              const std::vector<run::Datum>& results);

/// Adds --type, --attention and --layout.
void add_graph_flags(CLI::App&, GraphFlags&);
/// `usual_model_options` with that type.
driver::ModelOptions model_options_of(const GraphFlags&);

/// Does `--target` name a GPU?
bool is_for_gpu(const std::string& target);
/// Runs a model on the GPU of this machine, as the options say. Refuses a machine without one
/// (K0712, K0713).
Result<Done, Diagnostic> run_on_gpu(const ModelOptions&, const CommonOptions&);
/// Texts of the programs that a model needs on a GPU for these inputs, with the number of steps
/// that run each.
Result<std::map<std::string, int64_t>, Diagnostic>
gpu_programs_of_model(const std::string& path, const GivenInputs&, const GraphFlags&,
                      const driver::CodeOptions&);
/// CUDA text of all kernels of a model, or (stage resources) what the compiler says of each.
Result<std::string, Diagnostic> gpu_text_of_model(const CommonOptions&, const std::string& stage,
                                                  const GraphFlags&, const GivenInputs&);

/// Prints a model at a stage of the line: graph, optimised, rewrite, for a GPU cuda and resources
/// (K0438 for one that models do not have), and writes it to the file `onnx` if there is one.
int show_model(const CommonOptions&, const std::string& stage, const GraphFlags&,
               const GivenInputs&, const std::string& onnx);

} // namespace kawara::tools
