#pragma once

#include "tune/measure/pool.h"
#include "tune/search/search.h"

namespace kawara::tune {

/// "60s", "2m", "200trials", or both separated by a comma; refuses other texts (K0604).
Result<Budget, Diagnostic> budget_from_text(const std::string& text);

/// Searches a schedule that is faster than the default. Trials and the winner are kept in the
/// database (if there is one) as they are found, and what it knows already is not tried again. The
/// winner is what a final comparison, in turns with the default, shows to be faster beyond doubt.
///
/// `reference` is what the measurer measures against.
/// Refuses a model that is none, or counts other things than this version (K0607).
Parsed<TuneReport> tune(const std::shared_ptr<const Reference>& reference, Measurer&,
                        Database* database, const TuneOptions&);

/// ... measured by benches in processes of their own. Forks: no other threads may be running.
Parsed<TuneReport> tune(const std::shared_ptr<const Reference>& reference, const MakeBench& make,
                        Database* database, const TuneOptions&);

} // namespace kawara::tune
