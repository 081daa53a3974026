// Every kernel of the corpus, after the last pass, against its program over a finite ring, at the
// edges of its tiles.

#include "corpus/corpus.h"
#include "kernel/interpret/check_over_field.h"
#include "kernel/interpret/edge_sizes.h"
#include "support/check.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>

namespace kawara {
namespace {

struct Options {
  std::string filter;
  uint64_t seed = 1, instances = 4'000, rest = 60'000, steps = 300'000;
  size_t part = 0, of = 1;
  bool is_long = false, prints = false;
};

struct Total {
  size_t subjects = 0, refused = 0, sizes = 0, left_out = 0, unchecked = 0, wrong = 0;
  size_t statements = 0, never_run = 0;
};

std::string sizes_text(const std::vector<int64_t>& params) {
  std::string text;
  for (const int64_t n : params)
    text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

void check(const corpus::Subject& subject, const Options& options, Total& total) {
  const auto begin = std::chrono::steady_clock::now();
  const auto made = corpus::made(subject);
  if (!made) {
    ++total.refused;
    return;
  }
  ++total.subjects;
  const kernel::Kernel kernel = corpus::finished(*made, {.keeps_functions = true});
  const auto compiled = std::chrono::steady_clock::now();
  auto sizes = kernel::edge_sizes(made->program, made->loops);
  for (std::vector<int64_t>& more : kernel::edge_sizes(made->program, kernel))
    if (std::find(sizes.begin(), sizes.end(), more) == sizes.end())
      sizes.push_back(std::move(more));
  const kernel::FieldCheck result = kernel::check_over_field(made->program, kernel, sizes,
                                                             {.seed = options.seed,
                                                              .instances = options.instances,
                                                              .instances_for_rest = options.rest,
                                                              .steps = options.steps});
  total.sizes += result.checked;
  total.left_out += result.left_out;
  total.statements += result.statements;
  total.never_run += result.never_run;
  total.unchecked += result.checked == 0 ? 1 : 0;
  const std::chrono::duration<double> passes = compiled - begin,
                                      run = std::chrono::steady_clock::now() - compiled;
  if (options.is_long)
    fmt::print(
        "{:6.2f} s + {:6.2f} s {:4} sizes, {:4} left out, {:4} of {:5} statements never run  {}\n",
        passes.count(), run.count(), result.checked, result.left_out, result.never_run,
        result.statements, subject.name);
  if (!result.wrong)
    return;
  ++total.wrong;
  fmt::print("WRONG {} at ({}): {}\n", subject.name, sizes_text(result.params), *result.wrong);
  if (options.prints)
    fmt::print("{}\n{}\n{}\n{}\n", subject.text, subject.directives, kernel::print(made->loops),
               kernel::print(kernel));
}

} // namespace
} // namespace kawara

int main(int argc, char** argv) {
  using namespace kawara;
  Options options;
  CLI::App app("finished kernels over a finite ring");
  app.add_option("--filter", options.filter, "subjects whose name has this in it");
  app.add_option("--seed", options.seed);
  app.add_option("--instances", options.instances, "of the program's statements, per subject");
  app.add_option("--rest", options.rest,
                 "... and more of them, where parts of a kernel did not run");
  app.add_option("--steps", options.steps, "of the kernel, per size");
  app.add_option("--part", options.part);
  app.add_option("--of", options.of, "parts of the corpus, one of which is run");
  app.add_flag("--long", options.is_long, "a line for each subject");
  app.add_flag("--print", options.prints, "programs and kernels that are wrong");
  CLI11_PARSE(app, argc, argv);
  Total total;
  size_t number = 0;
  for (const corpus::Subject& subject : corpus::all())
    if (number++ % options.of == options.part &&
        subject.name.find(options.filter) != std::string::npos) {
      try {
        check(subject, options, total);
      } catch (const std::exception& error) {
        ++total.wrong;
        fmt::print("WRONG {}: {}\n", subject.name, error.what());
      }
    }
  fmt::print(
      "{} kernels at {} sizes; {} of their {} statements never ran; {} sizes left out as too "
      "long, {} kernels at no size; {} refused; {} wrong\n",
      total.subjects, total.sizes, total.never_run, total.statements, total.left_out,
      total.unchecked, total.refused, total.wrong);
  return total.wrong == 0 ? 0 : 1;
}
