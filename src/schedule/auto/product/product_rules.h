#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// Rules for products on a CPU: each lays out the left operand in its own way, and offers plans
/// with the nests around that begin or finish the results, then without; each in one loop that all
/// threads share, then in two. Inside a loop that threads share only `packed_products` is asked.

/// Rows of an image straight into AMX tiles (amx_convolution.h).
void products_in_amx_tiles(const Site&, const Offer&);
/// Channels in groups that an instruction takes (operand_layout.h).
void products_of_groups(const Site&, const Offer&);
/// f16 added up in f16 over a block of the reduction, the blocks in f32.
void products_in_f16_blocks(const Site&, const Offer&);
/// Elements of f16 and bf16 converted once, before (operand_layout.h).
void products_in_wide_elements(const Site&, const Offer&);
/// Parts of the reduction for threads, where the result has too few tiles (split_k.h).
void products_in_parts(const Site&, const Offer&);
/// Blocks for the caches, operands packed where copies pay, a tile of the result in registers.
void packed_products(const Site&, const Offer&);
/// All of these without registers for operand tiles, when nothing with them was accepted.
void products_without_tiles(const Site&, const Offer&);

/// The product's reduction in parts, those outermost: for any nest of one update in which no loop
/// has iterations for nearly all threads. What is then there is planned by the other rules.
void reduction_in_parts(const Site&, const Offer&);

} // namespace kawara::schedule
