// oracle --seeds A..B [--sequences K] [--compiled [EVERY]] [--indices | --forms | --scans]
// [--arrange] [--verify]
// [--program-only]
//
// Draws one small program per seed and K directive sequences for it. Every verdict of the judge is
// compared with brute-force enumeration, every accepted schedule is run against the interpreter.
// With --indices, programs read their indices from data; with --forms, they have choices, operators
// on bits, functions and names for values, and a longer spelling without these must mean the same;
// with --scans, most statements store running values, and every third directive asks for lanes.
// With --compiled, every EVERYth sequence (default: each) ends with its schedule compiled and run.
// With --verify, what the syntactic prover answers is compared with what sets say.
// A disagreement is shrunk and printed; the last line counts what was checked.

#include "oracle/oracle_sweep.h"

#include "oracle/check.h"
#include "oracle/planned_case.h"
#include "oracle/random_directive.h"
#include "oracle/random_program.h"
#include "oracle/shrink.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace kawara::oracle {
namespace {

struct OracleOptions {
  uint64_t first = 1, last = 20;
  uint64_t sequences = 20;
  bool program_only = false;
  uint64_t compiled_every = 0; ///< 0: never
  bool reads_indices = false, has_forms = false, has_scans = false, arranges = false;
  bool verifies = false;
};

bool parse_oracle(int argc, char** argv, OracleOptions& options) {
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    if (word == "--program-only") {
      options.program_only = true;
      continue;
    }
    if (word == "--indices") {
      options.reads_indices = true;
      continue;
    }
    if (word == "--forms") {
      options.has_forms = true;
      continue;
    }
    if (word == "--scans") {
      options.has_scans = true;
      continue;
    }
    if (word == "--verify") {
      options.verifies = true;
      continue;
    }
    if (word == "--arrange") {
      options.arranges = true;
      continue;
    }
    if (word == "--compiled") {
      options.compiled_every = 1;
      if (a + 1 < argc && argv[a + 1][0] != '-')
        options.compiled_every = std::max(1ULL, std::strtoull(argv[++a], nullptr, 10));
      continue;
    }
    if (a + 1 == argc)
      return false;
    const std::string value = argv[++a];
    char* rest = nullptr;
    if (word == "--seeds") {
      options.first = options.last = std::strtoull(value.c_str(), &rest, 10);
      if (std::strncmp(rest, "..", 2) == 0)
        options.last = std::strtoull(rest + 2, &rest, 10);
    } else if (word == "--sequences") {
      options.sequences = std::strtoull(value.c_str(), &rest, 10);
    } else {
      return false;
    }
    if (*rest != '\0')
      return false;
  }
  return options.first <= options.last;
}

schedule::Environment environment() {
  schedule::Environment made;
  if (const auto cpu = target::named_cpu(target::named_cpus().front()))
    made.cpu = *cpu;
  return made;
}

std::shared_ptr<poly::Comparison> comparison_of(const Manner& manner) {
  return manner.verifies ? std::make_shared<poly::Comparison>() : nullptr;
}

/// What goes wrong when the directives are asked of the program; empty: nothing.
std::optional<std::string> failure_of(const Case& failing, const Manner& manner) {
  try {
    const auto subject = subject_from(failing.sketch, comparison_of(manner));
    if (!subject)
      return subject.error().is_disagreement ? std::optional(subject.error().why) : std::nullopt;
    size_t at = 0;
    const Next replay = [&](const schedule::Schedule&) -> std::optional<schedule::Directive> {
      if (at == failing.directives.size())
        return std::nullopt;
      return failing.directives[at++];
    };
    Counts counts;
    std::vector<schedule::Directive> asked;
    if (const auto wrong = check_sequence(*subject, environment(), replay, manner, counts, asked))
      return wrong->what;
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::string("stopped by an error: ") + error.what();
  }
}

void report(const Case& failing, uint64_t seed, const Manner& manner) {
  const auto fails = [&](const Case& c) { return failure_of(c, manner).has_value(); };
  const Case small = shrunk(failing, fails);
  std::printf("disagreement at seed %llu\n\n%s\n", static_cast<unsigned long long>(seed),
              text_of(small.sketch).c_str());
  for (const auto& [name, value] : small.sketch.params)
    std::printf("%s = %lld\n", name.c_str(), static_cast<long long>(value));
  std::printf("directives: %s\n%s\n\n", schedule::print(small.directives).c_str(),
              failure_of(small, manner).value_or("(not repeatable)").c_str());
  std::fflush(stdout);
}

