#include "schedule/auto/rules.h"

#include "schedule/auto/chunk/chunk_rules.h"
#include "schedule/auto/gpu/gpu_rules.h"
#include "schedule/auto/nest/gemv.h"
#include "schedule/auto/nest/lanes.h"
#include "schedule/auto/nest/recurrence.h"
#include "schedule/auto/nest/register_tiles.h"
#include "schedule/auto/nest/stencil_rules.h"
#include "schedule/auto/nest/tall_reduction.h"
#include "schedule/auto/nest/transpose.h"
#include "schedule/auto/product/product_rules.h"

namespace kawara::schedule {

std::span<const Rule> cpu_rules() {
  using enum Phase;
  static const Rule rules[] = {
      {Chains, "window in chunks", "a pool behind a convolution", windows_in_chunks},
      {Chains, "products in chunks", "a product of a product's rows", products_in_chunks},
      {EarlyReductions, "tall reduction of rows", "few results, many terms that lie together",
       tall_reductions_of_rows},
      {Products, "product in AMX tiles", "a convolution whose rows fill tiles",
       products_in_amx_tiles},
      {Products, "product of groups", "overlapping windows, an instruction that takes channels",
       products_of_groups},
      {Products, "product in f16 blocks", "f16 into f32 on a machine that computes with f16",
       products_in_f16_blocks},
      {Products, "product in wide elements", "f16 or bf16 without an instruction for them",
       products_in_wide_elements},
      {Products, "product with a split reduction", "fewer tiles of the result than threads",
       products_in_parts},
      {Products, "product", "one update of two operands, each used again", packed_products},
      {Products, "product without tile registers", "the same, where its tiles were refused",
       products_without_tiles},
      {Products, "rows of a kept matrix", "a matrix by a vector, used again by steps or calls",
       rows_of_a_kept_matrix},
      {LateReductions, "tall reduction", "few results, many terms", tall_reductions},
      {Windows, "window with epilogue", "few neighbours added up, and what is made of the sum",
       windows_with_epilogue},
      {Nests, "reduction in parts", "a long sum, no other loop for threads", reduction_in_parts},
      {Nests, "dot products", "a matrix by a few columns", dot_products},
      {Nests, "lanes that gather", "elements that data choose", lanes_that_gather},
      {Nests, "column sums", "columns combined, whose elements other nests walk by rows",
       columns_row_by_row},
      {Nests, "window in registers", "few neighbours added up for each result",
       windows_in_registers},
      {Nests, "register tiles", "every operand used again along some loop", register_tiles},
      {Nests, "transpose in squares", "written along one loop and read along another",
       transposes_in_squares},
      {Nests, "scan in lanes", "a running value along contiguous elements", scans_in_lanes},
      {Nests, "rows of a recurrence side by side", "rows whose elements follow each other",
       recurrences_side_by_side},
      {Nests, "sums of columns in registers", "a few rows added up", short_column_sums},
      {Nests, "unroll-and-jam", "something stays along the loop outside the lanes", unroll_and_jam},
      {Nests, "lanes and threads", "a loop that can run in lanes", lanes_and_threads},
      {Nests, "threads", "a loop that can run in parallel", threads_alone},
  };
  return rules;
}

std::span<const Rule> gpu_rules() {
  using enum Phase;
  static const Rule rules[] = {
      {Chains, "attention in one pass", "reductions with two products on tensor cores",
       attention_in_one_pass},
      {EarlyReductions, "product of a few rows", "a matrix that is used a few times only",
       products_of_few_rows},
      {Products, "product with a split reduction", "fewer tiles of the result than blocks",
       gpu_products_in_parts},
      {Products, "product", "one update of two operands, each used again", gpu_products},
      {Nests, "rows", "nests along the same rows", rows_of_blocks},
      {Nests, "sum in parts by blocks", "one long sum", sum_by_blocks},
      {Nests, "sum by the threads of a block", "one sum", sum_by_threads},
      {Nests, "transpose through shared memory", "written along one loop and read along another",
       transposes_in_shared_memory},
      {Nests, "map", "parallel loops", maps},
      {Nests, "iterations as threads", "a parallel loop around several nests",
       iterations_as_threads},
  };
  return rules;
}

} // namespace kawara::schedule
