#pragma once

// C sees models only; C++ everything.
#include "kawara/model_c.h"

#ifdef __cplusplus
#include "kawara/diagnostic.h"
#include "kawara/executable.h"
#include "kawara/model.h"
#include "kawara/schedule.h"
#include "kawara/target.h"

#include <memory>
#include <string>
#include <vector>

/// Kawara from C++: text to program, program to a proven schedule, schedule to native code.
///
///   kawara::Program p = kawara::parse(text);
///   kawara::Schedule s = p.schedule({{"M", 512}, {"N", 512}, {"K", 512}});
///   s.tile({{"i", 64}, {"j", 64}}).parallel("i.0");
///   kawara::Executable e = s.compile();
///   e.run({{"A", a.data()}, {"B", b.data()}, {"C", c.data()}});
namespace kawara {

/// A program: statements over loops. Copies share it; it never changes.
class Program {
public:
  std::vector<std::string> params() const;  ///< in the order of the text
  std::vector<std::string> tensors() const; ///< inputs, outputs and inouts
  std::string print() const;                ///< canonical loop text

  /// The source order, for all sizes, or for those given: what is fixed becomes constant in the
  /// code. Throws Error where an access may leave its tensor (K0170) or a temp is read unwritten
  /// (K0171).
  Schedule schedule(const Sizes& sizes = {}) const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl);

private:
  std::shared_ptr<const Impl> impl_;
};

/// Program from `.kw` text; `name` is what messages call it. Throws Error with all errors at once.
Program parse(const std::string& text, const std::string& name = "program.kw");

} // namespace kawara
#endif
