#include "driver/tape/kwx.h"

#include "driver/model/model.h"
#include "driver/tape/kwx_format.h"
#include "graph/builder.h"
#include "run/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {
std::atomic<int64_t> allocations = 0;
}

[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size))
    return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;

Tensor counted(const Shape& shape, double scale) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, scale * static_cast<double>(k % 17 - 8));
  return tensor;
}

/// A product that packs its weights, values that are looked up, and outputs of every kind: made by
/// a kernel, a view, an input as it is, a constant.
graph::Graph sample_graph(bool has_lookup) {
  Builder b("sample");
  const ValueId x = b.input("x", DataType::F32, {graph::Dim{{}, "rows"}, graph::Dim{64, ""}});
  const ValueId w = b.constant("w", counted({64, 96}, 0.125));
  ValueId y = b.add("Relu", "positive", {b.add("MatMul", "product", {x, w})});
  if (has_lookup) {
    y = b.add("Gather", "looked_up", {y, b.integers("rows_wanted", {3, 0, 3, 1})});
    y = b.add("Neg", "negative", {y});
  }
  b.output(y, DataType::F32, {graph::Dim{{}, ""}, graph::Dim{96, ""}});
  b.output(b.add("Flatten", "flat", {y}, {{"axis", int64_t{0}}}), DataType::F32, {});
  b.output(b.add("Identity", "same", {x}), DataType::F32, {});
  b.output(b.add("Neg", "known", {b.constant("c", counted({3}, 1))}), DataType::F32, {});
  return b.take();
}

std::vector<void*> pointers(std::vector<Tensor>& tensors) {
  std::vector<void*> out;
  for (Tensor& tensor : tensors)
    out.push_back(tensor.data());
  return out;
}

/// Plays on fresh outputs and compares with what the model gave.
void expect_same(Player& player, Tensor x, const std::vector<Datum>& wanted) {
  std::vector<Tensor> inputs{std::move(x)}, outputs;
  for (const Port& port : player.tape().outputs)
    outputs.emplace_back(port.type, port.shape);
  for (int call = 0; call < 2; ++call) {
    const auto done = player.play(pointers(inputs), pointers(outputs));
    ASSERT_TRUE(done) << render(done.error());
    for (size_t k = 0; k < wanted.size(); ++k) {
      ASSERT_EQ(outputs[k].shape(), wanted[k].tensor.shape());
      EXPECT_EQ(std::memcmp(outputs[k].data(), wanted[k].tensor.data(),
                            static_cast<size_t>(outputs[k].bytes())),
                0)
          << "output " << k << " of call " << call;
    }
  }
}

TEST(Tape, DoesWhatTheModelDid) {
  for (const bool has_lookup : {false, true}) {
    Model model(sample_graph(has_lookup));
    const Tensor x = counted({32, 64}, 0.5);
    const auto wanted = model.run({{"x", {x, false, {}}}});
    ASSERT_TRUE(wanted) << render(wanted.error());
    auto tape = model.record({{"x", {x, false, {}}}});
    ASSERT_TRUE(tape) << render(tape.error());
    EXPECT_EQ(tape->inputs[0].shape, (Shape{32, 64}));
    Player player(*std::move(tape));
    expect_same(player, x, *wanted);
  }
}

TEST(Tape, AllocatesNothingAfterTheFirstCall) {
  Model model(sample_graph(false));
  const Tensor x = counted({32, 64}, 0.5);
  auto tape = model.record({{"x", {x, false, {}}}});
  ASSERT_TRUE(tape);
  Player player(*std::move(tape));
  std::vector<Tensor> inputs{x}, outputs;
  for (const Port& port : player.tape().outputs)
    outputs.emplace_back(port.type, port.shape);
  const auto reads = pointers(inputs), writes = pointers(outputs);
  ASSERT_TRUE(player.play(reads, writes));
  const int64_t before = allocations;
  for (int call = 0; call < 10; ++call)
    ASSERT_TRUE(player.play(reads, writes));
  EXPECT_EQ(allocations, before);
}

TEST(Tape, RefusesSubgraphsAndSequences) {
  Builder b("list");
  const ValueId x = b.input("x", DataType::F32, {graph::Dim{4, ""}});
  const ValueId list = b.add("SequenceConstruct", "list", {x, x});
  b.output(b.add("ConcatFromSequence", "joined", {list}, {{"axis", int64_t{0}}}), DataType::F32,
           {});
  Model model(b.take());
  const auto tape = model.record({{"x", {counted({4}, 1), false, {}}}});
  ASSERT_FALSE(tape);
  EXPECT_EQ(
      render(tape.error()),
      "error[K0563]: a model with node `list` (SequenceConstruct) cannot be compiled to a file\n"
      "\n"
      "  It makes a sequence.\n"
      "\n"
      "  help: run the ONNX file itself\n");
}

