#pragma once

#include "kawara/command.h"

#include "run/functions/function.h"

#include <functional>
#include <map>

namespace kawara::driver {
class Model;
}

namespace kawara::tools {

struct ModelOptions {
  std::string file;
  std::vector<std::string> inputs; ///< NAME=file.npy
  std::string output_dir;          ///< output_0.npy, ... are written there when it is not empty
  bool time = false, json = false;
  bool checks_data = false; ///< of a compiled model: the sum over its constants too
};

/// Is it an `.onnx` or a `.kwx` file, by its name?
bool is_model(const std::string& path);
bool is_compiled_model(const std::string& path); ///< a `.kwx` file

/// Lets programs that were tuned run as they were found to be fastest.
void use_tuned(driver::Model&, const CommonOptions&);

/// Declared type of an input, if there is one of that name.
using DeclaredType = std::function<std::optional<graph::DataType>(const std::string& name)>;
/// The arrays that `--input NAME=FILE` names.
Result<std::map<std::string, run::Datum>, Diagnostic>
read_bindings(const std::vector<std::string>& bindings, const DeclaredType&);

/// A model that has run once.
struct ModelRun {
  std::vector<std::string> names; ///< of the outputs
  std::vector<run::Datum> results;
  double first_seconds = 0, compile_seconds = 0; ///< up to the first result; of these, to compile
  double load_seconds = 0;                       ///< until a compiled model was ready to run
  int64_t kernels = 0, block_bytes = 0;
  std::function<bool()> run_again; ///< for timing; false when that failed
};
/// Prints a line per output, or JSON, writes outputs to files and measures, as the options say.
Result<Done, Diagnostic> show_run(const ModelOptions&, const ModelRun&);

/// Runs a `.kwx` file.
Result<Done, Diagnostic> run_compiled_model(const ModelOptions&);

/// Texts of the programs that a model needs for these inputs, with the number of places where each runs.
/// Runs the model.
Result<std::map<std::string, int64_t>, Diagnostic>
programs_of_model(const std::string& path, const std::vector<std::string>& bindings);

/// Runs a model with what was tuned for it, prints a line per output, or JSON; returns an exit code.
int run_model(const ModelOptions&, const CommonOptions&);
/// Prints a model at a stage of the line (K0438 for one that models do not have).
int show_model(const CommonOptions&, const std::string& stage);

} // namespace kawara::tools
