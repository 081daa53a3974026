#pragma once

#include "explain/report.h"
#include "kawara/command.h"
#include "kawara/machines.h"
#include "kawara/model.h"

namespace kawara::tools {

struct ExplainOptions : CommonOptions {
  std::string machine, output;
  bool replay = false, is_opened = false;
  std::string with, with_schedule, with_machine; ///< of what it is compared with
  // Of models only.
  std::vector<std::string> inputs, shapes;
  GraphFlags graph;
  bool measure = false;    ///< times of steps
  bool only_steps = false; ///< nothing about fusion
  bool kernels = false;    ///< prints the table of kernels
  bool shows_page() const { return !output.empty() || is_opened; }
};

/// The machine in the form of a file (explain/what_if.h). `name` is what its figures come from.
std::string machine_json(const Figures&, const std::string& name);
/// The dependences of the program as it is written.
void add_dependences(const program::Program&, explain::Report&);

/// What is known of a program without running it. What of it cannot be found out is named in it.
Parsed<explain::Report> explained_program(const ExplainOptions&, Trace&);
/// The same of a model, kernel by kernel.
Parsed<explain::ModelReport> explained_model(const ExplainOptions&);

} // namespace kawara::tools
