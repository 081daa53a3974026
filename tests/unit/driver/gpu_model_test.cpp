#include "driver/gpu/gpu_model.h"

#include "driver/gpu/gpu_memory.h"
#include "driver/model/model.h"
#include "driver/target_choice.h"
#include "graph/builder.h"
#include "kernel/interpret/interpret.h"
#include "program/interpret/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::dims_of;
using graph::Tensor;
using graph::ValueId;
using run::Datum;

Tensor small_numbers(const Shape& shape, uint64_t seed) {
  Tensor tensor = pattern_tensor(DataType::F32, shape, seed);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, tensor.get_double(k) / 4);
  return tensor;
}

/// Convolutions with a window, with a stride and without either, pooling, a product and a softmax.
graph::Graph small_net() {
  Builder b("small");
  const auto list = [](std::vector<int64_t> values) { return graph::Attribute(std::move(values)); };
  ValueId x = b.input("x", DataType::F32, dims_of({1, 3, 11, 12}));
  x = b.add("Conv", "first",
            {x, b.constant("w", small_numbers({16, 3, 3, 3}, 7)),
             b.constant("b", small_numbers({16}, 8))},
            {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 2})}});
  x = b.add("Conv", "apart",
            {x, b.constant("wa", small_numbers({16, 1, 3, 3}, 9)),
             b.constant("ba", small_numbers({16}, 10))},
            {{"pads", list({1, 1, 1, 1})}, {"group", int64_t{16}}});
  x = b.add("Conv", "wide",
            {x, b.constant("w0", small_numbers({16, 16, 3, 3}, 1)),
             b.constant("b0", small_numbers({16}, 2))},
            {{"pads", list({1, 1, 1, 1})}});
  x = b.add("Relu", "positive", {x});
  x = b.add("Conv", "half", {x, b.constant("w1", small_numbers({16, 16, 3, 3}, 3))},
            {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 2})}});
  x = b.add("Conv", "mixed", {x, b.constant("w2", small_numbers({16, 16, 1, 1}, 4))});
  x = b.add("MaxPool", "pool", {x}, {{"kernel_shape", list({2, 2})}, {"strides", list({2, 2})}});
  x = b.add("Flatten", "flat", {x});
  x = b.add(
      "Gemm", "classes",
      {x, b.constant("w3", small_numbers({16, 10}, 5)), b.constant("b3", small_numbers({10}, 6))});
  x = b.add("Softmax", "chances", {x});
  b.output(x, DataType::F32, dims_of({1, 10}));
  return b.take();
}

schedule::Environment hopper() { return *environment_for("cuda:sm_90a"); }

/// Plays a tape with the kernels of a GPU, interpreted, on memory of the host.
class InterpretedTape {
public:
  InterpretedTape(Tape tape, const GpuPrograms& programs)
      : tape_(std::move(tape)), programs_(programs),
        block_(static_cast<size_t>(tape_.block_bytes)) {}

  std::vector<Tensor> play(std::vector<Tensor> inputs) {
    inputs_ = std::move(inputs);
    for (const Port& port : tape_.outputs)
      outputs_.emplace_back(port.type, port.shape);
    for (const TapeStep& step : tape_.steps)
      if (const auto* kernel = std::get_if<TapeKernel>(&step))
        run(*kernel);
      else if (const auto* copy = std::get_if<TapeCopy>(&step))
        std::memcpy(address(copy->to), address(copy->from), static_cast<size_t>(copy->bytes));
    return outputs_;
  }

private:
  std::byte* address(const Slot& slot) {
    const auto at = static_cast<size_t>(slot.at);
    switch (slot.where) {
    case Slot::Where::Input:
      return inputs_[at].data();
    case Slot::Where::Output:
      return outputs_[at].data();
    case Slot::Where::Constant:
      return tape_.constants[at].data();
    case Slot::Where::Block:
      break;
    }
    return block_.data() + at;
  }

