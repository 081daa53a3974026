#pragma once

#include "tune/database/database.h"
#include "tune/measure/measurer.h"

#include <map>

namespace kawara::tune {

/// Answers from a database for candidates that it knows, and measures the others once, for good.
/// Searches that share one see the same time for the same candidate, whenever and in whatever order
/// they ask: what they find differs by what they propose alone. Where the table knows the task, the
/// inner measurer is started when the first candidate needs it: a search whose candidates are all
/// known costs nothing but itself.
class Recorded : public Measurer {
public:
  Recorded(Measurer& inner, Database& table, Key key)
      : inner_(inner), table_(table), key_(std::move(key)) {}

  Parsed<Done> start() override;
  std::vector<std::optional<Measured>> measure(const std::vector<std::string>& candidates,
                                               const Effort&, const Watch& = {}) override;

private:
  Measurer& inner_;
  Database& table_;
  Key key_;
  std::map<std::string, Trial> known_;
  bool is_started_ = false;
};

} // namespace kawara::tune
