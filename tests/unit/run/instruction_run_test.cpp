#include "program/interpret/arguments.h"
#include "run/cpu/executable.h"
#include "support/text.h"
#include "target/intrinsic.h"
#include "unit/kernel/instruction_schedules.h"
#include "unit/kernel/line.h"

#include <algorithm>
#include <array>
#include <limits>

// Every instruction of every processor, asked for by name: compiled everywhere, run where this
// machine has it.

namespace kawara::run {
namespace {

using target::Cpu;
using target::Feature;
using target::Features;
using target::Intrinsic;

Features both(const Features& a, const Features& b) {
  Features features;
  for (uint32_t f = 0; f < target::kFeatureCount; ++f)
    if (a.has(static_cast<Feature>(f)) && b.has(static_cast<Feature>(f)))
      features.add(static_cast<Feature>(f));
  return features;
}

/// The named processors from the narrowest to the widest.
std::vector<Cpu> processors() {
  std::vector<Cpu> all;
  for (const std::string& name : target::named_cpus())
    all.push_back(*target::named_cpu(name));
  std::stable_sort(all.begin(), all.end(), [](const Cpu& a, const Cpu& b) {
    return a.features.names().size() < b.features.names().size();
  });
  return all;
}

/// The narrowest processor that has the instruction; where this machine has it too, without what
/// this machine lacks.
Cpu narrowest_with(const Intrinsic& data) {
  for (Cpu& cpu : processors()) {
    if (!target::is_available(data, cpu))
      continue;
    if (const Cpu host = target::detect_cpu(); target::is_available(data, host))
      cpu.features = both(cpu.features, host.features);
    target::set_vector_shape(cpu);
    return cpu;
  }
  throw std::runtime_error("no named processor has " + std::string(data.name));
}

/// LLVM's words for exactly these features.
emit::CodeTarget code_target(const Cpu& cpu) {
  constexpr std::array<std::pair<Feature, const char*>, 11> kWords{{
      {Feature::Fp16, "+fullfp16"},
      {Feature::Dotprod, "+dotprod"},
      {Feature::I8mm, "+i8mm"},
      {Feature::Bf16, "+bf16"},
      {Feature::Fma, "+fma"},
      {Feature::Avx512vnni, "+avx512vnni"},
      {Feature::Avx512bf16, "+avx512bf16"},
      {Feature::Avx512fp16, "+avx512fp16"},
      {Feature::AmxBf16, "+amx-tile,+amx-bf16"},
      {Feature::AmxInt8, "+amx-tile,+amx-int8"},
      {Feature::Sse2, "+sse2"},
  }};
  const bool is_arm = cpu.arch == target::Arch::Aarch64;
  emit::CodeTarget target{std::string(target::name_of(cpu.arch)) + "-unknown-linux-gnu", "", ""};
  target.cpu = is_arm                               ? "generic"
               : cpu.features.has(Feature::Avx512f) ? "x86-64-v4"
               : cpu.features.has(Feature::Avx2)    ? "x86-64-v3"
                                                    : "x86-64";
  for (const auto& [feature, words] : kWords)
    if (cpu.features.has(feature))
      target.features += (target.features.empty() ? "" : ",") + std::string(words);
  return target;
}

bool can_make_code_for([[maybe_unused]] const Cpu& cpu) {
#ifdef KAWARA_LLVM_HAS_ALL_TARGETS
  return true;
#else
  return cpu.arch == target::detect_cpu().arch; // a bundle's LLVM makes code for its own machine
#endif
}

emit::LlvmUnit unit_of(const kernel::Kernel& kernel, const Cpu& cpu) {
  emit::EmitOptions options;
  options.target = code_target(cpu);
  return emit::module_from_kernel(kernel, options);
}

/// Integers of the whole range, the least and the greatest often: sums that saturate would show.
void fill_range(program::Array& array, uint64_t seed) {
  const bool is_signed = array.elem() != scalar::Elem::U8;
  const int64_t bits = 8 * scalar::bytes_of(array.elem());
  const double least = is_signed ? -static_cast<double>(int64_t{1} << (bits - 1)) : 0;
  const double greatest = least + static_cast<double>((int64_t{1} << bits) - 1);
  uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (int64_t at = 0; at < array.elements(); ++at) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto drawn = static_cast<double>(state >> 40 & (((uint64_t{1} << bits) - 1)));
    array.set_double(at, (state >> 32 & 3U) == 0   ? least
                         : (state >> 32 & 3U) == 1 ? greatest
                                                   : least + drawn);
  }
}

/// Empty when the code gives the interpreter's results; else the first element that differs.
std::string difference(const program::Program& program, const Executable& code,
                       const std::vector<int64_t>& params, double tolerance) {
  auto inputs = program::pattern_inputs(program, params, 7);
  if (!inputs)
    return render(inputs.error());
  for (auto& [name, array] : *inputs)
    if (scalar::is_integer(array.elem()) && scalar::bytes_of(array.elem()) < 4)
      fill_range(array, name.front());
  const auto expected = program::interpret(program, params, *inputs);
  if (!expected)
    return render(expected.error());
  auto arrays = program::bind_arguments(program, params, *inputs);
  if (!arrays)
    return render(arrays.error());
  std::vector<void*> arguments;
  for (const emit::BufferInfo& argument : code.signature().arguments)
    for (size_t t = 0; t < program.tensors.size(); ++t)
      if (program.tensors[t].name == argument.name)
        arguments.push_back((*arrays)[t].data());
  if (const auto done = code.call(arguments, params); !done)
    return render(done.error());
  const program::Arrays results = program::results_of(program, *std::move(arrays));
  for (const auto& [name, want] : *expected)
    for (int64_t at = 0; at < want.elements(); ++at) {
      const double got = results.at(name).get_double(at), wanted = want.get_double(at);
      if (!(std::abs(got - wanted) <= tolerance * (1 + std::abs(wanted))))
        return name + " element " + std::to_string(at) + ": " + std::to_string(got) +
               " instead of " + std::to_string(wanted) + " at " + program::shape_text(params);
    }
  return "";
}

/// Does something with each of an instruction's programs, compiled for the narrowest processor that
/// has it.
template <class Use> void for_each_case(std::string_view name, const Use& use) {
  const Intrinsic& data = *target::find_intrinsic(name);
  const Cpu cpu = narrowest_with(data);
  const program::Instruction& instruction = program::instruction_of(data);
  for (const auto& [text, directives, sizes] : instruction_schedules::cases_for(instruction)) {
    const line::Line made = line::compile(text, directives, cpu);
    const kernel::Kernel kernel = kernel::optimise(made.kernel, cpu);
    SCOPED_TRACE(kernel::print(kernel));
    use(made.program, unit_of(kernel, cpu), sizes);
  }
}

class EveryInstruction : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryInstruction, is_compiled) {
  const std::string_view mnemonic = target::find_intrinsic(GetParam())->mnemonic;
  for_each_case(GetParam(), [&](const auto&, emit::LlvmUnit unit, const auto&) {
    EXPECT_NE(unit.assembly()->find(mnemonic), std::string::npos) << *unit.assembly();
  });
}

