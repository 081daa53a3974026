#pragma once

#include "schedule/schedule.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// The paragraphs of a judged refusal: the two iterations with the element they share, what happens
/// to them, and the dependence with its distance and condition.
std::vector<std::string> narrate(const Directive&, const Refusal::Judged&, const poly::Illegal&);

/// "(i=1, t=1)": the loops around a statement and their values at an iteration.
std::string moment(const poly::Order&, poly::StmtId, const std::vector<int64_t>& params,
                   const std::vector<int64_t>& iters);

/// `text` broken into lines of at most `columns`, never inside parentheses.
std::string wrapped(const std::string& text, size_t columns = 76);

} // namespace kawara::schedule
