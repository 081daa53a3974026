#pragma once

#include "validate/accesses.h"
#include "validate/copies.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace kawara::validate {

/// One step of the way from a kernel's body to one of its statements: the statement's number in a
/// block, or a loop.
struct Step {
  enum class Kind : uint8_t { Position, Serial, Parallel, Thread };
  Kind kind = Kind::Position;
  uint32_t at = 0; ///< the number; of a loop, its dimension
  friend bool operator==(const Step&, const Step&) = default;
};

/// Where the statements of one block stand.
struct BlockPlace {
  std::vector<Step> path;
  size_t loops = 0;
  std::vector<scalar::Expr> conditions; ///< quasi-affine, in dimensions
  bool is_then = true;                  ///< runs where all conditions on data hold
  bool is_otherwise = true;             ///< runs where none does
};

/// Statements of one block that run instances of one statement of the scop, copies of each other.
struct Group {
  std::shared_ptr<const BlockPlace> place;
  Copies copies;
};

/// The groups of the arms of a condition on data, by number: `first` to `middle - 1`, `middle` to
/// `end - 1`.
struct Arms {
  size_t first = 0, middle = 0, end = 0, loops = 0;
};

/// What a kernel's body says, as expressions; no set is made for it.
struct DomainFacts {
  std::vector<Group> groups;
  std::vector<Arms> arms;
  std::vector<std::string> unread;      ///< what could not be read, and why
  std::set<uint32_t> unread_statements; ///< of the scop
  Accesses accesses;
};

/// `most_accesses`: of these the elements are looked at, no more.
DomainFacts domain_facts_of(const poly::Scop&, const kernel::Kernel&, size_t most_accesses);

} // namespace kawara::validate