  void run(const TapeKernel& step) {
    const GpuProgram& program = *programs_.at(step.program);
    const emit::Signature signature = emit::signature_of(program.kernel);
    std::vector<program::Array> arrays;
    std::vector<kernel::Elements> elements;
    for (size_t n = 0; n < signature.arguments.size(); ++n) {
      const kernel::Buffer& buffer = program.kernel.buffers[signature.arguments[n].id];
      program::Array array(buffer.elem, kernel::extents_of(buffer, {}));
      std::memcpy(array.data(), address(step.arguments[n]), array.bytes());
      elements.emplace_back();
      for (int64_t k = 0; k < array.elements(); ++k)
        elements.back().push_back(array.get(k));
      arrays.push_back(std::move(array));
    }
    const auto done = kernel::interpret(program.kernel, {}, elements);
    ASSERT_TRUE(done) << program.name << ": " << done.error();
    for (size_t n = 0; n < elements.size(); ++n) {
      if (signature.arguments[n].role == program::Role::Input)
        continue;
      for (int64_t k = 0; k < arrays[n].elements(); ++k)
        arrays[n].set(k, elements[n][static_cast<size_t>(k)]);
      std::memcpy(address(step.arguments[n]), arrays[n].data(), arrays[n].bytes());
    }
  }

  Tape tape_;
  const GpuPrograms& programs_;
  std::vector<std::byte> block_;
  std::vector<Tensor> inputs_, outputs_;
};

/// Largest difference of the interpreted kernels of a GPU from f32 on the processor.
double difference_on_gpu(DataType floats, bool has_channels_last) {
  ModelOptions options;
  options.floats = floats;
  options.images = has_channels_last ? ImageOrder::ChannelsLast : ImageOrder::Written;
  Model model(small_net(), options), plain(small_net());
  const auto inputs = model.pattern_inputs({});
  const auto expected = plain.run(inputs);
  auto tape = model.tape_of_programs(inputs);
  EXPECT_TRUE(expected && tape);
  EXPECT_EQ(model.kernels(), 0);
  GpuProgramOptions how;
  how.makes_code = run::has_nvrtc();
  const auto programs = gpu_programs_of(*tape, hopper(), how);
  EXPECT_TRUE(programs) << render({programs.error()});
  for (const auto& [text, program] : *programs)
    EXPECT_TRUE(program->is_scheduled) << program->name;
  const std::vector<Tensor> got = InterpretedTape(*tape, *programs).play({inputs.at("x").tensor});
  double worst = 0;
  for (int64_t k = 0; k < got[0].elements(); ++k)
    worst = std::max(worst, std::abs(got[0].get_double(k) - (*expected)[0].tensor.get_double(k)));
  return worst;
}

TEST(GpuModel, KernelsMeanTheSameAsTheProcessors) {
  EXPECT_LT(difference_on_gpu(DataType::F32, false), 1e-5);
}

TEST(GpuModel, NarrowKernelsMeanNearlyTheSame) {
  for (const bool has_channels_last : {false, true}) {
    const double difference = difference_on_gpu(DataType::BF16, has_channels_last);
    EXPECT_LT(difference, 2e-2);
    EXPECT_GT(difference, 0);
  }
}

/// The small net in bf16, its images with channels last.
Result<Tape, Diagnostic> narrow_tape() {
  ModelOptions options;
  options.floats = DataType::BF16;
  options.images = ImageOrder::ChannelsLast;
  Model model(small_net(), options);
  return model.tape_of_programs(model.pattern_inputs({}));
}

TEST(GpuModel, ConvolutionsWithChannelsLastRunOnTensorCores) {
  const auto tape = narrow_tape();
  ASSERT_TRUE(tape);
  GpuProgramOptions how;
  how.makes_code = false;
  const auto programs = gpu_programs_of(*tape, hopper(), how);
  ASSERT_TRUE(programs);
  int windows = 0;
  for (const auto& [text, program] : *programs)
    windows += program->unit.text.find("im2col") != std::string::npos ? 1 : 0;
  EXPECT_EQ(windows, 3); // the first one in blocks
}

