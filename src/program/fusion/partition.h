#pragma once

#include "program/fusion/compose.h"
#include "program/fusion/mapping.h"

#include <string>
#include <vector>

namespace kawara::program::fusion {

/// An operator that waits for a kernel.
struct Draft {
  std::string name, op; ///< for messages, for its mapping
  Part part;
  std::string text;      ///< of its program alone
  bool is_fixed = false; ///< stays alone: it needs no kernel
};

/// Operators that share a kernel.
struct Group {
  std::vector<size_t> members; ///< drafts, in order
  Mapping mapping = Mapping::OneToOne;
  std::string text;
  std::vector<ValueId> operands, results;
  int64_t bytes_saved = 0; ///< written and read again if each member had its own kernel
};

/// A value that one group writes and another reads, and why they are two.
struct Border {
  size_t from, to; ///< drafts
  ValueId value;
  std::string why;
};

struct Partition {
  std::vector<Group> groups; ///< in an order in which values are made before they are read
  std::vector<Border> borders;
};

/// Brings drafts together: what computes element by element joins the operator that makes its
/// input, in chains and over branches that meet again, as far as the table of mappings allows, no
/// value needs to be computed twice, and no path leaves a group and comes back. Chains that follow
/// no other operator are grown from those with the smallest results. Values in `needed` are stored
/// in any case.
Partition partition(const std::vector<Draft>& drafts, const std::set<ValueId>& needed);

/// One group for each draft.
Partition run_in_subprocess(const std::vector<Draft>& drafts);

} // namespace kawara::program::fusion
