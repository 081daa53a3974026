#include "explain/report.h"

#include "explain/words.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kawara::explain {
namespace {

constexpr size_t kNameOfKind = 46;

/// Operators or kernels of one name.
struct Kind {
  std::string name;
  int64_t times = 0;
  double operations = 0, accesses = 0, unique = 0;
};

std::string clipped(const std::string& name, size_t width) {
  std::string text = printable(name);
  return text.size() < width ? text : text.substr(0, width - 4) + "...";
}

std::string table_of(std::vector<Kind> kinds) {
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const Kind& a, const Kind& b) { return a.accesses > b.accesses; });
  std::string text = fmt::format("  {:<{}}{:>6}{:>11}{:>11}{:>11}{:>9}\n", "", kNameOfKind, "times",
                                 "OP/byte", "accesses", "unique", "repeat");
  for (const Kind& kind : kinds)
    text +=
        fmt::format("  {:<{}}{:>6}{:>11.4g}{:>11}{:>11}{:>9.2f}\n", clipped(kind.name, kNameOfKind),
                    kNameOfKind, kind.times, kind.unique > 0 ? kind.operations / kind.unique : 0.0,
                    amount(kind.accesses, "B"), amount(kind.unique, "B"),
                    kind.unique > 0 ? kind.accesses / kind.unique : 0.0);
  return text;
}

std::string use_by_operators(const ModelFacts& facts) {
  std::map<std::string, Kind> kinds;
  for (const OperatorReport& each : facts.operators) {
    Kind& kind = kinds[each.op];
    kind.name = each.op;
    ++kind.times;
    kind.operations += each.operations;
    kind.accesses += each.accesses;
    kind.unique += each.bytes;
  }
  std::vector<Kind> list;
  for (const auto& [op, kind] : kinds)
    list.push_back(kind);
  return table_of(std::move(list));
}

std::string operators_text(const KernelReport& kernel) {
  std::string text;
  for (const auto& [op, count] : kernel.operators)
    text += (text.empty() ? "" : " + ") + (count > 1 ? fmt::format("{} ", count) : "") + op;
  return text;
}

std::string use_by_kernels(const ModelReport& report) {
  std::vector<Kind> list;
  for (const KernelReport& kernel : report.kernels) {
    const auto times = static_cast<double>(kernel.times);
    list.push_back({operators_text(kernel), kernel.times, kernel.operations * times,
                    kernel.accesses * times, kernel.unique * times});
  }
  return table_of(std::move(list));
}

std::string pairs_table(const ModelFacts& facts, bool is_after) {
  std::string text;
  for (const PairReport& pair : facts.pairs)
    if (pair.is_after == is_after && pair.overlap.shared > 0)
      text += fmt::format("  {:<{}}{:>6}{:>11}{:>11}{:>11}\n",
                          clipped(pair.first, 34) + " -> " + clipped(pair.second, 34), 72,
                          pair.times, percent(pair.overlap.of_first),
                          percent(pair.overlap.of_second), percent(pair.overlap.of_union));
  const std::string head =
      fmt::format("\nNeighbours that share elements, {} fusion\n"
                  "  {:<72}{:>6}{:>11}{:>11}{:>11}\n",
                  is_after ? "after" : "before", "", "times", "of first", "of second", "of union");
  return text.empty() ? "" : head + text;
}

} // namespace

std::string print_kernels(const ModelReport& report) {
  return "Before fusion: each operator a kernel\n" + use_by_operators(report.facts) +
         "\nAfter fusion\n" + use_by_kernels(report) + pairs_table(report.facts, false) +
         pairs_table(report.facts, true);
}

} // namespace kawara::explain
