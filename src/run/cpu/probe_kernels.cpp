#include "run/cpu/probe_kernels.h"

#include "program/interpret/instruction.h"
#include "run/measure.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::run {
namespace {

using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;

kernel::For loop(uint32_t var, Expr lo, Expr hi, int64_t step, kernel::Block body) {
  kernel::For f;
  f.var = var;
  f.lo = std::move(lo);
  f.hi = std::move(hi);
  f.step = step;
  f.body = std::move(body);
  return f;
}

kernel::Buffer argument(const char* name, Elem elem, std::vector<Expr> shape) {
  return {name, elem, std::move(shape), kernel::Scope::Argument, program::Role::Inout};
}

/// kProbeDepth * kProbeDepth times `inner` for each thread, `before` and `after` it once.
kernel::Block repeated(kernel::Block before, kernel::Block inner, const kernel::Block& after) {
  before.push_back(loop(1, int_lit(0), int_lit(kProbeDepth), 1,
                        {loop(2, int_lit(0), int_lit(kProbeDepth), 1, std::move(inner))}));
  before.insert(before.end(), after.begin(), after.end());
  kernel::For threads = loop(0, int_lit(0), scalar::param(0), 1, std::move(before));
  threads.marks.is_parallel = true;
  return {std::move(threads)};
}

/// One vector accumulator for each array element that a step of the loop reads.
kernel::Kernel read_kernel(const ProbeTile& shape, kernel::Kernel k) {
  const scalar::Type type{shape.elem, shape.lanes};
  kernel::Block before, inner, after;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    k.variables.push_back({"sum" + std::to_string(v), type});
    const auto id = static_cast<uint32_t>(k.variables.size() - 1);
    const Expr at = scalar::var(2) + int_lit(v * shape.lanes);
    const std::vector<Expr> element{scalar::var(0), scalar::ramp(at, 1, shape.lanes)};
    const std::vector<Expr> first{scalar::var(0),
                                  scalar::ramp(int_lit(v * shape.lanes), 1, shape.lanes)};
    before.push_back(kernel::Define{id, scalar::load(1, first, type)});
    inner.push_back(kernel::Assign{id, scalar::var(id, type) + scalar::load(0, element, type)});
    after.push_back(kernel::Store{1, first, scalar::ReduceOp::None, scalar::var(id, type)});
  }
  before.push_back(
      loop(1, int_lit(0), scalar::param(1), 1,
           {loop(2, int_lit(0), scalar::param(2), shape.vectors * shape.lanes, std::move(inner))}));
  before.insert(before.end(), after.begin(), after.end());
  kernel::For threads = loop(0, int_lit(0), scalar::param(0), 1, std::move(before));
  threads.marks.is_parallel = true;
  k.body = {std::move(threads)};
  return k;
}

} // namespace

kernel::Kernel multiply_add_kernel(const ProbeTile& tile) {
  kernel::Kernel k;
  k.name = "multiply_add";
  k.params = {{"threads", {}}};
  const scalar::Type type{tile.elem, tile.lanes};
  const int64_t columns = tile.vectors * tile.lanes;
  k.buffers = {
      argument("a", tile.elem, {int_lit(tile.rows)}),
      argument("b", tile.elem, {int_lit(kProbeDepth), int_lit(columns)}),
      argument("out", tile.elem, {scalar::param(0), int_lit(tile.rows), int_lit(columns)})};
  k.variables = {{"t", scalar::kIndex}, {"repeat", scalar::kIndex}, {"k", scalar::kIndex}};
  kernel::Block before, inner, after;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      k.variables.push_back({"acc" + std::to_string(r) + "_" + std::to_string(v), type});
      const auto id = static_cast<uint32_t>(k.variables.size() - 1);
      const Expr run = scalar::ramp(int_lit(v * tile.lanes), 1, tile.lanes);
      const std::vector<Expr> element{scalar::var(0), int_lit(r), run};
      const Expr a = scalar::load(0, {int_lit(r)}, {tile.elem, 1});
      const Expr b = scalar::load(1, {scalar::var(2), run}, type);
      before.push_back(kernel::Define{id, scalar::load(2, element, type)});
      inner.push_back(
          kernel::Assign{id, scalar::var(id, type) + scalar::broadcast(a, tile.lanes) * b});
      after.push_back(kernel::Store{2, element, scalar::ReduceOp::None, scalar::var(id, type)});
    }
  k.body = repeated(std::move(before), std::move(inner), after);
  return k;
}

