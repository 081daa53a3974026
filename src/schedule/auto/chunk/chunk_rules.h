#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// Rules for nests of which one uses another's results: chunk by chunk, so that these stay in the
/// L2. Asked for the program; threads share the chunks.

/// Windows over what a product makes: pools behind convolutions (conv_pool.h).
void windows_in_chunks(const Site&, const Offer&);
/// Products of products (back_to_back.h).
void products_in_chunks(const Site&, const Offer&);

} // namespace kawara::schedule
