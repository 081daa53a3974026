#pragma once

#include "estimate/machine.h"
#include "estimate/machines/machine_file.h"
#include "estimate/predict.h"

#include <span>
#include <string>

namespace kawara::explain {

// What a page needs to predict a call anew when figures of the machine are changed in it, as JSON.
// tools/report/src/what_if.js does so, and gives what `kawara estimate --machine` gives for the
// changed file.

/// The text of a machine file, as JSON without comments.
std::string machine_json(const std::string& text);
/// A machine that no file describes, in the form of one.
std::string machine_json(const estimate::Machine&);

/// What a schedule makes a processor do, for other peaks (of all types by one factor), bandwidths,
/// sizes of caches and numbers of cores. `most_threads`: as many run whatever the cores are; 0: one
/// a core.
std::string work_json(const estimate::Work&, const kernel::Kernel&, std::span<const int64_t> sizes,
                      const estimate::Machine&, int64_t most_threads);
/// The same where nothing is scheduled: what the roof is made of.
std::string work_json(const estimate::Work&, const estimate::Machine&, int64_t most_threads);
std::string work_json(const estimate::Work&, const estimate::MachineFile&);

} // namespace kawara::explain
