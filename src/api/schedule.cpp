#include "api/state.h"
#include "run/cpu/threads.h"
#include "schedule/text/build.h"
#include "schedule/text/draw.h"
#include "tune/tuner/tuned.h"

namespace kawara {
namespace {

using schedule::Argument;
using schedule::Directive;

Argument loop(const std::string& name) { return {"", name, {}}; }
Argument number(int64_t value) { return {"", value, {}}; }

/// One directive from arguments that the types of the interface already made fit.
Directive directive(const char* name, const std::vector<Argument>& arguments) {
  auto built = schedule::build_directive(name, arguments);
  if (!built) {
    Diagnostic d;
    d.code = "K0232";
    d.headline = "wrong arguments of `" + std::string(name) + "`: " + built.error().why;
    d.help.push_back({"write", schedule::form_of(name), false});
    api::raise({d});
  }
  return *std::move(built);
}

/// Each directive judged alone, as `-s` does.
Parsed<schedule::Schedule> applied(const Schedule::Impl& at,
                                   const std::vector<Directive>& directives) {
  schedule::Schedule now = at.front.schedule;
  for (const Directive& d : directives) {
    auto next = schedule::apply(now, d, at.environment);
    if (!next)
      return fail(Diagnostics{schedule::explain(now, next.error(), at.environment)});
    now = *std::move(next);
  }
  return now;
}

Parsed<schedule::Schedule> applied(const Schedule::Impl& at, const std::string& text) {
  KAWARA_TRY(const auto directives, schedule::parse_directives(make_source("directives", text)));
  return applied(at, directives);
}

std::shared_ptr<const Schedule::Impl> replaced(const Schedule::Impl& old, schedule::Schedule by) {
  auto next = std::make_shared<Schedule::Impl>(old);
  next->front.schedule = std::move(by);
  return next;
}

std::shared_ptr<const Schedule::Impl> after(const Schedule::Impl& old, const char* name,
                                            const std::vector<Argument>& arguments) {
  return replaced(old, api::value_or_throw(applied(old, {directive(name, arguments)})));
}

std::vector<Argument> with(Argument first, std::optional<int64_t> second) {
  std::vector<Argument> arguments{std::move(first)};
  if (second)
    arguments.push_back(number(*second));
  return arguments;
}

} // namespace

Schedule::Schedule(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Schedule& Schedule::split(const std::string& name, int64_t size) {
  impl_ = after(*impl_, "split", {loop(name), number(size)});
  return *this;
}
Schedule& Schedule::tile(const std::vector<std::pair<std::string, int64_t>>& loops) {
  std::vector<Argument> arguments;
  for (const auto& [name, size] : loops) {
    arguments.push_back(loop(name));
    arguments.push_back(number(size));
  }
  impl_ = after(*impl_, "tile", arguments);
  return *this;
}
Schedule& Schedule::interchange(const std::string& a, const std::string& b) {
  impl_ = after(*impl_, "interchange", {loop(a), loop(b)});
  return *this;
}
Schedule& Schedule::reorder(const std::vector<std::string>& loops) {
  std::vector<Argument> arguments;
  for (const std::string& name : loops)
    arguments.push_back(loop(name));
  impl_ = after(*impl_, "reorder", arguments);
  return *this;
}
Schedule& Schedule::skew(const std::string& name, const std::string& by, int64_t factor) {
  impl_ = after(*impl_, "skew", {loop(name), loop(by), number(factor)});
  return *this;
}
Schedule& Schedule::shift(const std::string& name, int64_t amount) {
  impl_ = after(*impl_, "shift", {loop(name), number(amount)});
  return *this;
}
Schedule& Schedule::reverse(const std::string& name) {
  impl_ = after(*impl_, "reverse", {loop(name)});
  return *this;
}
Schedule& Schedule::coalesce(const std::string& outer, const std::string& inner) {
  impl_ = after(*impl_, "coalesce", {loop(outer), loop(inner)});
  return *this;
}
Schedule& Schedule::fuse(const std::string& a, const std::string& b) {
  impl_ = after(*impl_, "fuse", {loop(a), loop(b)});
  return *this;
}
Schedule& Schedule::distribute(const std::string& name) {
  impl_ = after(*impl_, "distribute", {loop(name)});
  return *this;
}
Schedule& Schedule::cut(const std::string& name, int64_t at) {
  impl_ = after(*impl_, "cut", {loop(name), number(at)});
  return *this;
}
Schedule& Schedule::isolate(const std::string& name) {
  impl_ = after(*impl_, "isolate", {loop(name)});
  return *this;
}
Schedule& Schedule::compute_at(const std::string& statement, const std::string& name) {
  impl_ = after(*impl_, "compute_at", {loop(statement), loop(name)});
  return *this;
}
Schedule& Schedule::stage(const std::string& tensor, const std::string& name,
                          std::optional<int64_t> panel, std::optional<int64_t> width,
                          const std::vector<std::pair<std::string, int64_t>>& rounded) {
  std::vector<Argument> arguments{loop(tensor), loop(name)};
  if (panel)
    arguments.push_back({"panel", *panel, {}});
  if (width)
    arguments.push_back({"width", *width, {}});
  for (const auto& [dimension, to] : rounded)
    arguments.push_back({dimension, to, {}});
  impl_ = after(*impl_, "stage", arguments);
  return *this;
}
Schedule& Schedule::pack(const std::string& tensor, std::optional<std::string> name) {
  std::vector<Argument> arguments{loop(tensor)};
  if (name)
    arguments.push_back(loop(*name));
  impl_ = after(*impl_, "pack", std::move(arguments));
  return *this;
}
Schedule& Schedule::store_at(const std::string& tensor, const std::string& name) {
  impl_ = after(*impl_, "store_at", {loop(tensor), loop(name)});
  return *this;
}
Schedule& Schedule::store_in(const std::string& tensor, const std::string& other) {
  impl_ = after(*impl_, "store_in", {loop(tensor), loop(other)});
  return *this;
}
Schedule& Schedule::layout(const std::string& tensor, const std::vector<std::string>& parts) {
  std::vector<Argument> arguments{loop(tensor)};
  for (const std::string& part : parts)
    arguments.push_back(loop(part));
  impl_ = after(*impl_, "layout", std::move(arguments));
  return *this;
}
Schedule& Schedule::pad(const std::string& tensor, const std::string& dimension, int64_t by) {
  impl_ = after(*impl_, "pad", {loop(tensor), loop(dimension), {"by", by, {}}});
  return *this;
}
Schedule& Schedule::pad_to(const std::string& tensor, const std::string& dimension, int64_t to) {
  impl_ = after(*impl_, "pad", {loop(tensor), loop(dimension), {"to", to, {}}});
  return *this;
}
Schedule& Schedule::extend(const std::string& name, int64_t to) {
  impl_ = after(*impl_, "extend", {loop(name), number(to)});
  return *this;
}
Schedule& Schedule::fold(const std::string& tensor, const std::string& name,
                         std::optional<int64_t> size) {
  std::vector<Argument> arguments{loop(tensor), loop(name)};
  if (size)
    arguments.push_back({"size", *size, {}});
  impl_ = after(*impl_, "fold", std::move(arguments));
  return *this;
}
Schedule& Schedule::promote(const std::string& tensor, const std::string& name) {
  impl_ = after(*impl_, "promote", {loop(tensor), loop(name)});
  return *this;
}
Schedule& Schedule::prefetch(const std::string& tensor, const std::string& name, int64_t ahead) {
  impl_ = after(*impl_, "prefetch", {loop(tensor), loop(name), {"ahead", ahead, {}}});
  return *this;
}
Schedule& Schedule::inline_(const std::string& statement) {
  impl_ = after(*impl_, "inline", {loop(statement)});
  return *this;
}
Schedule& Schedule::unroll(const std::string& name, std::optional<int64_t> factor) {
  impl_ = after(*impl_, "unroll", with(loop(name), factor));
  return *this;
}
Schedule& Schedule::unroll_and_jam(const std::string& name, int64_t factor) {
  impl_ = after(*impl_, "unroll_and_jam", {loop(name), number(factor)});
  return *this;
}
Schedule& Schedule::vectorize(const std::string& name, std::optional<int64_t> width) {
  impl_ = after(*impl_, "vectorize", with(loop(name), width));
  return *this;
}
Schedule& Schedule::tensorize(const std::string& name, const std::string& instruction) {
  impl_ = after(*impl_, "tensorize", {loop(name), loop(instruction)});
  return *this;
}
Schedule& Schedule::parallel(const std::string& name) {
  impl_ = after(*impl_, "parallel", {loop(name)});
  return *this;
}
Schedule& Schedule::bind(const std::string& name, const std::string& axis) {
  impl_ = after(*impl_, "bind", {loop(name), loop(axis)});
  return *this;
}
Schedule& Schedule::rfactor(const std::string& name) {
  impl_ = after(*impl_, "rfactor", {loop(name)});
  return *this;
}
Schedule& Schedule::online(const std::vector<std::string>& loops) {
  std::vector<Argument> arguments;
  for (const std::string& name : loops)
    arguments.push_back(loop(name));
  impl_ = after(*impl_, "online", arguments);
  return *this;
}
Schedule& Schedule::auto_() {
  if (impl_->front.schedule.applied.empty())
    if (const auto tuned = tune::tuned_schedule(impl_->request, impl_->environment,
                                                run::default_threads(), tune::default_database()))
      return apply(tuned->directives->text);
  impl_ = after(*impl_, "auto", {});
  return *this;
}

Schedule& Schedule::apply(const std::string& directives) {
  impl_ = replaced(*impl_, api::value_or_throw(applied(*impl_, directives)));
  return *this;
}

Verdict Schedule::check(const std::string& directives) const {
  const auto next = applied(*impl_, directives);
  if (!next)
    return {false, false, next.error().front().code, render(next.error())};
  const auto judged = poly::judge(next->scop, next->order, impl_->environment.quota);
  const auto* legal = std::get_if<poly::Legal>(&judged);
  return {true, legal != nullptr && legal->reassociates, "", ""};
}

std::string Schedule::print() const { return schedule::print(impl_->front.schedule.applied); }

std::string Schedule::tree() const {
  return schedule::draw_text(impl_->front.schedule.scop, impl_->front.schedule.order);
}

std::string Schedule::c() const {
  Trace trace;
  return driver::c_of(impl_->front, {}, trace).text;
}

Executable Schedule::compile() const {
  (void)api::value_or_throw(run::check_threads());
  Trace trace;
  driver::Compiled compiled =
      api::value_or_throw(driver::compile(impl_->front, impl_->environment, trace));
  return Executable(std::make_shared<const Executable::Impl>(
      Executable::Impl{impl_->request, std::move(compiled)}));
}

} // namespace kawara
