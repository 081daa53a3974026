#include "tune/task.h"

#include "support/check.h"
#include "support/hash.h"
#include "support/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace kawara::tune {
namespace {

std::string sizes_text(const std::map<std::string, int64_t>& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes)
    parts.push_back(fmt::format("{}={}", name, value));
  return join(parts, " ");
}

std::string target_text(const schedule::Environment& environment) {
  if (const auto& gpu = environment.gpu)
    return fmt::format("{} {}; {} multiprocessors; shared {}; l2 {}", gpu->arch, gpu->name,
                       gpu->multiprocessors, gpu->shared_per_block, gpu->l2);
  const target::Cpu& cpu = environment.cpu;
  return fmt::format("{} {} {}; vectors {}x{}; caches {} {} {} line {}", target::name_of(cpu.arch),
                     cpu.name, join(cpu.features.names(), " "), cpu.vector_registers,
                     cpu.vector_bytes, cpu.caches.l1d, cpu.caches.l2, cpu.caches.l3,
                     cpu.caches.line);
}

std::optional<std::map<std::string, double>> sizes_of(const std::string& text) {
  std::map<std::string, double> sizes;
  for (const std::string_view part : split(text, ' ')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return std::nullopt;
    int64_t value = 0;
    const std::string_view digits = part.substr(equals + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    sizes[std::string(part.substr(0, equals))] = static_cast<double>(value);
  }
  return sizes;
}

} // namespace

Parsed<Task> task_of(driver::Request request, const schedule::Environment& environment,
                     int64_t threads) {
  request.directives = nullptr;
  Task task{std::move(request), {}, {}, environment, threads};
  if (!environment.gpu)
    task.environment.cpu.cores = threads;
  KAWARA_TRY(task.program, driver::program_of(task.request));
  KAWARA_TRY(task.sizes, driver::all_sizes(task.program, task.request));
  return task;
}

Key key_of(const Task& task) {
  driver::Request open = task.request;
  open.sizes.clear();
  const auto program = driver::program_of(open);
  KAWARA_CHECK(static_cast<bool>(program), "a task's program parses without its sizes");
  return {program::print(*program), sizes_text(task.request.sizes), target_text(task.environment),
          task.environment.gpu ? 1 : task.threads};
}

std::string id_of(const Key& key) {
  uint64_t hash = hash_text(key.program);
  hash = hash_mix(hash, hash_text(key.sizes));
  hash = hash_mix(hash, hash_text(key.target));
  hash = hash_mix(hash, static_cast<uint64_t>(key.threads));
  return fmt::format("{:016x}", hash);
}

std::optional<double> distance(const Key& a, const Key& b) {
  if (a.program != b.program || a.target != b.target || a.threads != b.threads)
    return std::nullopt;
  const auto left = sizes_of(a.sizes), right = sizes_of(b.sizes);
  if (!left || !right || left->size() != right->size())
    return std::nullopt;
  double sum = 0;
  for (const auto& [name, value] : *left) {
    const auto other = right->find(name);
    if (other == right->end())
      return std::nullopt;
    sum += std::abs(std::log2((value + 1) / (other->second + 1)));
  }
  return sum;
}

} // namespace kawara::tune
