#pragma once

#include "scalar/expr.h"
#include "support/diagnostic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kawara::cache {

/// A whole number from variables: a constant, multiples of variables, multiples of formulas (by
/// number).
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<uint32_t, int64_t>> variables;
  std::vector<std::pair<uint32_t, int64_t>> formulas;
};

/// What is no sum of multiples. Conditions are 0 or 1. Divisions round down; one by zero is 0,
/// which no loop of a sound program does.
struct Formula {
  enum class Op : uint8_t { Min, Max, FloorDiv, Mod, Mul, Lt, Le, Eq, And, Or, Select };
  Op op = Op::Min;
  Linear a, b, c; ///< Select: b where a holds, else c
};

/// A place in the text that touches memory.
struct Reference {
  enum class Kind : uint8_t { Read, Write, Prefetch, Stream };
  Kind kind = Kind::Read; ///< Stream: a store past all caches, which drop what they hold of it
  uint32_t array = 0;
  std::string statement, text;    ///< "S0", "A[i, k]"
  std::optional<uint32_t> inside; ///< number of the innermost loop around it
};

/// `count` pieces of `bytes` each, `stride` bytes apart; the first is `at` bytes behind the begin
/// of the reference's array.
struct Touch {
  uint32_t reference = 0;
  Linear at;
  int64_t bytes = 0, count = 1, stride = 0;
  std::optional<Linear> guard; ///< happens where it is not 0
};

struct Step;
using Code = std::vector<Step>;

/// `variable` is lo, lo + step, ... while it is below `hi` (above it where the step is negative).
struct Loop {
  uint32_t variable = 0, number = 0;
  Linear lo, hi;
  int64_t step = 1;
  Code body;
};
struct Branch {
  Linear condition;
  Code then, otherwise;
};
struct Set {
  uint32_t variable = 0;
  Linear value;
};
struct Step {
  std::variant<Touch, Loop, Branch, Set> step;
};

struct Array {
  std::string name;
  int64_t bytes = 0, begin = 0; ///< the address of its first byte
};

/// A loop of the text and the one around it.
struct LoopName {
  std::string name;
  std::optional<uint32_t> inside;
};

/// What a program does to memory, in its order, and nothing else.
struct AccessProgram {
  std::vector<Array> arrays;
  std::vector<Reference> references;
  std::vector<LoopName> loops;
  std::vector<Formula> formulas;
  uint32_t variables = 0;
  Code warm_up; ///< runs before anything is counted: a first call, which packs constants
  Code code;
  int64_t assumed = 0; ///< conditions on data, both sides of which are counted
};

/// One after the other from address 0 on, each at a multiple of `unit` bytes.
void place_arrays(AccessProgram&, int64_t unit);
/// The same with the named ones first, in that order. Refuses a name that no array has, or one that
/// is given twice (K0459).
std::optional<Diagnostic> place_arrays(AccessProgram&, int64_t unit,
                                       const std::vector<std::string>& first);

/// How many accesses there are, about: loops inside others are taken to have as many iterations as
/// in the middle of those.
double about_accesses(const AccessProgram&);

/// A variable or a parameter as a sum; nothing for what is no index.
class LinearMaker {
public:
  virtual ~LinearMaker() = default;
  /// The expression as a sum, with new formulas in `program`. Nothing where it reads data.
  std::optional<Linear> linear(const scalar::Expr&);

protected:
  explicit LinearMaker(AccessProgram& program) : program_(program) {}
  /// An Iter, a Var or a Param.
  virtual Linear leaf(const scalar::Expr&) = 0;

private:
  std::optional<Linear> formula(Formula::Op, const scalar::Expr& a, const scalar::Expr& b);
  std::optional<Linear> term(const scalar::Expr&);
  Linear formula(Formula);

  AccessProgram& program_;
};

void add(Linear& sum, const Linear& other, int64_t factor = 1);

/// Values of sums where variables have theirs.
class Values {
public:
  explicit Values(const AccessProgram& program) : program_(program), of_(program.variables, 0) {}
  int64_t& operator[](uint32_t variable) { return of_[variable]; }
  int64_t operator()(const Linear& sum) const {
    int64_t value = sum.constant;
    for (const auto& [variable, factor] : sum.variables)
      value += of_[variable] * factor;
    for (const auto& [formula, factor] : sum.formulas)
      value += (*this)(program_.formulas[formula]) * factor;
    return value;
  }

private:
  int64_t operator()(const Formula&) const;

  const AccessProgram& program_;
  std::vector<int64_t> of_;
};

} // namespace kawara::cache