/// Returns the number of disagreements (at most one per program).
size_t check_program(const OracleOptions& options, uint64_t seed, Counts& counts) {
  const bool is_planned =
      has_plan(seed) && !options.reads_indices && !options.has_forms && !options.has_scans;
  const Sketch sketch = options.reads_indices ? random_indexed_program(seed)
                        : options.has_forms   ? random_program_with_forms(seed)
                        : options.has_scans   ? random_program_with_scans(seed)
                        : is_planned          ? planned_program(seed)
                                              : random_program(seed);
  ++counts.programs;
  if (options.program_only) {
    std::printf("# seed %llu\n%s\n", static_cast<unsigned long long>(seed),
                text_of(sketch).c_str());
    return 0;
  }
  Manner plain{seed};
  plain.verifies = options.verifies;
  try {
    const std::shared_ptr<poly::Comparison> comparison = comparison_of(plain);
    const auto subject = subject_from(sketch, comparison);
    if (!subject) {
      ++counts.rejected;
      if (!subject.error().is_disagreement)
        return 0;
      report({sketch, {}}, seed, plain);
      return 1;
    }
    const schedule::Environment machine = environment();
    for (uint64_t k = 0; k < options.sequences; ++k) {
      Manner manner{seed * 1000003 + k};
      manner.verifies = options.verifies;
      manner.is_compiled = options.compiled_every != 0 && (seed + k) % options.compiled_every == 0;
      std::mt19937_64 random(manner.seed);
      uint64_t left = 1 + std::min(random() % 4, random() % 4);
      std::vector<schedule::Directive> plan;
      if (is_planned)
        plan = random_plan(sketch, random);
      size_t planned = 0;
      const Next next = [&](const schedule::Schedule& now) -> std::optional<schedule::Directive> {
        // Those of the plan, now and then with another between them; what is left afterwards.
        if (planned < plan.size() && (left == 0 || random() % 8 != 0))
          return plan[planned++];
        if (left == 0)
          return std::nullopt;
        --left;
        if (options.arranges && random() % 2 == 0)
          return random_arrangement(now, random);
        if (options.has_scans && random() % 3 == 0)
          return random_lanes(now, random);
        return is_planned && random() % 4 == 0 ? random_request(now, random)
                                               : random_directive(now, machine, random);
      };
      std::vector<schedule::Directive> asked;
      if (check_sequence(*subject, machine, next, manner, counts, asked)) {
        report({sketch, asked}, seed, manner);
        return 1;
      }
    }
    if (comparison)
      counts.comparison.add(*comparison);
  } catch (const std::exception&) {
    report({sketch, {}}, seed, plain);
    return 1;
  }
  return 0;
}

} // namespace

int oracle_program(int argc, char** argv) {
  OracleOptions options;
  if (!parse_oracle(argc, argv, options)) {
    std::fprintf(stderr, "usage: oracle --seeds A..B [--sequences K] [--compiled [EVERY]] "
                         "[--indices | --forms | --scans] [--arrange] [--verify] "
                         "[--program-only]\n");
    return 1;
  }
  Counts counts;
  size_t wrong = 0;
  for (uint64_t seed = options.first; seed <= options.last; ++seed)
    wrong += check_program(options, seed, counts);
  std::printf(
      "%zu programs (%zu refused), %zu program x sequence checks, %zu directives: %zu legal, "
      "%zu not legal, %zu refused for shape, %zu rewrites, %zu tensorize, %zu online, %zu scans; "
      "%zu asked "
      "for all sizes, %zu "
      "runs, %zu compiled; %zu refused for what data might do; "
      "%zu disagreements\n",
      counts.programs, counts.rejected, counts.sequences, counts.directives, counts.legal,
      counts.illegal, counts.shapes, counts.rewrites, counts.tensorize, counts.online, counts.scans,
      counts.symbolic, counts.runs, counts.compiled, counts.cautious, wrong);
  if (options.verifies)
    std::printf("%s\n", poly::text_of(counts.comparison).c_str());
  return wrong == 0 ? 0 : 1;
}

} // namespace kawara::oracle
