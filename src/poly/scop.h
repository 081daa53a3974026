#pragma once

#include "poly/isl/context.h"
#include "poly/order.h"
#include "poly/proof_cache.h"
#include "program/program.h"

#include <memory>
#include <vector>

namespace kawara::poly {

enum class DependenceKind : uint8_t { Flow, Anti, Output };
std::string_view
    name_of(DependenceKind); ///< "write before read", "read before write", "write before write"

/// Pairs of instances { source[x] -> sink[y] } that touch the same element of `tensor`, at least
/// one writing, x before y in the source order.
struct Dependence {
  DependenceKind kind = DependenceKind::Flow;
  uint32_t tensor = 0;
  StmtId source, sink;
  /// Both are updates of the element with the same operator, through that access alone: they may
  /// run in either order where the numerics contract lets reductions be reassociated.
  bool is_reduction = false;
  isl::map relation;
  std::shared_ptr<ProofCache> shown = nullptr; ///< by the judge, of the relation
};

/// How one statement touches one tensor. `relation` is { S[iters] -> T[element] }, within the
/// domain.
struct Access {
  StmtId statement;
  uint32_t tensor = 0;
  bool is_write = false;
  bool is_update = false; ///< the read or the write half of `element op= value`
  std::vector<Expr> index;
  isl::map relation;
  /// Not so: an index reads data, or the statement runs over a range that does. The relation then
  /// has every element that may be touched; a write may leave each of them as it was.
  bool is_sure = true;
};

class DomainFacts;

/// A statement with its iterations. `text.iters` names the dimensions of `domain`; Iter d in its
/// expressions is dimension d. The isl tuple is called like the statement.
struct ScopStatement {
  program::Statement text;
  isl::set domain;
  bool is_removed = false; ///< inlined away; keeps its number
  mutable std::shared_ptr<const DomainFacts> reading =
      nullptr; ///< of a domain, once asked (`domain_facts_of`)
};

/// What dependences were worked out from: `rebuilt` keeps those between statements that have not
/// changed since, neither in themselves nor in their order.
struct Analysed {
  std::vector<ScopStatement> statements;
  Order source_order;
};

/// A Program as integer sets and relations.
///
/// Scops are values: directives that change statements (inline, compute_at, rfactor) make a new one
/// with `rebuilt`. `source_order` is the order whose meaning must be kept.
struct Scop {
  ContextPtr context_owner; ///< first member: destroyed last
  SourcePtr source;
  std::vector<program::Param> params;
  std::vector<program::Tensor> tensors;
  program::Numerics numerics = program::Numerics::Rounding;
  isl::set context; ///< what is known of the parameters
  std::vector<ScopStatement> statements;
  Order source_order;
  /// Every conflicting pair (not only the nearest): what a reordering must respect. Memory-based,
  /// because chains through relaxed reductions do not imply their ends.
  std::vector<Dependence> dependences;
  std::shared_ptr<const Analysed>
      analysed;         ///< what `dependences` are of; none before the first time
  Diagnostics warnings; ///< e.g. an output element that nobody writes
  /// Outputs that must be zeroed before the first statement: not every element is written before it
  /// is read.
  std::vector<uint32_t> zeroed_outputs;

  const ScopStatement& operator[](StmtId id) const { return statements[id.value]; }
};

/// The sets and relations of a program. Refuses programs that read or write outside a tensor or
/// read a temp element before it is written, each with the first such iteration and for which
/// sizes.
Parsed<Scop> scop_from_program(const program::Program&, ContextPtr);

/// All accesses of the scop's live statements, in statement order: reads of indices, those of the
/// value left to right, then (for updates) the read of the element, then the write.
std::vector<Access> accesses(const Scop&);

/// `scop` with the dependences of its statements and source order.
Scop rebuilt(Scop scop);

/// `scop` after elements of tensors have got other places, different elements different ones: its
/// dependences are what they were, and the divisions of the new indices need not go through the
/// analysis.
Scop with_elements_moved(Scop scop);

/// Exact value-based dependences: a flow goes from the last write of the value that is read, anti
/// and output to the next write of the element.
std::vector<Dependence> exact_dependences(const Scop&);

scalar::Names names_of(const Scop&, StmtId);
std::vector<std::string> names_of_statements(const Scop&);

/// Invariants of the artefact; empty when well formed.
std::vector<std::string> spec(const Scop&);

/// Domains, accesses and orders in isl notation, one per line.
std::string print(const Scop&);

} // namespace kawara::poly
