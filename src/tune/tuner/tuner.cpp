#include "tune/tuner/tuner.h"

#include "support/text.h"

#include <charconv>

namespace kawara::tune {
namespace {

Diagnostic bad_budget(const std::string& text) {
  Diagnostic d;
  d.code = "K0604";
  d.headline = "`" + text + "` is not a budget";
  d.body.push_back(
      "A budget is a time, a number of trials, or both: the search ends with the first.");
  d.help.push_back({"for example", "--budget 60s, --budget 5m, --budget 200trials", false});
  return d;
}

} // namespace

Result<Budget, Diagnostic> budget_from_text(const std::string& text) {
  Budget budget{0, 0};
  for (const std::string_view whole : split(text, ',')) {
    const std::string_view part = trim(whole);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const std::string_view unit(end, static_cast<size_t>(part.data() + part.size() - end));
    if (error != std::errc{} || number <= 0)
      return fail(bad_budget(text));
    if (unit == "s" || unit == "m" || unit == "h")
      budget.seconds = static_cast<double>(number) * (unit == "s" ? 1 : unit == "m" ? 60 : 3600);
    else if (unit == "trials" || unit == "trial")
      budget.trials = number;
    else
      return fail(bad_budget(text));
  }
  return budget;
}

Parsed<TuneReport> tune(const std::shared_ptr<const Reference>& reference, Measurer& measurer,
                        Database* database, const TuneOptions& options) {
  Search search(*reference, measurer, database, options);
  KAWARA_TRY([[maybe_unused]] const Done begun, search.begin());
  while (true) {
    KAWARA_TRY(const bool goes_on, search.round());
    if (!goes_on)
      return search.finish();
  }
}

Parsed<TuneReport> tune(const std::shared_ptr<const Reference>& reference, const MakeBench& make,
                        Database* database, const TuneOptions& options) {
  Pool pool(make, options.workers, options.limits);
  return tune(reference, pool, database, options);
}

} // namespace kawara::tune
