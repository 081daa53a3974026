#pragma once

#include "driver/kernels/kernels.h"
#include "driver/model/open_sizes.h"
#include "driver/model/rewriting.h"
#include "driver/tape/tape.h"
#include "graph/graph.h"
#include "graph/optimise/passes.h"
#include "run/functions/function.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kawara::driver {

/// The order of an image's dimensions between convolutions (graph/optimise/channels_last.h).
enum class ImageOrder : uint8_t {
  Written,      ///< as in the file
  ByCost,       ///< channels last where this processor gains by it
  ChannelsLast, ///< in the form for GPUs
};

struct ModelOptions {
  bool optimises = true;    ///< runs the passes of graph/optimise
  bool fuses = true;        ///< several nodes in one kernel
  std::string cache_folder; ///< where code is kept from run to run; empty: nowhere
  Progress progress;        ///< told while kernels are compiled
  /// Type of all values that are f32 in the graph, but for its inputs and outputs; f32 leaves them
  /// as they are.
  graph::DataType floats = graph::DataType::F32;
  GraphOptions graph = {}; ///< of the passes that decide by cost
  ImageOrder images = ImageOrder::ByCost;
  bool multiplies_bytes =
      true; ///< products of dequantised bytes, where this processor is fast at it
  /// The model's graph once more, from where it came. With it weights that kernels have packed go,
  /// so that a net is in memory once; where plans for other shapes need them, they are read again.
  /// Without effect where inputs may have several shapes, unless it `runs_once`. Such a model can
  /// be run, but not recorded.
  std::function<Result<graph::Graph, Diagnostic>()> read_again = nullptr;
  bool runs_once = false; ///< other shapes than the first are not expected, and may take long
  /// Under `exact` the graph stays as it was written: passes round otherwise.
  CodeOptions code = {};
};

/// What part of a model's time a step takes.
struct StepProfile {
  std::string nodes, ops; ///< name of the first node and how many more; "Conv + Relu"
  double seconds = 0;     ///< median over the calls
  double flops = 0, int_ops = 0, bytes = 0; ///< estimate/count.h
};

/// Where the time of a call goes. All times are medians over the calls.
struct ModelProfile {
  std::vector<StepProfile> steps;
  double between = 0; ///< what a call takes besides its steps: inputs, memory, results
  double seconds = 0; ///< of a call with a clock around each step
};

/// A model that can be run. Shapes are taken from the inputs of the first call; code for them is
/// made then and kept, so that a further call with the same shapes only computes. At the second
/// shape of an input, what depends on it is compiled for a range of sizes; further shapes in that
/// range are planned, but nothing is compiled for them. One call at a time.
class Model {
public:
  explicit Model(graph::Graph graph, const ModelOptions& = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const graph::Graph& graph() const; ///< after the passes
  const std::vector<graph::optimise::PassResult>& passes() const;
  const std::vector<std::string>& notes() const; ///< what passes decided by cost, and why

  /// The graph's outputs, in its order. Refuses an input that is missing or unknown (K0520), of
  /// another type or shape than declared (K0521), nodes that cannot be run (K0510, K0511), and a
  /// file that has changed where it is read again (K0545).
  Result<std::vector<run::Datum>, Diagnostic> run(const std::map<std::string, run::Datum>& inputs);

  /// Inputs of a fixed pattern for those that are not given, of shapes that `shapes_of_inputs`
  /// finds. Refuses what that refuses (K0520, K0569 to K0571), and sizes for which there is no
  /// memory (K0522).
  Result<std::map<std::string, run::Datum>, Diagnostic>
  inputs_for(std::map<std::string, run::Datum> given, const InputSizes& sizes) const;
  /// The same for a caller that knows all sizes: an InternalError otherwise.
  std::map<std::string, run::Datum>
  pattern_inputs(std::map<std::string, run::Datum> given,
                 const std::map<std::string, int64_t>& symbols = {}) const;

  /// Runs once, as `run` does, with a pattern for inputs that are not given, and gives what it did
  /// as a tape. Not for models that give their weights back. Refuses also what `inputs_for` refuses
  /// and what no tape can hold (K0563).
  Result<Tape, Diagnostic> record(std::map<std::string, run::Datum> given,
                                  const InputSizes& sizes = {});

  /// What a run with these inputs does, as a tape of programs without code: for machines other than
  /// this one. The inputs are run where only that shows how the model goes on. Refuses what `run`
  /// refuses and models with subgraphs or sequences (K0736).
  Result<Tape, Diagnostic> tape_of_programs(const std::map<std::string, run::Datum>& inputs);

  /// Schedules for programs that are compiled from now on.
  void use(KnownSchedule known);
  /// Texts of the programs that were needed so far, with the number of places where each runs.
  const std::map<std::string, int64_t>& programs() const;

  /// Plans for these inputs, without compiling where that is possible, with results in the memory
  /// of operands where that pays, if `in_place`. What `run` refuses is refused.
  Result<std::vector<const Plan*>, Diagnostic> plan(const std::map<std::string, run::Datum>& inputs,
                                                    bool in_place = true);
  /// Time of each step over several calls, one after the other by plans, not by a tape.
  Result<ModelProfile, Diagnostic> profile(const std::map<std::string, run::Datum>& inputs,
                                           int calls);

  /// Programs that were compiled for a range of sizes.
  std::vector<TextFamily> sized_programs() const;

  /// What checks said of the programs under `CodeOptions::verify`, by the names of their operators.
  std::vector<std::string> proof_notes() const;
  const Trace& trace() const; ///< time in the stages of compiling, of all programs together
  int64_t
  in_tiles() const; ///< programs compiled in the tiles that `CodeOptions::winograd` asks for

  int64_t kernels() const;        ///< programs compiled so far
  int64_t from_cache() const;     ///< of those, found in the cache
  double compile_seconds() const; ///< spent on that
  int64_t block_bytes() const;    ///< memory for values between nodes

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Elements of a fixed pattern for an input that is not given: floats in [-1, 1), 0 and 1 where an
/// index or a mask may be meant (i32, i64, bool), small integers otherwise.
Tensor pattern_tensor(graph::DataType, const Shape&, uint64_t seed);

/// The graph in an `.onnx` file, as it is written. Refuses a file that cannot be read (K0420),
/// K0501 to K0505.
Result<graph::Graph, Diagnostic> graph_from_file(const std::string& path);
/// A model from an `.onnx` file. Refuses a file that cannot be read (K0420), K0501 to K0505, and
/// floats that it cannot have (K0735).
Result<Model, Diagnostic> load_model(const std::string& path, const ModelOptions& = {});
/// The same for a model that is only run: its options' `read_again` reads the file.
Result<Model, Diagnostic> load_model_to_run(const std::string& path, ModelOptions);

} // namespace kawara::driver
