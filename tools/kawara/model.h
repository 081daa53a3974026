#pragma once

#include "kawara/command.h"

#include <map>

namespace kawara::tools {

struct ModelOptions {
  std::string file;
  std::vector<std::string> inputs; ///< NAME=file.npy
  std::string output_dir;          ///< output_0.npy, ... are written there when it is not empty
  bool time = false, json = false;
};

/// Is it an `.onnx` file, by its name?
bool is_model(const std::string& path);

/// Texts of the programs that a model needs for these inputs, with the number of places where each runs.
/// Runs the model.
Result<std::map<std::string, int64_t>, Diagnostic>
programs_of_model(const std::string& path, const std::vector<std::string>& bindings);

/// Runs a model with what was tuned for it, prints a line per output, or JSON; returns an exit code.
int run_model(const ModelOptions&, const CommonOptions&);
/// Prints a model at a stage of the line (K0438 for one that models do not have).
int show_model(const CommonOptions&, const std::string& stage);

} // namespace kawara::tools