class InstructionHere : public testing::TestWithParam<std::string_view> {};

TEST_P(InstructionHere, computes_what_the_interpreter_computes) {
  const double tolerance = instruction_schedules::tolerance_of(
      program::instruction_of(*target::find_intrinsic(GetParam())));
  for_each_case(GetParam(), [&](const auto& program, emit::LlvmUnit unit, const auto& sizes) {
    const auto code = load(std::move(unit));
    ASSERT_TRUE(code) << render(code.error());
    for (const std::vector<int64_t>& at : sizes)
      EXPECT_EQ(difference(program, *code, at, tolerance), "");
  });
}

/// Those of processors that this LLVM makes code for; emit/cuda has the others.
std::vector<std::string_view> of_processors() {
  std::vector<std::string_view> found;
  for (const Intrinsic& data : target::intrinsics())
    if (!data.is_collective && can_make_code_for(narrowest_with(data)))
      found.push_back(data.name);
  return found;
}

/// Those that this machine has.
std::vector<std::string_view> of_this_machine() {
  std::vector<std::string_view> found;
  for (const std::string_view name : of_processors())
    if (target::is_available(*target::find_intrinsic(name), target::detect_cpu()))
      found.push_back(name);
  return found;
}

std::string with_underscores(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Processors, EveryInstruction, testing::ValuesIn(of_processors()),
                         [](const auto& one) { return with_underscores(one.param); });
INSTANTIATE_TEST_SUITE_P(ThisMachine, InstructionHere, testing::ValuesIn(of_this_machine()),
                         [](const auto& one) { return with_underscores(one.param); });

