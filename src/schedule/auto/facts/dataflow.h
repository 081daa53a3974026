#pragma once

#include "poly/scop.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// The statements that give one tensor its values, and those that read them; in the order of the
/// statements, each once. One that updates is both only where its value reads the tensor, too.
struct TensorFlow {
  std::vector<poly::StmtId> writers, readers;
  /// The tensor has the same values in every call: a constant, or a temp that is made of such
  /// tensors alone and not of itself.
  bool keeps_values = false;
};

/// How values flow through the tensors of a scop, by statements that are not inlined away.
class Dataflow {
public:
  explicit Dataflow(const poly::Scop&);
  const TensorFlow& operator[](uint32_t tensor) const { return tensors_[tensor]; }
  /// Whether all statements that touch the tensor are among these.
  bool is_local_to(uint32_t tensor, const std::vector<poly::StmtId>&) const;

private:
  enum class Kept : uint8_t { Unknown, Asked, No, Yes };
  bool keeps_values(const poly::Scop&, uint32_t tensor, std::vector<Kept>& known) const;
  std::vector<TensorFlow> tensors_;
};

/// The reader's name, for a copy of what it reads (`pack`), where others read the tensor, too.
std::optional<std::string> reader_if_several(const poly::Scop&, uint32_t tensor,
                                             poly::StmtId reader);

} // namespace kawara::schedule