/// Under `verify` every kernel of a model is compared with its program and its schedule, and says
/// so; otherwise the proof is tried.
TEST(GpuModel, KernelsAreProvedAndSaySo) {
  const auto tape = narrow_tape();
  ASSERT_TRUE(tape);
  GpuProgramOptions how;
  how.makes_code = false;
  for (const bool verify : {false, true}) {
    how.verify = verify;
    const auto programs = gpu_programs_of(*tape, hopper(), how);
    ASSERT_TRUE(programs);
    for (const auto& [text, program] : *programs) {
      size_t outcomes = 0;
      for (const auto& [outcome, count] : program->trace.outcomes())
        outcomes += count;
      EXPECT_EQ(outcomes, 1U) << program->name;
      ASSERT_EQ(program->trace.notes().size(), verify ? 3U : 0U) << program->name;
      if (verify) {
        EXPECT_EQ(program->trace.notes()[1].find("kernel compared to its program"), 0U)
            << program->trace.notes()[1];
      }
    }
    EXPECT_EQ(proof_notes(*tape, *programs).size(), verify ? 3 * programs->size() : 0);
  }
}

/// The shape of what is looked up needs no run; rows are looked up on the device, single elements
/// on the host.
TEST(GpuModel, LookingUpIsACallOfTheTape) {
  Builder b("words");
  const ValueId ids = b.input("ids", DataType::I64, dims_of({2, 3}));
  const ValueId table = b.constant("table", small_numbers({5, 4}, 1));
  const ValueId elements = b.constant("elements", small_numbers({2, 3}, 2));
  const ValueId rows = b.add("Gather", "rows", {table, ids});
  const ValueId one = b.add("GatherElements", "one", {elements, ids});
  b.output(b.add("Relu", "y", {rows}), DataType::F32, dims_of({2, 3, 4}));
  b.output(one, DataType::F32, dims_of({2, 3}));
  Model model(b.take());
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_TRUE(tape) << render({tape.error()});
  EXPECT_EQ(model.kernels(), 0);
  ASSERT_EQ(tape->steps.size(), 3U);
  const auto& gather = std::get<TapeCall>(tape->steps[0]);
  EXPECT_TRUE(runs_on_device(tape->steps[0]));
  const run::GatherSizes sizes = gather_sizes(gather);
  EXPECT_EQ(sizes.outer, 1);
  EXPECT_EQ(sizes.rows, 5);
  EXPECT_EQ(sizes.count, 6);
  EXPECT_EQ(sizes.bytes, 16);
  EXPECT_TRUE(sizes.has_wide_indices);
  EXPECT_FALSE(runs_on_device(tape->steps[1]));
  const auto& kernel = std::get<TapeKernel>(tape->steps[2]);
  EXPECT_EQ(kernel.name, "relu");
  EXPECT_FALSE(kernel.code);
  const GpuLayout layout =
      gpu_layout(*tape, 0, [](size_t) { return std::vector<ArgumentSize>(2); });
  EXPECT_EQ(layout.constants, (std::vector<int64_t>{0, -1}));
  EXPECT_EQ(layout.weight_bytes, 256);
}

