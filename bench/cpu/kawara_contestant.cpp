#include "cpu/kawara_contestant.h"

#include "cpu/program_text.h"

#include "driver/pipeline.h"
#include "program/interpret/arguments.h"
#include "run/buffer.h"

#include <cstring>
#include <stdexcept>

namespace kawara::bench {
namespace {

template <class T> T value_of(Parsed<T> result) {
  if (!result)
    throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

class Kawara final : public Contestant {
public:
  Kawara(Way way, std::string directives)
      : way_(way), directives_(std::move(directives)), environment_(driver::host_environment()) {}

  const char* name() const override {
    return way_ == Way::Default ? "kawara" : way_ == Way::Fast ? "kawara fast" : "kawara separate";
  }
  const char* version() const override { return "default schedule (auto)"; }
  bool is_kawara() const override { return true; }

  bool prepare(const Case& c, const Operands& x) override {
    release();
    if (!takes_part(c))
      return false;
    is_integer_ = c.op == Op::GemmI8;
    const ProgramTexts texts = way_ == Way::Separate ? separate_programs(c) : fused_program(c);
    out_ = run::Buffer(output_elements(c) * 4);
    for (const std::string& text : texts.programs)
      steps_.push_back(compiled(c, text));
    for (Step& step : steps_)
      bind(step, c, x, texts.slots);
    return true;
  }

  void run() override {
    for (const Step& step : steps_) {
      const auto done = step.code.executable.call(step.pointers, {});
      if (!done)
        throw std::runtime_error(render(done.error()));
    }
  }

  void output(float* elements) const override {
    const int64_t count = out_.bytes() / 4;
    if (is_integer_)
      for (int64_t i = 0; i < count; ++i)
        elements[i] = static_cast<float>(out_.as<int32_t>()[i]);
    else
      std::memcpy(elements, out_.data(), static_cast<size_t>(out_.bytes()));
  }

  void release() override {
    steps_.clear();
    between_.clear();
    out_ = {};
  }

private:
  struct Step {
    driver::Compiled code;
    std::vector<void*> pointers; ///< in the order of the call
  };

  /// f16 arithmetic and other algorithms for convolutions and functions need `fast`.
  bool takes_part(const Case& c) const {
    if (way_ == Way::Separate)
      return !separate_programs(c).programs.empty();
    if (way_ == Way::Fast)
      return c.op == Op::Conv || c.op == Op::GemmF16 || c.op == Op::Attention ||
             c.op == Op::Softmax || c.op == Op::Gelu;
    return true;
  }

  Step compiled(const Case& c, const std::string& text) const {
    driver::Request request{
        make_source(c.name, text), make_source("schedule", directives_), {}, {}};
    request.numerics = way_ == Way::Fast ? program::Numerics::Fast : program::Numerics::Rounding;
    Trace silent;
    return {value_of(driver::compile(request, environment_, silent)), {}};
  }

  void bind(Step& step, const Case& c, const Operands& x,
            const std::map<std::string, Slot>& slots) {
    const program::Program& program = step.code.front.program;
    const auto shapes = program::required_shapes(program, {});
    if (!shapes)
      throw std::runtime_error(render(shapes.error()));
    for (const emit::BufferInfo& argument : step.code.executable.signature().arguments) {
      const auto slot = slots.find(argument.name);
      if (slot != slots.end()) {
        step.pointers.push_back(operand(c, x, slot->second));
        continue;
      }
      int64_t bytes = scalar::bytes_of(argument.elem);
      for (size_t t = 0; t < program.tensors.size(); ++t)
        if (program.tensors[t].name == argument.name)
          for (const int64_t extent : (*shapes)[t])
            bytes *= extent;
      const auto [at, is_new] = between_.try_emplace(argument.name);
      if (is_new)
        at->second = run::Buffer(bytes);
      step.pointers.push_back(at->second.data());
    }
  }

  void* operand(const Case& c, const Operands& x, Slot slot) const {
    const auto writable = [](const void* p) { return const_cast<void*>(p); };
    const bool is_i8 = c.op == Op::GemmI8, is_f16 = c.op == Op::GemmF16;
    switch (slot) {
    case Slot::A:
      return is_i8 ? writable(x.a_i8) : is_f16 ? writable(x.a_f16) : writable(x.a);
    case Slot::B:
      return is_i8 ? writable(x.b_i8) : is_f16 ? writable(x.b_f16) : writable(x.b);
    case Slot::C:
      return writable(x.c);
    case Slot::Out:
      break;
    }
    return out_.data();
  }

  Way way_;
  std::string directives_;
  schedule::Environment environment_;
  std::vector<Step> steps_;
  std::map<std::string, run::Buffer> between_; ///< memory between programs
  run::Buffer out_;
  bool is_integer_ = false;
};

} // namespace

std::unique_ptr<Contestant> make_kawara(Way way, const std::string& directives) {
  return std::make_unique<Kawara>(way, directives);
}

} // namespace kawara::bench
