#include "api/state.h"
#include "run/cpu/threads.h"
#include "target/cpu.h"

namespace kawara {

namespace api {

void raise(const Diagnostics& errors) {
  throw Error(errors.empty() ? "" : errors.front().code, render(errors));
}

} // namespace api

Program::Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

std::vector<std::string> Program::params() const {
  std::vector<std::string> names;
  for (const program::Param& p : impl_->program.params)
    names.push_back(p.name);
  return names;
}

std::vector<std::string> Program::tensors() const {
  std::vector<std::string> names;
  for (const program::Tensor& t : impl_->program.tensors)
    if (t.role != program::Role::Temp)
      names.push_back(t.name);
  return names;
}

std::string Program::print() const { return program::print(impl_->program); }

Schedule Program::schedule(const Sizes& sizes) const {
  driver::Request request = impl_->request;
  request.sizes = sizes;
  schedule::Environment environment = driver::host_environment();
  Trace trace;
  driver::Scheduled front = api::value_or_throw(driver::schedule(request, environment, trace));
  return Schedule(std::make_shared<const Schedule::Impl>(
      Schedule::Impl{std::move(request), std::move(front), std::move(environment)}));
}

Program parse(const std::string& text, const std::string& name) {
  driver::Request request;
  request.text = make_source(name, text);
  program::Program program = api::value_or_throw(driver::program_of(request));
  return Program(
      std::make_shared<const Program::Impl>(Program::Impl{std::move(request), std::move(program)}));
}

Machine this_machine() {
  const target::Cpu cpu = target::detect_cpu();
  return {cpu.name,       cpu.features.names(), cpu.vector_bytes, run::default_threads(),
          cpu.caches.l1d, cpu.caches.l2,        cpu.caches.l3};
}

} // namespace kawara