TEST(Tape, KeepsToTheValuesThatShapesDependOn) {
  Builder b("reshaped");
  const ValueId x = b.input("x", DataType::F32, {graph::Dim{6, ""}});
  const ValueId shape = b.input("shape", DataType::I64, {graph::Dim{2, ""}});
  b.output(b.add("Neg", "n", {b.add("Reshape", "r", {x, shape})}), DataType::F32, {});
  Model model(b.take());
  Tensor wanted(DataType::I64, {2});
  wanted.set_int(0, 2);
  wanted.set_int(1, 3);
  auto tape = model.record({{"x", {counted({6}, 1), false, {}}}, {"shape", {wanted, false, {}}}});
  ASSERT_TRUE(tape) << render(tape.error());
  Player player(*std::move(tape));
  std::vector<Tensor> inputs{counted({6}, 1), wanted}, outputs{Tensor(DataType::F32, {2, 3})};
  EXPECT_TRUE(player.play(pointers(inputs), pointers(outputs)));
  EXPECT_EQ(outputs[0].get_double(0), 8);
  inputs[1] = Tensor(DataType::I64, {2});
  inputs[1].set_int(0, 3);
  inputs[1].set_int(1, 2);
  const auto other = player.play(pointers(inputs), pointers(outputs));
  ASSERT_FALSE(other);
  EXPECT_EQ(render(other.error()),
            "error[K0568]: `reshaped` was compiled for other values of `shape`\n"
            "\n"
            "  Shapes inside the model depend on them.\n"
            "\n"
            "  help: run the ONNX file, or compile it for these inputs\n");
}

TEST(Tape, TakesSizesOfSymbolsThatThereAre) {
  Model model(sample_graph(false));
  const auto tape = model.record({}, {{{"rows", 5}}, {}});
  ASSERT_TRUE(tape) << render(tape.error());
  EXPECT_EQ(tape->inputs[0].shape, (Shape{5, 64}));
  const auto other = model.record({}, {{{"columns", 5}}, {}});
  ASSERT_FALSE(other);
  EXPECT_EQ(render(other.error()), "error[K0569]: `sample` cannot have columns = 5\n"
                                   "\n"
                                   "  The only symbol in the shapes of its inputs is rows.\n");
  EXPECT_EQ(model.record({}, {{{"rows", -1}}, {}}).error().code, "K0569");
  EXPECT_EQ(model.record({}, {{{"rows", int64_t{1} << 60}}, {}}).error().code, "K0522");
}

/// A file with the sample in it.
class Kwx : public testing::Test {
protected:
  void SetUp() override {
    Model model(sample_graph(true));
    x_ = counted({32, 64}, 0.5);
    auto wanted = model.run({{"x", {x_, false, {}}}});
    ASSERT_TRUE(wanted);
    wanted_ = *std::move(wanted);
    auto tape = model.record({{"x", {x_, false, {}}}});
    ASSERT_TRUE(tape);
    ASSERT_TRUE(write_kwx(*tape, path_));
    bytes_ = *run::read_file(path_);
  }
  /// Code and first words of the error for a file of these bytes.
  std::string error_of(const std::string& bytes, bool checks_data = false) {
    EXPECT_TRUE(run::write_file(path_, bytes));
    const auto tape = read_kwx(path_, {checks_data});
    return tape ? "none" : tape.error().code + " " + tape.error().body.front();
  }
  static std::string with_sums(std::string bytes) {
    KwxHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.description_sum = kwx_sum(std::string_view(bytes).substr(
        sizeof header, static_cast<size_t>(header.description_bytes)));
    header.header_sum =
        kwx_sum({reinterpret_cast<const char*>(&header), offsetof(KwxHeader, header_sum)});
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  }

  const std::string path_ = testing::TempDir() + "sample.kwx";
  Tensor x_;
  std::vector<Datum> wanted_;
  std::string bytes_;
};

