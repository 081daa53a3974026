#pragma once

#include "kawara/command.h"
#include "kawara/model.h"

#include "tune/ranks/ranks.h"
#include "tune/tuner/tasks.h"
#include "tune/tuner/tuner.h"

namespace kawara::tools {

struct TuneSettings : CommonOptions {
  std::string budget = "60s", strategy = "guided", svg, model, recorded, learner = "trees";
  std::vector<std::string> inputs, shapes; ///< of a model: NAME=file.npy, NAME=1x3x224
  GraphFlags graph;                        ///< of a model
  uint64_t seed = 1;
  int workers = 0;
  bool why = false;
  tune::Crew* crew = nullptr; ///< the other processes, when `mpirun` started this one
};

/// The search in the user's words; `request` may have directives to begin with. Refuses a budget
/// (K0604), a strategy (K0605) or a model file (K0420) that is none.
Parsed<tune::TuneOptions> tune_options(const TuneSettings&, const driver::Request& request);

/// The machine that `--target` names. Refuses one that candidates cannot be measured on here
/// (K0645): a GPU that is not in this machine, and GPUs with `mpirun`.
Parsed<schedule::Environment> tune_environment(const TuneSettings&);

/// The database that `--db` names, or the usual one; nothing with `--no-db`.
Parsed<std::optional<tune::Database>> tuning_database(const TuneSettings&);

std::string time_text(double seconds);            ///< "3.14 us"
std::string progress_text(const tune::Progress&); ///< one line while a search runs
void print_report(const tune::TuneReport&, bool as_json);

/// What measures candidates: processes of this machine, or the other ranks. The arguments must
/// outlive it.
tune::MakeMeasurer measurers(const TuneSettings&, const tune::TuneOptions&);

/// Tunes all programs of a model; returns an exit code.
int tune_model(const TuneSettings&);

} // namespace kawara::tools
