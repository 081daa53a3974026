#pragma once

#include "tune/database/database.h"

#include <optional>
#include <string>

namespace kawara::tune {

/// Where tuned schedules are kept unless another file is named: kawara/tune.db in $XDG_CACHE_HOME,
/// or in
/// ~/.cache. Empty when neither says where that is.
std::string default_database();

/// A tuned schedule for a request.
struct Tuned {
  SourcePtr directives;
  double gain = 1; ///< time of the default over its time, when it was measured
};

/// What the database in that file knows of the task, proved anew for this version of Kawara: a
/// record whose directives are refused now is none. Nothing when there is no such file, or it
/// cannot be read, or some size is open.
std::optional<Tuned> tuned_schedule(const driver::Request&, const schedule::Environment&,
                                    int64_t threads, const std::string& database);

} // namespace kawara::tune
