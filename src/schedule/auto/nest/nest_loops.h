#pragma once

#include "schedule/auto/rowwise/reduce_columns.h"
#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// Which rules for single nests are asked.
enum class NestKind : uint8_t {
  Plain,
  Columns,     ///< sums of columns, whose order of loops is that of other nests (column_sums)
  HasLanes,    ///< somebody chose lanes already: a copy that came with a product's plan
  ReadsIndices ///< some elements follow from data
};

/// The loops of a perfect nest by the part they play when its iterations run in lanes.
struct NestLoops {
  NestKind kind = NestKind::Plain;
  std::optional<size_t> vector;   ///< runs in lanes
  std::optional<size_t> rows;     ///< parallel, held in registers together with the lanes
  std::optional<size_t> parallel; ///< spread over threads
  std::vector<size_t> rest;       ///< movable, none of the above, in source order
  std::optional<ColumnSums> columns;
  bool may_share = false; ///< there is enough to do for threads, and none are at work around
  int64_t lanes = 1;      ///< of a vector of the machine
};

/// Of the site's nest.
const NestLoops& nest_loops(const Site&);

/// The name of one of the nest's loops, or of a part of it: ".0".
LoopName loop_name(const Site&, size_t position, const std::string& part = "");

} // namespace kawara::schedule
