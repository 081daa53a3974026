// Every kernel of the corpus, after the last pass, read back into integer sets and compared with
// its schedule for all sizes.

#include "corpus/corpus.h"
#include "support/check.h"
#include "validate/validate.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <map>

namespace kawara {
namespace {

struct Options {
  std::string filter;
  std::vector<std::string> models;
  unsigned long quota = 300'000;
  bool is_quick = false;
  size_t part = 0, of = 1, repeat = 1;
  bool is_long = false, prints = false;
};

/// What was said of the kernels of one kind.
struct Total {
  size_t kernels = 0, proved = 0, partly = 0, unfinished = 0, too_large = 0, faulty = 0;
  size_t whole = 0;    ///< kernels of which all accesses were compared
  size_t compared = 0; ///< accesses
  std::vector<double> milliseconds;
};

struct Table {
  std::map<std::string, Total> kinds;
  std::map<std::string, size_t> reasons; ///< why something was not checked
  size_t refused = 0, faults = 0;
};

/// "examples on cpu", "nets on cuda".
std::string kind_of(const corpus::Subject& subject) {
  const size_t slash = subject.name.find('/');
  const std::string folder = subject.name.substr(0, slash);
  const bool is_listed = folder == "examples" || folder == "schedules" || folder == "suites" ||
                         folder == "nets" || folder == "zoo";
  return (is_listed ? folder : "stories") + " on " +
         subject.target.substr(0, subject.target.find(':'));
}

/// What this thread has used: other programs on the machine do not count.
double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Without the names of statements and tensors, so that equal reasons are counted together.
std::string reason_of(const std::string& unchecked) {
  const size_t colon = unchecked.rfind(": ");
  return colon == std::string::npos ? unchecked : unchecked.substr(colon + 2);
}

/// More statements than the limits allow: nothing was looked at.
bool is_too_large(const validate::Report& report) {
  return !report.is_read && report.unchecked.empty();
}

void check(const corpus::Subject& subject, const Options& options, Table& table) {
  const auto made = corpus::made(subject);
  if (!made) {
    ++table.refused;
    return;
  }
  const kernel::Kernel kernel = corpus::finished(*made, {});
  validate::Report report;
  double took = std::numeric_limits<double>::infinity();
  for (size_t n = 0; n < options.repeat; ++n) {
    const double begin = processor_milliseconds();
    report =
        validate::validate(made->schedule, kernel,
                           options.is_quick ? validate::kQuick : validate::Limits{options.quota});
    took = std::min(took, processor_milliseconds() - begin);
  }
  Total& total = table.kinds[kind_of(subject)];
  ++total.kernels;
  total.milliseconds.push_back(took);
  const bool is_faulty = !report.faults.empty();
  ++(is_faulty                   ? total.faulty
     : is_too_large(report)      ? total.too_large
     : !report.is_finished       ? total.unfinished
     : !report.unchecked.empty() ? total.partly
                                 : total.proved);
  total.whole += report.uncompared.empty() && report.compared > 0 ? 1 : 0;
  total.compared += report.compared;
  for (const auto* list : {&report.unchecked, &report.uncompared})
    for (const std::string& unchecked : *list)
      ++table.reasons[reason_of(unchecked)];
  if (options.is_long)
    fmt::print("{:9.2f} ms {:10} {}\n", took,
               is_faulty                   ? "FAULT"
               : is_too_large(report)      ? "too large"
               : !report.is_finished       ? "unfinished"
               : !report.unchecked.empty() ? "partly"
                                           : "proved",
               subject.name);
  if (options.is_long)
    for (const auto* list : {&report.unchecked, &report.uncompared})
      for (const std::string& unchecked : *list)
        fmt::print("             {}\n", unchecked);
  if (is_faulty) {
    ++table.faults;
    for (const std::string& fault : report.faults)
      fmt::print("FAULT {}: {}\n", subject.name, fault);
    if (options.prints)
      fmt::print("{}\n{}\n{}\n", subject.text, subject.directives, kernel::print(kernel));
  }
}

void print(const Table& table) {
  fmt::print("{:24} {:>8} {:>8} {:>8} {:>10} {:>9} {:>7} {:>9} {:>12} {:>10} {:>10} {:>10}\n", "",
             "kernels", "proved", "partly", "unfinished", "too large", "faults", "accesses",
             "all compared", "median ms", "95 % ms", "most ms");
  Total all;
  const auto line = [](const std::string& name, Total total) {
    auto& times = total.milliseconds;
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
      return times.empty()
                 ? 0.0
                 : times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
    };
    fmt::print("{:24} {:8} {:8} {:8} {:10} {:9} {:7} {:9} {:12} {:10.2f} {:10.2f} {:10.2f}\n", name,
               total.kernels, total.proved, total.partly, total.unfinished, total.too_large,
               total.faulty, total.compared, total.whole, at(0.5), at(0.95), at(1.0));
  };
  for (const auto& [kind, total] : table.kinds) {
    line(kind, total);
    all.kernels += total.kernels;
    all.proved += total.proved;
    all.partly += total.partly;
    all.unfinished += total.unfinished;
    all.too_large += total.too_large;
    all.faulty += total.faulty;
    all.compared += total.compared;
    all.whole += total.whole;
    all.milliseconds.insert(all.milliseconds.end(), total.milliseconds.begin(),
                            total.milliseconds.end());
  }
  line("all", all);
  for (const auto& [reason, count] : table.reasons)
    fmt::print("{:5} times not checked: {}\n", count, reason);
  fmt::print("{} kernels; {} refused; {} faults\n", all.kernels, table.refused, table.faults);
}

} // namespace
} // namespace kawara

int main(int argc, char** argv) {
  using namespace kawara;
  Options options;
  CLI::App app("finished kernels as integer sets");
  app.add_option("--filter", options.filter, "subjects whose name has this in it");
  app.add_option("--model", options.models,
                 "nets of the zoo and ONNX files, instead of the corpus");
  app.add_option("--quota", options.quota, "isl operations that one kernel may take");
  app.add_flag("--quick", options.is_quick, "the limits of every compilation");
  app.add_option("--repeat", options.repeat, "times that each is read; the shortest counts");
  app.add_option("--part", options.part);
  app.add_option("--of", options.of, "parts of the corpus, one of which is read");
  app.add_flag("--long", options.is_long, "a line for each subject");
  app.add_flag("--print", options.prints, "programs and kernels that are wrong");
  CLI11_PARSE(app, argc, argv);
  Table table;
  size_t number = 0;
  std::vector<corpus::Subject> subjects;
  if (options.models.empty())
    subjects = corpus::all();
  for (const std::string& model : options.models)
    try {
      for (corpus::Subject& subject : corpus::programs_of(model))
        subjects.push_back(std::move(subject));
    } catch (const std::exception& error) {
      ++table.refused;
      fmt::print("{} is not read: {}\n", model, error.what());
    }
  for (const corpus::Subject& subject : subjects)
    if (number++ % options.of == options.part &&
        subject.name.find(options.filter) != std::string::npos) {
      try {
        check(subject, options, table);
      } catch (const std::exception& error) {
        ++table.faults;
        fmt::print("FAULT {}: {}\n", subject.name, error.what());
      }
    }
  print(table);
  return table.faults == 0 ? 0 : 1;
}
