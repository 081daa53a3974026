// run_model FILE [COPY]: runs a model, ONNX or compiled, on inputs of zeros, and prints what it takes and
// gives. With COPY, writes it as a compiled model first and runs that.
#include <kawara/kawara.h>

#include <cstdio>
#include <vector>

namespace {

int64_t bytes_of(kawara::Element element) {
  switch (element) {
  case kawara::Element::F64:
  case kawara::Element::I64:
    return 8;
  case kawara::Element::F32:
  case kawara::Element::I32:
    return 4;
  case kawara::Element::F16:
  case kawara::Element::BF16:
  case kawara::Element::I16:
    return 2;
  default:
    return 1;
  }
}

void print_port(const char* kind, const kawara::ModelPort& port) {
  std::printf("%s %s:", kind, port.name.c_str());
  for (const int64_t extent : port.shape)
    std::printf(" %lld", static_cast<long long>(extent));
  std::printf("\n");
}

/// Memory for each port.
std::vector<std::vector<char>> memory_for(const std::vector<kawara::ModelPort>& ports) {
  std::vector<std::vector<char>> blocks;
  for (const kawara::ModelPort& port : ports)
    blocks.emplace_back(static_cast<size_t>(port.count() * bytes_of(port.element)));
  return blocks;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 2;
  try {
    kawara::Model model = kawara::Model::load(argv[1]);
    model.prepare();
    if (argc > 2) {
      model.save(argv[2]);
      model = kawara::Model::load(argv[2]);
    }
    for (const kawara::ModelPort& port : model.inputs())
      print_port("input ", port);
    for (const kawara::ModelPort& port : model.outputs())
      print_port("output", port);
    auto inputs = memory_for(model.inputs()), outputs = memory_for(model.outputs());
    std::vector<kawara::TensorData> reads, writes;
    for (auto& block : inputs)
      reads.emplace_back(static_cast<const void*>(block.data()));
    for (auto& block : outputs)
      writes.emplace_back(static_cast<void*>(block.data()));
    model.run(reads, writes);
    if (!outputs.empty() && model.outputs()[0].element == kawara::Element::F32)
      std::printf("first element: %g\n", *reinterpret_cast<const float*>(outputs[0].data()));
  } catch (const kawara::Error& e) {
    std::fprintf(stderr, "%s", e.what());
    return 1;
  }
  return 0;
}
