#pragma once

#include "driver/request.h"
#include "emit/c/c_from_kernel.h"
#include "kernel/kernel.h"
#include "run/cpu/executable.h"
#include "schedule/schedule.h"
#include "support/trace.h"

#include <functional>

namespace kawara::driver {

/// The line up to a proven schedule.
struct Scheduled {
  program::Program program;
  program::Program rewritten; ///< what is scheduled: `program` as `auto` wrote it for the target
  schedule::Schedule schedule;
  Diagnostics warnings;
};

/// The line up to something callable.
struct Compiled {
  Scheduled front;
  kernel::Kernel kernel; ///< after all passes
  run::Executable executable;
};

/// The environment of all directives on this machine: its processor, with as many cores as threads
/// will run (KAWARA_THREADS), so that `auto` plans for those.
schedule::Environment host_environment();

/// Text to proven schedule. A refused directive is an error with its whole explanation.
Parsed<Scheduled> schedule(const Request&, const schedule::Environment&, Trace&);

/// The directives of the request with each `auto` spelled out: on `rewritten` they make the same
/// loops. `auto` stays where its steps have no directives.
Parsed<std::vector<schedule::Directive>> spelled_out(const Scheduled&, const Request&,
                                                     const schedule::Environment&);

/// The loops of a proven schedule, marks not yet applied.
kernel::Kernel kernel_of(const Scheduled&, Trace&);
/// ... for the environment's GPU where it has one.
kernel::Kernel kernel_of(const Scheduled&, const schedule::Environment&, Trace&);
/// ... and applied; checked on the way (driver/verify_kernel.h), and the trace says how far.
kernel::Kernel optimised_kernel_of(const Scheduled&, const schedule::Environment&, Trace&);
/// C text, of a kernel that is checked likewise.
emit::CUnit c_of(const Scheduled&, const emit::COptions&, Trace&);

/// Proven schedule to callable code.
Parsed<Compiled> compile(Scheduled, const schedule::Environment&, Trace&,
                         const run::LoadOptions& = {});
/// Text to callable code.
Parsed<Compiled> compile(const Request&, const schedule::Environment&, Trace&,
                         const run::LoadOptions& = {});

/// Text to callable code and nothing else: what a stage made is freed as soon as the next one is
/// done with it.
Parsed<run::Executable> executable_of(const Request&, const schedule::Environment&, Trace&,
                                      const run::LoadOptions&);

} // namespace kawara::driver