TEST(GpuModel, TheTextOfLookUpsCompiles) {
  if (!run::has_nvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  const auto cubin = run::cubin_from_cuda(run::CudaGather::text(), "gather_rows", {});
  EXPECT_TRUE(cubin) << render({cubin.error()});
}

TEST(GpuModel, SequencesStayOnTheProcessor) {
  Builder b("list");
  const ValueId x = b.input("x", DataType::F32, dims_of({2}));
  const ValueId list = b.add("SequenceConstruct", "list", {x, x});
  const ValueId y = b.add("ConcatFromSequence", "y", {list}, {{"axis", int64_t{0}}});
  b.output(y, DataType::F32, dims_of({4}));
  Model model(b.take());
  const auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_FALSE(tape);
  EXPECT_EQ(tape.error().code, "K0736");
  EXPECT_EQ(tape.error().headline, "`list` cannot run on a GPU");
}

TEST(GpuLayout, ArgumentsWithinOthersGetPlacesThatVectorsReach) {
  Tape tape;
  tape.block_bytes = 100;
  tape.inputs = {{"x", DataType::F32, {5}}};
  tape.outputs = {{"y", DataType::F32, {5}}};
  const Slot inside{Slot::Where::Block, 20}, input{Slot::Where::Input, 0},
      output{Slot::Where::Output, 0};
  tape.steps.emplace_back(TapeKernel{nullptr, {}, {input, inside}, "a", "a"});
  tape.steps.emplace_back(TapeKernel{nullptr, {}, {inside, output}, "b", "b"});
  const GpuLayout layout = gpu_layout(tape, 64, [](size_t) {
    return std::vector<ArgumentSize>{{20, true}, {20, false}};
  });
  ASSERT_EQ(layout.detours.size(), 2U);
  const Detour &to = layout.detours.at(0).front(), &from = layout.detours.at(1).front();
  EXPECT_EQ(to.number, 1U);
  EXPECT_FALSE(to.is_input);
  EXPECT_EQ(from.number, 0U);
  EXPECT_TRUE(from.is_input);
  EXPECT_EQ(to.at, layout.block + 20);
  EXPECT_EQ(to.place % 16, 0);
  EXPECT_GE(to.place, layout.block + tape.block_bytes);
  EXPECT_LE(from.place + from.bytes, layout.bytes);
}

TEST(GpuModel, AsksForSchedulesOfTheProgramsThatItNames) {
  Model model(small_net());
  auto tape = model.tape_of_programs(model.pattern_inputs({}));
  ASSERT_TRUE(tape);
  GpuProgramOptions how;
  how.makes_code = false;
  const auto texts = gpu_texts_of(*tape, how);
  std::mutex mutex;
  std::set<std::string> asked;
  how.known = [&](const Request& request) {
    const std::lock_guard lock(mutex);
    asked.insert(request.text->text);
    // Refused, and so the default is taken.
    return make_source("known.sched", "parallel(no_such_loop)");
  };
  const auto programs = gpu_programs_of(*tape, hopper(), how);
  ASSERT_TRUE(programs);
  int64_t steps = 0;
  for (const auto& [text, uses] : texts) {
    EXPECT_TRUE(asked.contains(text)) << text;
    steps += uses;
  }
  EXPECT_EQ(asked.size(), texts.size());
  EXPECT_EQ(steps, static_cast<int64_t>(tape->steps.size()));
  for (const auto& [text, program] : *programs)
    EXPECT_TRUE(program->is_scheduled) << program->name;
  how.known = [](const Request&) { return make_source("known.sched", "[]"); };
  const auto plain = gpu_programs_of(*tape, hopper(), how);
  how.known = nullptr;
  const auto usual = gpu_programs_of(*tape, hopper(), how);
  ASSERT_TRUE(plain && usual);
  int changed = 0;
  for (const auto& [text, program] : *usual)
    changed += program->unit.text != plain->at(text)->unit.text ? 1 : 0;
  EXPECT_GT(changed, 0) << "known schedules are not used";
}

TEST(GpuModel, RunsOnTheDevice) {
  auto device = run::CudaDevice::open();
  if (!device || !run::has_nvrtc())
    GTEST_SKIP() << "no GPU, or no NVRTC, on this machine";
  Model model(small_net());
  const auto inputs = model.pattern_inputs({});
  const auto expected = model.run(inputs);
  auto tape = model.tape_of_programs(inputs);
  ASSERT_TRUE(expected && tape);
  schedule::Environment environment = hopper();
  environment.gpu = (*device)->gpu();
  const auto programs = gpu_programs_of(*tape, environment, {});
  ASSERT_TRUE(programs) << render({programs.error()});
  auto on_device = GpuModel::make(*std::move(tape), *programs, *device);
  ASSERT_TRUE(on_device) << render({on_device.error()});
  for (const bool is_careful : {true, false, false}) {
    const auto got = on_device->run({inputs.at("x")}, is_careful);
    ASSERT_TRUE(got) << render({got.error()});
    for (int64_t k = 0; k < 10; ++k)
      EXPECT_NEAR((*got)[0].tensor.get_double(k), (*expected)[0].tensor.get_double(k), 1e-4);
  }
}

} // namespace
} // namespace kawara::driver