TEST_F(Kwx, RunsInAnotherLife) {
  auto tape = read_kwx(path_, {true});
  ASSERT_TRUE(tape) << render(tape.error());
  EXPECT_EQ(tape->name, "sample");
  EXPECT_EQ(tape->outputs.size(), 4U);
  // Weights come packed, and packed only: somebody has prepared them.
  const auto is_empty = [](const Tensor& tensor) {
    return tensor.bytes() >= 1024 && std::all_of(tensor.data(), tensor.data() + tensor.bytes(),
                                                 [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_TRUE(std::any_of(tape->constants.begin(), tape->constants.end(), is_empty));
  bool has_prepared = false;
  for (const TapeStep& step : tape->steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      has_prepared = has_prepared || !kernel->code->prepared().empty();
  Player player(*std::move(tape));
  expect_same(player, x_, wanted_);
  EXPECT_TRUE(has_prepared);
}

TEST_F(Kwx, SavedAgainItIsTheSame) {
  const auto tape = read_kwx(path_);
  ASSERT_TRUE(tape);
  const std::string again = path_ + ".again";
  ASSERT_TRUE(write_kwx(*tape, again));
  EXPECT_TRUE(*run::read_file(again) == bytes_);
}

TEST_F(Kwx, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(error_of(""), "K0564 It is empty.");
  EXPECT_EQ(error_of("no such thing"), "K0564 It does not begin like one.");
  std::string newer = bytes_;
  newer[8] = 99;
  EXPECT_EQ(error_of(newer), "K0564 It has version 99 of the format, this Kawara reads version 4.");
  EXPECT_EQ(read_kwx(path_ + ".missing").error().code, "K0420");
}

TEST_F(Kwx, RefusesWhatIsDamaged) {
  EXPECT_EQ(error_of(bytes_.substr(0, bytes_.size() - 5)),
            "K0565 It should have " + std::to_string(bytes_.size()) + " bytes, and has " +
                std::to_string(bytes_.size() - 5) + ".");
  std::string flipped = bytes_;
  flipped[16] = static_cast<char>(flipped[16] ^ 1);
  EXPECT_EQ(error_of(flipped), "K0565 The sum over its header is wrong.");
  flipped = bytes_;
  flipped[sizeof(KwxHeader) + 200] = static_cast<char>(flipped[sizeof(KwxHeader) + 200] ^ 1);
  EXPECT_EQ(error_of(flipped), "K0565 The sum over its description is wrong.");
  flipped = bytes_;
  flipped[bytes_.size() - 200] = static_cast<char>(flipped[bytes_.size() - 200] ^ 1);
  EXPECT_EQ(error_of(flipped, true), "K0565 The sum over its constants is wrong.");
}

TEST_F(Kwx, WhatIsDamagedWithRightSumsDoesNoHarm) {
  KwxHeader header;
  std::memcpy(&header, bytes_.data(), sizeof header);
  // Objects are machine code, and trusted; all numbers before them are not.
  const size_t begin = sizeof header, end = begin + 400;
  for (size_t at = begin; at < end; at += 5)
    for (const char value : {'\0', '\x7f'}) {
      std::string bytes = bytes_;
      bytes[at] = value;
      const std::string error = error_of(with_sums(bytes));
      EXPECT_TRUE(error == "none" || error.substr(0, 4) == "K056" || error.substr(0, 5) == "K0444")
          << at << ": " << error;
    }
}

TEST_F(Kwx, SaysWhatToDoInstead) {
  const auto message_of = [&](const std::string& bytes) {
    EXPECT_TRUE(run::write_file(path_, bytes));
    const auto tape = read_kwx(path_);
    std::string text = tape ? "none" : render(tape.error());
    if (const size_t at = text.find(path_); at != std::string::npos)
      text.replace(at, path_.size(), "FILE");
    return text;
  };
  EXPECT_EQ(message_of("no such thing"),
            "error[K0564]: `FILE` is no compiled model of this version\n"
            "\n"
            "  It does not begin like one.\n"
            "\n"
            "  help: compile the ONNX file again\n");
  std::string flipped = bytes_;
  flipped[16] = static_cast<char>(flipped[16] ^ 1);
  EXPECT_EQ(message_of(flipped), "error[K0565]: `FILE` is damaged\n"
                                 "\n"
                                 "  The sum over its header is wrong.\n"
                                 "\n"
                                 "  help: copy it again, or compile the ONNX file again\n");
  std::string other = bytes_;
  const std::string features = emit::host_code_target().features;
  const size_t at = other.find(features);
  ASSERT_GT(features.size(), 6U);
  other.replace(at, 6, "+xyzzy");
  const size_t comma = features.find(',', 6);
  for (size_t k = 6; k < comma && k < features.size(); ++k)
    other[at + k] = 'y';
  const std::string name = "xyzzy" + std::string(std::min(comma, features.size()) - 6, 'y');
  EXPECT_EQ(message_of(with_sums(other)), "error[K0566]: `FILE` was compiled for another machine\n"
                                          "\n"
                                          "  It is for " +
                                              emit::host_code_target().cpu + ", which has " + name +
                                              "; this processor has not.\n"
                                              "\n"
                                              "  help: compile the ONNX file on this machine\n");
}

TEST_F(Kwx, RefusesOtherMachines) {
  const std::string triple = emit::host_code_target().triple;
  std::string other = bytes_;
  other.replace(other.find(triple), triple.size(), std::string(triple.size(), 'x'));
  EXPECT_EQ(error_of(with_sums(other)),
            "K0566 It is for " + std::string(triple.size(), 'x') + ", this is " + triple + ".");
}

} // namespace
} // namespace kawara::driver
