#pragma once

#include "kawara/command.h"

namespace kawara::tools {

struct ModelOptions {
  std::string file;
  std::vector<std::string> inputs; ///< NAME=file.npy
  std::string output_dir;          ///< output_0.npy, ... are written there when it is not empty
  bool time = false, json = false;
};

/// Is it an `.onnx` file, by its name?
bool is_model(const std::string& path);

/// Runs a model, prints a line per output, or JSON; returns an exit code.
int run_model(const ModelOptions&, const CommonOptions&);
/// Prints a model at a stage of the line (K0438 for one that models do not have).
int show_model(const CommonOptions&, const std::string& stage);

} // namespace kawara::tools
