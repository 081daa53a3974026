#include "target/gpu.h"

#include <fmt/core.h>

namespace kawara::target {
namespace {

constexpr int64_t kGpuKiB = 1024, kGpuMiB = 1024 * 1024;

Gpu ampere() {
  Gpu gpu;
  gpu.name = "NVIDIA A100";
  gpu.arch = "sm_80";
  gpu.multiprocessors = 108;
  gpu.shared_per_block = 163 * kGpuKiB;
  gpu.shared_per_multiprocessor = 164 * kGpuKiB;
  gpu.registers_per_multiprocessor = 65536;
  gpu.registers_per_thread = 255;
  gpu.threads_per_multiprocessor = 2048;
  gpu.l2 = 40 * kGpuMiB;
  gpu.bandwidth = 1.9e12;
  gpu.rates = {9.7e12, 19.5e12, 156e12, 312e12, 312e12, 0, 624e12};
  return gpu;
}

Gpu hopper() {
  Gpu gpu;
  gpu.name = "NVIDIA H200";
  gpu.arch = "sm_90a";
  gpu.multiprocessors = 132;
  gpu.shared_per_block = 227 * kGpuKiB;
  gpu.shared_per_multiprocessor = 228 * kGpuKiB;
  gpu.registers_per_multiprocessor = 65536;
  gpu.registers_per_thread = 255;
  gpu.threads_per_multiprocessor = 2048;
  gpu.l2 = 60 * kGpuMiB;
  gpu.bandwidth = 4.8e12;
  gpu.rates = {34e12, 67e12, 495e12, 990e12, 990e12, 1980e12, 1980e12};
  return gpu;
}

} // namespace

std::optional<Gpu> named_gpu(std::string_view arch) {
  for (Gpu gpu : {ampere(), hopper()})
    if (gpu.arch == arch)
      return gpu;
  return std::nullopt;
}

std::vector<std::string> named_gpus() { return {"sm_80", "sm_90a"}; }

std::string print(const Gpu& g) {
  const auto kib = [](int64_t bytes) { return fmt::format("{} KiB", bytes / kGpuKiB); };
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("{:<24}{}\n", key, value);
  };
  line("name", g.name);
  line("arch", g.arch);
  line("multiprocessors", std::to_string(g.multiprocessors));
  line("shared memory", kib(g.shared_per_block) + " per block, " +
                            kib(g.shared_per_multiprocessor) + " per multiprocessor");
  line("registers", std::to_string(g.registers_per_multiprocessor) + " per multiprocessor, " +
                        std::to_string(g.registers_per_thread) + " per thread");
  line("threads", std::to_string(g.threads_per_multiprocessor) + " per multiprocessor");
  line("L2", fmt::format("{} MiB", g.l2 / kGpuMiB));
  line("bandwidth", fmt::format("{:.2f} TB/s", g.bandwidth * 1e-12));
  line("f32", fmt::format("{:.1f} TFLOP/s", g.rates.f32 * 1e-12));
  if (g.rates.bf16 > 0)
    line("bf16 tensor cores", fmt::format("{:.0f} TFLOP/s", g.rates.bf16 * 1e-12));
  return text;
}

} // namespace kawara::target
