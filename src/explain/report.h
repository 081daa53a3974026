#pragma once

#include "estimate/bounds/least_traffic.h"
#include "estimate/duplicates/duplicates.h"
#include "estimate/energy/energy.h"
#include "estimate/predict.h"
#include "explain/model_facts.h"
#include "explain/theatre.h"
#include "explain/why.h"
#include "poly/legality/dependences.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kawara::explain {

/// Bytes that come from a level of the machine towards the registers.
struct LevelReport {
  std::string name;
  double predicted = 0, seconds = 0;
  std::optional<double>
      simulated;               ///< with one thread; of what is in lines: misses of the cache before
  std::optional<double> least; ///< of any order, into all that is nearer
  double bandwidth = 0;        ///< bytes per second of as many threads as there are
};

/// What is predicted of a schedule that is not finished.
struct Step {
  std::string label; ///< the directive that was applied last
  double seconds = 0;
  std::vector<double> bytes; ///< from each level
};

/// Answers to "why does it take so long": everything that is known without a run.
struct Report {
  std::string title;   ///< "gemm.kw, M=512, N=512, K=512"
  std::string machine; ///< whose figures these are
  std::string figures; ///< "measured", "described", "from a file"
  /// Whether only the limits of a machine that is no processor are known.
  bool is_limit = false;
  estimate::Prediction prediction;
  double peak = 0;         ///< operations per second, of the types in their mix
  double roof_seconds = 0; ///< of arithmetic at its peak, or of each byte once
  std::vector<LevelReport> levels;
  std::string simulated_label; ///< "exact" or "predicted"; empty: not simulated
  std::string bound_by;        ///< the statement that decides the least traffic; empty: its inputs
  std::optional<estimate::Energy> energy;
  std::vector<Considered> nests;
  std::vector<estimate::Duplicates> duplicates;
  std::optional<Theatre> theatre;      ///< in JSON and pages alone
  std::string machine_file, work;      ///< what_if.h; empty: not known
  std::vector<std::string> directives; ///< with `auto` spelled out
  std::vector<Step> way; ///< from the order of the text to the schedule, which is left out
  std::string tree;      ///< the loops; empty: nothing was scheduled
  std::vector<poly::Summary> dependences; ///< of the program as it is written
  bool has_exact_dependences = true;      ///< poly::ShownDependences
  /// What could not be found out, and why: "caches: ...".
  std::vector<std::string> missing;
};

/// One sentence: how long, how near to the roof, and what sets the pace.
std::string verdict(const Report&);

/// At most 40 lines for a terminal.
std::string print(const Report&);
/// Every number, an object.
std::string to_json(const Report&);

/// A kernel of a model, with all its calls.
struct KernelReport {
  std::string name; ///< its operators
  int64_t times = 1;
  double operations = 0, bytes = 0; ///< of one call
  double least_seconds = 0;         ///< of one call under the roof
  std::optional<double> seconds;    ///< predicted, of one call; only of those that may take longest
  std::string bound;                ///< what sets the pace then; else of the roof
  std::optional<estimate::Band> joules;             ///< of one call
  std::string id = {};                              ///< "k0" runs first
  std::vector<TensorBytes> reads = {}, writes = {}; ///< of the first call
  double accesses = 0, unique = 0;     ///< bytes of one call (explain/characterise.h); 0: not known
  std::vector<std::string> nodes = {}; ///< of all calls
  std::vector<std::pair<std::string, int64_t>> operators = {}; ///< of one call, with their number
  std::string work = {};                                       ///< what_if.h; empty: not known
};

struct ModelReport {
  std::string title, machine, figures;
  int64_t threads = 1;
  std::vector<KernelReport> kernels; ///< those that take longest first
  std::vector<std::string> missing;
  ModelFacts facts = {};
  std::string machine_file = {}; ///< what_if.h
};

std::string verdict(const ModelReport&);
std::string print(const ModelReport&);
std::string to_json(const ModelReport&);

/// How operators, each in a kernel of its own, and the kernels of the run use memory: accesses,
/// different bytes, their ratio; then what neighbours share.
std::string print_kernels(const ModelReport&);
using AnyReport = std::variant<Report, ModelReport>;
/// Two reports beside each other, in short; and `reports`, whole.
std::string print(const AnyReport&, const AnyReport&);
std::string to_json(const AnyReport&, const AnyReport&);

} // namespace kawara::explain