class EveryProcessor : public testing::TestWithParam<std::string> {};

/// The default schedule for a processor is compiled, and run where this machine has all that the
/// processor has.
void expect_right(const Cpu& cpu, const std::string& text, double tolerance) {
  const Cpu host = target::detect_cpu();
  const bool is_here = cpu.arch == host.arch && both(cpu.features, host.features) == cpu.features;
  const line::Line made = line::compile(text, "auto", cpu);
  emit::LlvmUnit unit = unit_of(kernel::optimise(made.kernel, cpu), cpu);
  if (!is_here) {
    EXPECT_NE(*unit.assembly(), "");
    return;
  }
  const auto code = load(std::move(unit));
  ASSERT_TRUE(code) << render(code.error());
  EXPECT_EQ(difference(made.program, *code, {}, tolerance), "");
}

TEST_P(EveryProcessor, runs_products_on_machines_that_have_more) {
  const Cpu cpu = *target::named_cpu(GetParam());
  struct Types {
    const char *left, *right, *result;
    double tolerance;
  };
  for (const Types& types : {Types{"f32", "f32", "f32", 1e-4},
                             {"f16", "f16", "f16", 2e-2},
                             {"bf16", "bf16", "f32", 1e-4},
                             {"i8", "i8", "i32", 0},
                             {"u8", "i8", "i32", 0},
                             {"i16", "i16", "i32", 0}}) {
    SCOPED_TRACE(types.left + std::string(" times ") + types.right);
    const std::string text = std::string("numerics fast\ninput A: ") + types.left +
                             "[21, 70], B: " + types.right + "[70, 51]\noutput C: " + types.result +
                             "[21, 51]\nC[i, j] = sum(k, " + types.result + "(A[i, k]) * " +
                             types.result + "(B[k, j]))\n";
    expect_right(cpu, text, types.tolerance);
  }
}

/// The second vector of filters is nearly empty, and results are transposed in halves of the first.
TEST_P(EveryProcessor, runs_windows_of_bytes_with_a_few_filters_more_than_lanes) {
  const Cpu cpu = *target::named_cpu(GetParam());
  for (const char* types : {"u8 u8", "i8 i8", "u8 i8"}) {
    const std::string image(types, 2), weight(types + 3);
    expect_right(cpu,
                 "input X: " + image + "[12, 6, 30], W: " + weight + "[18, 12, 2, 2]\n" +
                     "output Y: i32[18, 3, 15]\n"
                     "Y[k, h, w] = sum((c, r, s), X[c, 2*h + r, 2*w + s] * W[k, c, r, s])\n",
                 0);
  }
}

/// Channels in whole rows of tiles where there are such registers (AMX), images of both layouts,
/// several widths and strides.
TEST_P(EveryProcessor, runs_windows_with_many_channels) {
  const Cpu cpu = *target::named_cpu(GetParam());
  struct Types {
    const char *image, *weight, *result;
    double tolerance;
  };
  for (const Types& types :
       {Types{"bf16", "bf16", "f32", 1e-4}, {"i8", "i8", "i32", 0}, {"u8", "i8", "i32", 0}}) {
    const std::string head = std::string("numerics fast\ninput X: ") + types.image;
    const std::string weight = std::string("const W: ") + types.weight,
                      result = std::string("output Y: ") + types.result;
    expect_right(
        cpu,
        head + "[6, 16, 64]\n" + weight + "[40, 64, 3, 3]\n" + result +
            "[4, 14, 40]\nY[h, w, k] = sum((c, r, s), X[h + r, w + s, c] * W[k, c, r, s])\n",
        types.tolerance);
    expect_right(
        cpu,
        head + "[64, 9, 15]\n" + weight + "[32, 64, 3, 3]\n" + result +
            "[32, 4, 7]\nY[k, h, w] = sum((c, r, s), X[c, 2*h + r, 2*w + s] * W[k, c, r, s])\n",
        types.tolerance);
  }
}

std::vector<std::string> named_processors() {
  std::vector<std::string> names = target::named_cpus();
  std::erase_if(names,
                [](const auto& name) { return !can_make_code_for(*target::named_cpu(name)); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(Named, EveryProcessor, testing::ValuesIn(named_processors()),
                         [](const auto& one) { return with_underscores(one.param); });

} // namespace
} // namespace kawara::run
