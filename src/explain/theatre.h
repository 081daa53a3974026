#pragma once

#include "cache/access_program.h"
#include "cache/simulate.h"
#include "estimate/energy/energy.h"
#include "program/program.h"
#include "schedule/schedule.h"

#include <span>
#include <string>
#include <vector>

namespace kawara::explain {

/// A statement; `touches` and formulas have its iterators as variables, the outermost first.
struct TheatreStatement {
  std::string name, text;
  std::vector<std::string> iters;
  int64_t operations = 0; ///< of one instance
  std::vector<cache::Touch> touches;
};

struct TheatreStep;
using TheatreCode = std::vector<TheatreStep>;

struct TheatreLoop {
  uint32_t variable = 0;
  std::string name, mark; ///< "i_0"; "parallel", "vector 4", "block.x", or nothing
  cache::Linear lo, hi;
  int64_t step = 1;
  TheatreCode body;
};
struct TheatreBranch {
  cache::Linear condition;
  TheatreCode then, otherwise;
};
/// An instance of a statement: what its iterators are.
struct TheatreRun {
  uint32_t statement = 0;
  std::vector<cache::Linear> at;
};
struct TheatreStep {
  std::variant<TheatreLoop, TheatreBranch, TheatreRun> step;
};

/// The loops of a legal order.
struct TheatreOrder {
  uint32_t variables = 0;
  std::vector<cache::Formula> formulas;
  TheatreCode code;
};

/// What the judge says against an order, with the two iterations that would break.
struct TheatreRefusal {
  std::string verdict, headline; ///< "illegal" or "undecided"
  std::vector<std::string> body;
  struct Instance {
    uint32_t statement = 0;
    std::vector<int64_t> iters;
  };
  std::optional<Instance> source, sink;
  std::string tensor, condition;    ///< what both touch; for which sizes
  std::vector<std::string> repairs; ///< directives that were proved to work instead
};

/// A list of directives and what became of it.
struct TheatreSchedule {
  std::string family; ///< "as written", "order", "tile", "mark", "asked", "repair"
  std::string directives;
  int64_t tile = 0; ///< of the family "tile"
  bool reassociates = false;
  std::optional<TheatreOrder> order; ///< of a legal one
  std::optional<TheatreRefusal> refusal;
  std::vector<cache::LevelCounts> counts; ///< of the caches, by src/cache
};

/// A program that is small enough to be watched, in several orders.
struct Theatre {
  std::vector<std::string> params;
  std::vector<int64_t> real_sizes, sizes;
  bool is_toy = false;          ///< whether sizes were made smaller
  bool is_for_all_sizes = true; ///< whether verdicts are; else for `sizes` alone
  double real_bytes = 0, bytes = 0, operations = 0;
  std::string unit; ///< "FLOP" or "OP"
  struct Array {
    std::string name, role, type;
    std::vector<int64_t> shape;
    int64_t element_bytes = 0;
  };
  std::vector<Array> shapes; ///< of `accesses.arrays`
  /// Arrays, references and formulas of the statements; no code.
  cache::AccessProgram accesses;
  std::vector<TheatreStatement> statements;
  uint32_t main = 0; ///< the statement that most operations belong to
  std::vector<cache::Description> real_caches, caches;
  /// What any order loads at least into so many bytes, empty at the begin.
  std::vector<std::pair<int64_t, double>> least;
  std::optional<estimate::EnergyFigures> energy;
  std::vector<TheatreSchedule> schedules; ///< the first: as written
};

struct TheatreRequest {
  const program::Program& program; ///< sizes not fixed
  std::span<const int64_t> sizes;
  const std::vector<schedule::Directive>& asked; ///< of which directives of order are kept
  std::vector<cache::Description> caches;
  std::optional<estimate::EnergyFigures> energy;
  const schedule::Environment& environment;
};

/// The program with at most 32 iterations a dimension, its caches smaller by as much as its arrays
/// are, and orders of its main nest, each judged. Why it cannot be shown: addresses that depend on
/// data, no loops, too many iterations whatever the sizes.
Result<Theatre, std::string> theatre(const TheatreRequest&);

/// The loops that run a schedule; nothing where they do more than run statements of its text.
std::optional<TheatreOrder> theatre_order(const schedule::Schedule&,
                                          std::span<const int64_t> sizes);

/// The accesses of an order, one after the other.
cache::AccessProgram accesses_in_order(const Theatre&, const TheatreOrder&);

/// Orders worth watching, as written first: permutations and tiles of the loops around `main`,
/// parallel and vector loops, what was asked for, and for refused ones what works instead.
std::vector<TheatreSchedule> theatre_schedules(const schedule::Schedule& as_written,
                                               poly::StmtId main, const TheatreRequest&,
                                               std::span<const int64_t> sizes);

/// An object on one line: docs/reference/theatre.md.
std::string to_json(const Theatre&);

} // namespace kawara::explain
