// Puts faults into kernels between passes, such as a pass with a bug would make, and counts which
// checks find them.

#include "corpus/corpus.h"
#include "kernel/interpret/check_over_field.h"
#include "kernel/interpret/edge_sizes.h"
#include "mutation/detect.h"
#include "mutation/fault.h"
#include "support/check.h"
#include "support/hash.h"
#include "validate/validate.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

namespace kawara::mutation {
namespace {

struct Options {
  size_t count = 200, barriers = 60, first = 0;
  uint64_t seed = 1, instances = 4'000, rest = 200'000, thorough = 1'000'000;
  double bar = 0.95;
  bool is_long = false, prints = false;
};

/// Faults of any kind in any kernel, or in what threads of a GPU wait for.
enum class Set : uint8_t { Any, Barriers };

struct Tally {
  size_t found = 0, passes = 0, spec = 0, validator = 0, interpreter = 0, field = 0;
  size_t equivalent = 0, missed = 0, unreached = 0;
  /// With an effect, as far as anybody knows: what no size reaches that can be afforded counts as
  /// missed.
  size_t real() const { return found + missed + unreached; }
};

/// One fault: after which pass, of which kind, where.
struct Seeded {
  kernel::Kernel kernel; ///< finished
  std::string pass, kind, what, stopped;
};

/// The proof over integer sets, as far as it takes less than a second.
std::optional<std::string> read_back(const corpus::Made& made, const kernel::Kernel& kernel) {
  constexpr unsigned long kQuota = 100'000;
  const validate::Report report = validate::validate(made.schedule, kernel, {kQuota});
  return report.faults.empty() ? std::nullopt : std::optional(report.faults[0]);
}

class Mutations {
public:
  explicit Mutations(const Options& options) : options_(options), subjects_(corpus::all()) {
    for (const corpus::Subject& subject : subjects_)
      if (subject.target.rfind("cuda", 0) == 0)
        launches_.push_back(subject);
  }

  int run() {
    bool is_reached = true;
    for (const auto& [set, count] :
         {std::pair(Set::Any, options_.count), std::pair(Set::Barriers, options_.barriers)}) {
      set_ = set;
      tally_ = {};
      size_t done = 0;
      for (uint64_t draw = options_.first; done < count; ++draw)
        done += one(draw) ? 1 : 0;
      if (count > 0)
        report();
      is_reached = is_reached && static_cast<double>(tally_.found) >=
                                     options_.bar * static_cast<double>(tally_.real());
    }
    return is_reached ? 0 : 1;
  }

private:
  /// Whether the draw gave a fault.
  bool one(uint64_t number) {
    const uint64_t draw = hash_mix(options_.seed, number);
    const auto& subjects = set_ == Set::Any ? subjects_ : launches_;
    const corpus::Subject& subject = subjects[hash_mix(draw, 1) % subjects.size()];
    const auto made = corpus::made(subject);
    if (!made)
      return false;
    size_t passes = 0;
    Scope scope;
    scope.sizes = kernel::edge_sizes(made->program, made->loops);
    const kernel::Kernel right = corpus::finished(
        *made, {.observer = [&](std::string_view, const kernel::Kernel&) { ++passes; },
                .keeps_functions = true});
    if (set_ == Set::Barriers && !has_waits(right))
      return false;
    for (auto& more : kernel::edge_sizes(made->program, right))
      scope.sizes.push_back(std::move(more));
    scope.seed = draw;
    scope.instances = options_.instances;
    scope.rest = options_.rest;
    // Where nothing can be run, nothing can be found: such subjects are counted by the test over
    // the corpus.
    if (kernel::check_over_field(
            made->program, right, scope.sizes,
            {.instances = scope.instances, .instances_for_rest = scope.rest, .steps = scope.steps})
            .checked == 0)
      return false;
    const auto seeded = seed_fault(*made, draw, hash_mix(draw, 2) % passes,
                                   set_ == Set::Any ? kinds_of_faults() : kinds_of_waits());
    if (!seeded)
      return false;
    judge(number, subject, *made, *seeded, scope, right);
    return true;
  }

