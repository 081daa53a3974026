#include "kawara/usable.h"

#include "kawara/model.h"
#include "support/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace kawara::tools {
namespace {

/// One option of some commands. `kinds` has a letter for each kind of input for which it works: p a
/// program, q one on a GPU, m a model, g one on a GPU, c a compiled one.
struct Use {
  std::string_view commands; ///< by spaces; empty: all that have it
  std::string_view option, kinds, instead;
};

constexpr std::string_view kEveryKind = "pqmgc";
constexpr std::string_view kWeigh = "a model has many programs, each with a schedule of its own: "
                                    "`kawara tune MODEL` searches them, `kawara "
                                    "fusion MODEL --programs` prints them";
constexpr std::string_view kOneProgram = "a model has many programs: take one from `kawara fusion "
                                         "MODEL --programs` and look at it with `kawara show`";
constexpr std::string_view kOfModels = "leave it away: it is about the graph of an ONNX model";
constexpr std::string_view kWatch = "leave it away: other processes compile, and nothing of theirs "
                                    "is shown; `kawara show` compiles here";

// The first row that fits counts.
constexpr Use kUses[] = {
    {"", "FILE", kEveryKind, ""},
    {"", "--help", kEveryKind, ""},
    {"", "--json", kEveryKind, ""},
    {"show", "--param", "pqg", "leave it away: these stages are the same for all sizes"},
    {"compile fusion", "--param", kEveryKind, ""},
    {"", "--param", "pqmg",
     "compile the ONNX file for that size: `kawara compile MODEL.onnx -p NAME=SIZE`"},
    {"show", "--shape", "g", "leave it away: these stages are the same for all sizes"},
    {"", "--shape", "mg",
     "give sizes of a program by `-p NAME=SIZE`; a compiled model has the shapes that it was "
     "compiled for"},
    {"", "--schedule", "pq", kWeigh},
    {"show", "--numerics", "pq", "leave it away: these stages are the same under every contract"},
    {"tune", "--numerics", "pqm", "programs of a model on a GPU are compiled under `rounding`"},
    {"", "--numerics", "pqm",
     "programs of a model on a GPU are compiled under `rounding`; a compiled model is as it was "
     "compiled: "
     "`kawara compile --numerics`"},
    {"show tune explain", "--winograd", "pq",
     "`kawara run --winograd` sets it for the convolutions of a model"},
    {"", "--winograd", "pqm",
     "convolutions on a GPU are direct; a compiled model is as it was compiled"},
    {"show", "--target", "pqg",
     "`--stage cuda` and `--stage resources` are for a GPU, the other stages for no machine"},
    {"explain", "--schedule", "pq", kWeigh},
    {"explain", "--input", "m", "leave it away: what is told of a program holds for all values"},
    {"explain", "--verify", "pq", kOneProgram},
    {"explain", "--time-passes", "pq", kOneProgram},
    {"explain", "--target", "pm",
     "it looks at schedules for processors; `--machine h200` tells the limits of a GPU"},
    {"emit estimate cache", "--target", "p",
     "C, estimates and caches are for processors, `--target cpu:NAME`; `kawara show --target cuda "
     "--stage "
     "cuda` prints CUDA"},
    {"", "--target", "pqmg",
     "a compiled model is code for a processor: run the ONNX file with `--target`"},
    {"tune", "--verify", "", kWatch},
    {"show", "--verify", "pqg", kOneProgram},
    {"", "--verify", kEveryKind, ""},
    {"tune", "--time-passes", "", kWatch},
    {"show", "--time-passes", "pq", kOneProgram},
    {"", "--time-passes", "pqm",
     "nothing of a compiled model is left to compile; `compile_ms` in `--json` is the time that "
     "kernels for a GPU took"},
    {"tune", "--print-after", "", kWatch},
    {"", "--print-after", "pq", kOneProgram},
    {"", "--db", "pqmg", "a compiled model has the schedules that it was compiled with"},
    {"", "--no-db", "pqmg", "a compiled model has the schedules that it was compiled with"},
    {"tune", "--input", "mgc",
     "programs are tuned on a fixed pattern; `kawara run --input` takes files"},
    {"", "--input", kEveryKind, ""},
    {"", "--output", kEveryKind, ""},
    {"", "--print", kEveryKind, ""},
    {"", "--output-dir", "mgc", "name each output: `--output NAME=FILE.npy`"},
    {"", "--type", "mg", kOfModels},
    {"", "--attention", "mg", kOfModels},
    {"", "--layout", "mg", kOfModels},
    {"", "--check", "pqmg",
     "a compiled model has no graph to check against: `kawara run MODEL.onnx --check`"},
    {"", "--time", kEveryKind, ""},
    {"bench", "--svg", "p",
     "only a program on this machine's processor has a place under its roofline"},
    {"tune", "--svg", "pq", "a model has many searches; one program has a picture"},
    {"show", "--spelled-out", "pq", kOneProgram},
    {"show", "--svg", "pq", "only a program has a tree of loops"},
    {"", "--svg", "pq", ""},
    {"", "--against", "m", "ONNX Runtime is measured beside an ONNX model on the processor"},
    {"", "--peers", "m", "ONNX Runtime is measured beside an ONNX model on the processor"},
    {"", "--also", "m",
     "an ONNX model on the processor runs at several sizes; run the command once for each"},
    {"", "--stage", kEveryKind, ""},
    {"", "--onnx", "m", "only the stages graph, optimised and rewrite of a model can be written"},
    {"explain", "--replay", "p", kOneProgram},
    {"", "--replay", "p", ""},
    {"", "--level", "p", ""},
    {"", "--tlb", "p", ""},
    {"", "--policy", "p", ""},
    {"", "--machine", "pm", ""},
    {"bench", "--energy", "pq",
     "the energy of one program is measured: take one from `kawara fusion MODEL --programs`"},
    {"", "--kernels", "m", "leave it away: a program is one kernel"},
    {"", "--measure", "m", "`kawara bench` measures a program"},
    {"", "--energy", "p", ""},
    {"", "--place", "p", ""},
    {"", "--kernel", "p", ""},
    {"", "--curve", "p", ""},
    {"explain", "--with", kEveryKind, ""},
    {"explain", "--with-schedule", "pq", kWeigh},
    {"explain", "--with-machine", "pm", ""},
    {"", "--open", kEveryKind, ""},
    {"", "--with", "pq", ""},
    {"", "--dot", "pq", ""},
    {"", "--header", "p", ""},
    {"", "--function", "p", ""},
    {"", "--naive", "p", ""},
    {"", "--programs", "mg", ""},
    {"", "--budget", "pqmg", ""},
    {"", "--strategy", "pqmg", ""},
    {"", "--seed", "pqmg", ""},
    {"", "--workers", "pqmg", ""},
    {"", "--learner", "pqmg", ""},
    {"", "--why", "pq", "`kawara tune --why` takes one program"},
    {"", "--model", "pq", "what searches have learnt is kept for programs"},
    {"", "--recorded", "pq", "measurements are shared for programs"},
};

/// Commands that take one kind of file.
constexpr std::pair<std::string_view, std::string_view> kKindsOfCommands[] = {
    {"check", "pq"},    {"deps", "pq"},   {"diff", "pq"},      {"emit", "pq"},
    {"estimate", "pq"}, {"cache", "pq"},  {"explain", "pqmg"}, {"fusion", "mg"},
    {"compile", "m"},   {"tune", "pqmg"}, {"show", "pqmg"},    {"trace", "m"},
};

char letter_of(InputKind kind) { return kEveryKind[static_cast<size_t>(kind)]; }

std::string_view kind_text(InputKind kind) {
  constexpr std::string_view names[] = {"a program", "a program on a GPU", "a model",
                                        "a model on a GPU", "a compiled model"};
  return names[static_cast<size_t>(kind)];
}

bool is_among(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

const Use& use_of(std::string_view command, std::string_view option) {
  const auto at = std::find_if(std::begin(kUses), std::end(kUses), [&](const Use& use) {
    return use.option == option && (use.commands.empty() || is_among(use.commands, command));
  });
  KAWARA_CHECK(at != std::end(kUses), fmt::format("`{} {}` is in no table", command, option));
  return *at;
}

Diagnostic option_refusal(std::string headline, std::string_view instead) {
  Diagnostic d;
  d.code = "K0439";
  d.headline = std::move(headline);
  if (!instead.empty())
    d.help.push_back({"", std::string(instead), false});
  return d;
}

std::optional<Diagnostic> refused_file(const std::string& command, InputKind kind) {
  for (const auto& [name, kinds] : kKindsOfCommands)
    if (name == command && kinds.find(letter_of(kind)) == std::string_view::npos) {
      const bool takes_models = kinds.find('m') != std::string_view::npos;
      return option_refusal(
          fmt::format("`kawara {}` is not for {}", command, kind_text(kind)),
          kind == InputKind::CompiledModel ? "give the ONNX file that it was made of"
          : takes_models ? "give a model in ONNX form; `kawara run` compiles a program and runs "
                           "it, `kawara show` "
                           "shows it, `kawara emit` writes it as C"
                         : "give a program in .kw text; `kawara fusion MODEL --programs` prints "
                           "those of a model");
    }
  return std::nullopt;
}

} // namespace

InputKind kind_of(const CommonOptions& options) {
  if (is_compiled_model(options.file))
    return InputKind::CompiledModel;
  const bool is_gpu = is_for_gpu(options.target);
  if (is_model(options.file))
    return is_gpu ? InputKind::GpuModel : InputKind::Model;
  return is_gpu ? InputKind::GpuProgram : InputKind::Program;
}

std::optional<Diagnostic> refused_option(const CLI::App& command, InputKind kind) {
  const std::string& name = command.get_name();
  if (auto refused = refused_file(name, kind))
    return refused;
  for (const CLI::Option* option : command.get_options()) {
    const std::string flag =
        option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames().front();
    const Use& use = use_of(name, flag);
    if (option->count() > 0 && use.kinds.find(letter_of(kind)) == std::string_view::npos)
      return option_refusal(
          fmt::format("`{}` of `kawara {}` means nothing for {}", flag, name, kind_text(kind)),
          use.instead);
  }
  return std::nullopt;
}

} // namespace kawara::tools
