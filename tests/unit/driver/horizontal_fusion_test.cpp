#include "driver/gpu/horizontal_fusion.h"

#include "driver/model/model.h"
#include "graph/builder.h"
#include "program/interpret/interpret.h"
#include "program/interpret/values.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::dims_of;
using graph::ValueId;

/// Three products of one input with weights of their own, each followed by rows that keep them
/// apart.
Tape tape_of_three() {
  Builder b("three");
  const ValueId x = b.input("x", DataType::F32, dims_of({8, 32}));
  const auto product = [&](const std::string& name, uint64_t seed) {
    const ValueId weights = b.constant(name + ".w", pattern_tensor(DataType::F32, {32, 16}, seed));
    return b.add("Add", name + ".sum",
                 {b.add("MatMul", name, {x, weights}),
                  b.constant(name + ".b", pattern_tensor(DataType::F32, {16}, seed + 10))});
  };
  ValueId sum = graph::kAbsent;
  for (uint64_t n = 1; n <= 3; ++n) {
    const std::string name = "product" + std::to_string(n);
    const ValueId rows = b.add("Softmax", name + ".softmax", {product(name, n)});
    sum = n == 1 ? rows : b.add("Add", name + ".added", {sum, rows});
  }
  b.output(sum, DataType::F32, dims_of({8, 16}));
  Model model(b.take());
  auto tape = model.tape_of_programs(model.pattern_inputs({}));
  EXPECT_TRUE(tape) << render({tape.error()});
  return *std::move(tape);
}

/// The tape's one output, by the meaning of its programs.
Tensor played(Tape tape, Tensor input) {
  std::vector<std::byte> block(static_cast<size_t>(tape.block_bytes), std::byte{0xff});
  Tensor output(tape.outputs[0].type, tape.outputs[0].shape);
  const auto address = [&](const Slot& slot) -> std::byte* {
    if (slot.where == Slot::Where::Block)
      return block.data() + slot.at;
    return slot.where == Slot::Where::Input ? input.data()
           : slot.where == Slot::Where::Output
               ? output.data()
               : tape.constants[static_cast<size_t>(slot.at)].data();
  };
  for (const TapeStep& step : tape.steps) {
    const auto& kernel = std::get<TapeKernel>(step);
    const auto program = program::parse(make_source("step.kw", kernel.program));
    EXPECT_TRUE(program) << kernel.program;
    program::Arrays inputs;
    std::map<std::string, std::byte*> places;
    size_t n = 0;
    for (const program::Tensor& tensor : program->tensors) {
      if (tensor.role == program::Role::Temp)
        continue;
      std::vector<int64_t> shape;
      for (const scalar::Expr& extent : tensor.shape)
        shape.push_back(*scalar::constant_of(extent));
      std::byte* const place = address(kernel.arguments[n++]);
      if (tensor.role != program::Role::Input) {
        places[tensor.name] = place;
        continue;
      }
      program::Array array(tensor.elem, shape);
      std::memcpy(array.data(), place, array.bytes());
      inputs.emplace(tensor.name, std::move(array));
    }
    const auto results = program::interpret(*program, {}, inputs);
    EXPECT_TRUE(results);
    for (const auto& [name, array] : *results)
      std::memcpy(places.at(name), array.data(), array.bytes());
  }
  return output;
}

TEST(HorizontalFusion, ProductsOfOneInputBecomeOne) {
  const Tape before = tape_of_three();
  const Tape after = horizontally_fused(before);
  EXPECT_EQ(after.steps.size() + 2, before.steps.size());
  const Tensor input = pattern_tensor(DataType::F32, {8, 32}, 7);
  const Tensor want = played(before, input), got = played(after, input);
  for (int64_t k = 0; k < want.elements(); ++k)
    EXPECT_EQ(got.get_double(k), want.get_double(k)) << k;
}

TEST(HorizontalFusion, NothingIsJoinedThatReadsOtherValues) {
  Builder b("two");
  const ValueId x = b.input("x", DataType::F32, dims_of({8, 32}));
  const auto product = [&](const std::string& name, ValueId of, uint64_t seed) {
    return b.add(
        "Softmax", name + ".softmax",
        {b.add("MatMul", name,
               {of, b.constant(name + ".w", pattern_tensor(DataType::F32, {32, 32}, seed))})});
  };
  const ValueId one = product("one", x, 1);
  b.output(product("two", one, 2), DataType::F32, dims_of({8, 32}));
  Model model(b.take());
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_TRUE(tape);
  EXPECT_EQ(horizontally_fused(*tape).steps.size(), tape->steps.size());
}

/// The inputs of a Concat write where its result lies, and whoever reads that reads all of it.
TEST(HorizontalFusion, PartsOfALargerTensorStayWhereTheyAre) {
  Builder b("parts");
  const ValueId x = b.input("x", DataType::F32, dims_of({8, 32}));
  const auto weights = [&](const std::string& name, uint64_t seed) {
    return b.constant(name, pattern_tensor(DataType::F32, {32, 16}, seed));
  };
  std::vector<ValueId> parts;
  for (uint64_t n = 0; n < 2; ++n) {
    const std::string name = "part" + std::to_string(n);
    parts.push_back(
        b.add("Relu", name, {b.add("MatMul", name + ".p", {x, weights(name + ".w", n)})}));
  }
  parts.push_back(b.add("Tanh", "part2", {b.add("MatMul", "part2.p", {x, weights("part2.w", 2)})}));
  const ValueId whole = b.add("Concat", "whole", parts, {{"axis", int64_t{0}}});
  b.output(b.add("Softmax", "y", {whole}), DataType::F32, dims_of({24, 16}));
  Model model(b.take());
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_TRUE(tape) << render({tape.error()});
  const Tensor input = pattern_tensor(DataType::F32, {8, 32}, 7);
  const Tensor want = played(*tape, input), got = played(horizontally_fused(*tape), input);
  for (int64_t k = 0; k < want.elements(); ++k)
    EXPECT_EQ(got.get_double(k), want.get_double(k)) << k;
}

/// Layers of one program in a row: every other one reads and writes the same memory.
TEST(HorizontalFusion, MemoryThatIsUsedAgainHoldsAnotherValue) {
  Builder b("row");
  ValueId x = b.input("x", DataType::F32, dims_of({8, 32}));
  for (uint64_t n = 0; n < 6; ++n) {
    const std::string name = "layer" + std::to_string(n);
    x = b.add("MatMul", name,
              {x, b.constant(name + ".w", pattern_tensor(DataType::F32, {32, 32}, n))});
  }
  b.output(b.add("Relu", "y", {x}), DataType::F32, dims_of({8, 32}));
  Model model(b.take());
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_TRUE(tape);
  EXPECT_EQ(horizontally_fused(*tape).steps.size(), tape->steps.size());
}

} // namespace
} // namespace kawara::driver