  static std::optional<Seeded> seed_fault(const corpus::Made& made, uint64_t draw, size_t after,
                                          const std::vector<std::string>& kinds) {
    Seeded seeded;
    size_t pass = 0;
    bool is_done = false;
    kernel::PassOptions how;
    how.keeps_functions = true;
    how.change = [&](std::string_view name, kernel::Kernel k) {
      if (pass++ != after)
        return k;
      for (size_t turn = 0; turn < kinds.size() && !is_done; ++turn) {
        const std::string& kind = kinds[(hash_mix(draw, 3) + turn) % kinds.size()];
        if (auto faulty = with_fault(k, kind, draw)) {
          is_done = true;
          seeded.pass = name;
          seeded.kind = kind;
          seeded.what = std::move(faulty->what);
          return std::move(faulty->kernel);
        }
      }
      return k;
    };
    try {
      seeded.kernel = corpus::finished(made, how);
    } catch (const InternalError& error) {
      seeded.stopped = error.what();
    }
    return is_done ? std::optional(std::move(seeded)) : std::nullopt;
  }

  void judge(uint64_t number, const corpus::Subject& subject, const corpus::Made& made,
             const Seeded& seeded, const Scope& scope, const kernel::Kernel& right) {
    Verdict verdict;
    if (!seeded.stopped.empty())
      verdict.passes = seeded.stopped;
    else
      verdict = verdict_of(made, seeded.kernel, scope, validator_);
    std::string by;
    const auto count = [&](const std::string& text, size_t& into, const char* name) {
      if (text.empty())
        return;
      ++into;
      by += (by.empty() ? "" : ", ") + std::string(name);
    };
    count(verdict.passes, tally_.passes, "passes");
    count(verdict.spec, tally_.spec, "spec");
    count(verdict.validator, tally_.validator, "validator");
    count(verdict.interpreter, tally_.interpreter, "interpreter");
    count(verdict.field, tally_.field, "field");
    const bool is_found = verdict.is_found();
    if (is_found)
      ++tally_.found;
    else {
      const Effect effect = effect_of(made, right, seeded.kernel, options_.thorough);
      by = effect == Effect::None ? "no effect" : effect == Effect::Some ? "MISSED" : "UNREACHED";
      ++(effect == Effect::None   ? tally_.equivalent
         : effect == Effect::Some ? tally_.missed
                                  : tally_.unreached);
    }
    if (options_.is_long || (!is_found && by != "no effect")) {
      fmt::print("{:4} {:24} {} after {} in {}: {}\n", number, by, seeded.kind, seeded.pass,
                 subject.name, seeded.what);
      std::fflush(stdout);
    }
    if (options_.prints)
      fmt::print("{}\n--- right\n{}\n--- faulty\n{}\n", subject.text, kernel::print(right),
                 kernel::print(seeded.kernel));
  }

  void report() const {
    fmt::print(
        "{} faults{}: {} without effect; of the others {} found ({:.1f} %), {} missed, {} where no "
        "size reaches that was run\n",
        tally_.real() + tally_.equivalent,
        set_ == Set::Any ? "" : " in barriers and waits of launches", tally_.equivalent,
        tally_.found,
        100.0 * static_cast<double>(tally_.found) / static_cast<double>(tally_.real()),
        tally_.missed, tally_.unreached);
    fmt::print("found by: later passes {}, spec {}, validator {}, interpreter {}, field {}\n",
               tally_.passes, tally_.spec, tally_.validator, tally_.interpreter, tally_.field);
  }

  Options options_;
  std::vector<corpus::Subject> subjects_, launches_; ///< all, and those for a GPU
  Set set_ = Set::Any;
  Validator validator_ = read_back;
  Tally tally_;
};

} // namespace
} // namespace kawara::mutation

int main(int argc, char** argv) {
  using namespace kawara::mutation;
  Options options;
  CLI::App app("faults in kernel passes, and which checks find them");
  app.add_option("--count", options.count, "faults of any kind in any kernel");
  app.add_option("--barriers", options.barriers,
                 "... and more of them in what threads of a GPU wait for");
  app.add_option("--first", options.first, "number of the first draw");
  app.add_option("--seed", options.seed);
  app.add_option("--instances", options.instances, "of the program's statements, per fault");
  app.add_option("--rest", options.rest,
                 "... and more of them, where parts of a kernel did not run");
  app.add_option("--thorough", options.thorough, "instances for what nothing found");
  app.add_option("--bar", options.bar, "share of faults with an effect that must be found");
  app.add_flag("--long", options.is_long, "a line for each fault");
  app.add_flag("--print", options.prints, "kernels");
  CLI11_PARSE(app, argc, argv);
  return Mutations(options).run();
}