kernel::Kernel instruction_kernel(const target::Intrinsic& data, int64_t sums) {
  const program::Instruction& instruction = program::instruction_of(data);
  kernel::Kernel k;
  k.name = "instruction";
  k.params = {{"threads", {}}};
  std::vector<Expr> inputs;
  for (size_t p = 0; p < instruction.inputs(); ++p) {
    const program::Operand& operand = instruction.operands[p];
    int64_t bytes = 0;
    for (const target::Register& held : data.arguments)
      if (operand.name == std::string_view(&held.operand, 1))
        bytes = held.lanes * scalar::bytes_of(*scalar::elem_from_name(held.elem));
    const int64_t lanes = bytes / scalar::bytes_of(operand.elem);
    k.buffers.push_back(argument(operand.name.c_str(), operand.elem, {int_lit(lanes)}));
    inputs.push_back(scalar::load(static_cast<uint32_t>(p),
                                  {scalar::ramp(int_lit(0), 1, static_cast<uint16_t>(lanes))},
                                  {operand.elem, static_cast<uint16_t>(lanes)}));
  }
  const program::Operand& result = instruction.result();
  const auto lanes = static_cast<uint16_t>(result.lanes());
  const auto out = static_cast<uint32_t>(k.buffers.size());
  k.buffers.push_back(
      argument("out", result.elem, {scalar::param(0), int_lit(sums), int_lit(lanes)}));
  k.variables = {{"t", scalar::kIndex}, {"repeat", scalar::kIndex}, {"k", scalar::kIndex}};
  const scalar::Type type{result.elem, lanes};
  const scalar::Type computed{scalar::compute_type(result.elem), lanes};
  kernel::Block before, inner, after;
  for (int64_t s = 0; s < sums; ++s) {
    k.variables.push_back({"sum" + std::to_string(s), type});
    const auto id = static_cast<uint32_t>(k.variables.size() - 1);
    const std::vector<Expr> element{scalar::var(0), int_lit(s), scalar::ramp(int_lit(0), 1, lanes)};
    std::vector<Expr> args = inputs;
    args.push_back(scalar::var(id, type));
    before.push_back(kernel::Define{id, scalar::load(out, element, type)});
    inner.push_back(kernel::Assign{id, scalar::instruction(std::string(data.name), args)});
    after.push_back(kernel::Store{out, element, scalar::ReduceOp::None,
                                  scalar::cast(scalar::var(id, type), computed)});
  }
  k.body = repeated(std::move(before), std::move(inner), after);
  return k;
}

int64_t largest_register_bytes(const target::Intrinsic& data) {
  const program::Operand& result = program::instruction_of(data).result();
  int64_t bytes = result.lanes() * scalar::bytes_of(result.elem);
  for (const target::Register& held : data.arguments)
    bytes =
        std::max<int64_t>(bytes, held.lanes * scalar::bytes_of(*scalar::elem_from_name(held.elem)));
  return bytes;
}

int64_t arrays_of(Stream stream) {
  switch (stream) {
  case Stream::Read:
  case Stream::Write:
    return 1;
  case Stream::Copy:
    return 2;
  case Stream::Triad:
    break;
  }
  return 3;
}

kernel::Kernel stream_kernel(Stream stream, const ProbeTile& shape) {
  kernel::Kernel k;
  k.name = "stream";
  k.params = {{"threads", {}}, {"repeats", {}}, {"n", {}}};
  const scalar::Type type{shape.elem, shape.lanes};
  const std::vector<Expr> extents{scalar::param(0), scalar::param(2)};
  k.buffers = {argument("a", shape.elem, extents), argument("b", shape.elem, extents),
               argument("c", shape.elem, extents), argument("s", shape.elem, {int_lit(1)})};
  k.variables = {{"t", scalar::kIndex}, {"r", scalar::kIndex}, {"i", scalar::kIndex}};
  if (stream == Stream::Read) {
    k.buffers[1].shape = {scalar::param(0), int_lit(shape.vectors * shape.lanes)};
    return read_kernel(shape, std::move(k));
  }
  const Expr s = scalar::broadcast(scalar::load(3, {int_lit(0)}, {shape.elem, 1}), shape.lanes);
  kernel::Block inner;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    const Expr at = scalar::var(2) + int_lit(v * shape.lanes);
    const std::vector<Expr> element{scalar::var(0), scalar::ramp(at, 1, shape.lanes)};
    const Expr value = stream == Stream::Write ? s
                       : stream == Stream::Copy
                           ? scalar::load(1, element, type)
                           : scalar::load(1, element, type) * s + scalar::load(2, element, type);
    inner.push_back(kernel::Store{0, element, scalar::ReduceOp::None, value});
  }
  kernel::For threads = loop(0, int_lit(0), scalar::param(0), 1,
                             {loop(1, int_lit(0), scalar::param(1), 1,
                                   {loop(2, int_lit(0), scalar::param(2),
                                         shape.vectors * shape.lanes, std::move(inner))})});
  threads.marks.is_parallel = true;
  k.body = {std::move(threads)};
  return k;
}

Executable loaded_probe(const kernel::Kernel& kernel, const std::shared_ptr<ThreadPool>& pool) {
  auto executable = load(emit::module_from_kernel(kernel), {pool});
  KAWARA_CHECK(executable, render(executable.error()));
  return *std::move(executable);
}

double fastest_call(const Executable& executable, const std::vector<void*>& arguments,
                    const std::vector<int64_t>& params, double seconds) {
  const MeasureOptions options{0.003, 0.0005, 60, seconds};
  const auto work = [&] {
    const auto done = executable.call(arguments, params);
    KAWARA_CHECK(done, render(done.error()));
  };
  return measure(work, options).min;
}

} // namespace kawara::run
