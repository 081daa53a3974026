#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kawara::oracle {

/// constant + sum of coefficient * name, where names are loops or parameters.
struct Affine {
  int64_t constant = 0;
  std::vector<std::pair<std::string, int64_t>> terms;
  /// Not None, of an index: read from data.
  enum class Data : uint8_t {
    None,
    Read,    ///< element `constant + terms` of the tensor `through`, whose elements are indices
    Clamped, ///< the same of any tensor, brought inside
    Range,   ///< the value of the loop over a range that is read from data
  };
  Data data = Data::None;
  std::string through = {};
};
std::string to_string(const Affine&);

/// One read of a tensor.
struct SketchLoad {
  size_t tensor = 0;
  std::vector<Affine> index;
};

/// What is made of a term of a value: a form of the language that can also be said without it.
struct SketchForm {
  enum class Kind : uint8_t {
    Plain,
    Choice,   ///< `t if left < right else n`
    Larger,   ///< `t if t > n else n`
    And,      ///< `t & 3`
    Left,     ///< `t << n`
    Right,    ///< `t >> n`
    Not,      ///< `~t`
    Xor,      ///< `t ^ 5`
    Clamp,    ///< `clamp(t, -n, 7)`
    Call,     ///< of a function of one line
    LongCall, ///< of one with a `let`
    Last = LongCall,
  };
  Kind kind = Kind::Plain;
  int64_t number = 1;
  Affine left, right;
};

/// A small program before it is text. Every access is kept inside its tensor by shapes and offsets
/// that are worked out when it is printed, so that any part may be dropped and the rest still be
/// valid.
struct SketchNode {
  enum class Kind : uint8_t { Loop, If, Statement };
  Kind kind = Kind::Statement;
  std::vector<SketchNode> body, otherwise; ///< `otherwise` of an If

  // loop: range(lo, hi, step); with `hi_min` the bound is min(hi, hi_min)
  std::string name;
  Affine lo, hi;
  std::vector<Affine> hi_min;
  int64_t step = 1;
  /// Runs over the whole of dimension `fills.second` of tensor `fills.first` instead.
  std::optional<std::pair<size_t, size_t>> fills;

  // if: `left relation right`, left taken modulo `modulus` where that is not 0
  Affine left, right;
  std::string relation;
  int64_t modulus = 0;

  // statement
  SketchLoad target;
  std::string op = "="; ///< =, +=, *=, max=, min=
  std::vector<SketchLoad> loads;
  std::vector<int64_t> factors; ///< one per load
  int64_t constant = 0;
  bool takes_max = false;        ///< combine the loads by max instead of +
  std::optional<Affine> over;    ///< runs over q in range(P[over], P[over + 1])
  std::vector<SketchForm> forms; ///< one per load, or none
  bool has_name = false; ///< a `let` holds the last term while the target gets 1 more; needs forms
                         ///< and a last load
};

struct SketchTensor {
  std::string name, role, elem;
  size_t rank = 1;
};

struct Sketch {
  std::vector<std::pair<std::string, int64_t>> params; ///< name, value to try
  std::vector<SketchTensor> tensors;
  std::vector<SketchNode> body;
  std::string numerics;   ///< empty: the default
  bool has_forms = false; ///< statements may have forms
  // of planned_case.h
  std::string text;            ///< not empty: the whole program, instead of what stands above
  std::string instruction;     ///< that a product is made for; empty: rows, made for `online`
  bool has_second_sum = false; ///< of two that need the maximum of a row
  double tolerance = 0;        ///< for each unit of a result, where sums are rounded
};

/// How `text_of` says forms of the language that others can stand for: `x & 3` or `x % 4`.
enum class Spelling : uint8_t { Short, Long };

/// The sketch as `.kw` text. Both spellings mean the same.
std::string text_of(const Sketch&, Spelling = Spelling::Short);

/// Values of the parameters, in declaration order.
std::vector<int64_t> values_of(const Sketch&);

} // namespace kawara::oracle
