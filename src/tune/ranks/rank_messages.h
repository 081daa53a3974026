#pragma once

#include "tune/measure/measurer.h"
#include "tune/measure/worker.h"
#include "tune/task.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

// What ranks say to each other, as text. Reading gives nothing for text of another kind.

/// Here is a task; answered by a RankReady.
struct RankTask {
  uint32_t number = 0;
  Task task;
  int workers = 1;
  Limits limits;
};
std::string task_message(const RankTask&);
std::optional<uint32_t> task_number_from(const std::string& message);
/// The task as this machine sees it. Refuses what `task_of` refuses.
std::optional<Parsed<RankTask>> task_from(const std::string& message);

struct RankReady {
  uint32_t task = 0;
  int workers = 1;
  std::string target; ///< Key::target of the task there
  std::string error;  ///< why nothing can be measured; empty when it can
};
std::string ready_message(const RankReady&);
std::optional<RankReady> ready_from(const std::string& message);

/// Measure these; answered by a RankAnswer for each, and one without a measurement at the end.
struct RankBatch {
  uint32_t task = 0, batch = 0;
  std::vector<size_t> indices;
  std::vector<std::string> candidates;
  Effort effort;
};
std::string measure_message(const RankBatch&);
std::optional<RankBatch> batch_from(const std::string& message);

struct RankAnswer {
  uint32_t task = 0, batch = 0;
  size_t index = 0;
  std::optional<Measured> measured; ///< nothing: that was all
  bool is_lost = false;             ///< the rank can measure nothing any more
};
std::string answer_message(const RankAnswer&);
std::optional<RankAnswer> answer_from(const std::string& message);

std::string stop_message();
bool is_stop(const std::string& message);

} // namespace kawara::tune
