#include "tune/measure/worker.h"

#include "tune/clock.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kawara::tune {
namespace {

using nlohmann::json;

/// A candidate may be this many times slower than the default before it counts as hanging.
constexpr double kPatience = 20;

/// Bytes of address space in use.
int64_t address_space() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

void limit(int resource, int64_t most) {
  rlimit both{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &both) != 0)
    return;
  both.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(most), both.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

std::string packed(const Prepared& prepared) {
  return json{{"outcome", static_cast<int>(prepared.outcome)}, {"reason", prepared.reason}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

std::string answer_to(Bench& bench, const json& question) {
  const auto id = question.at("id").get<uint32_t>();
  const auto what = question.at("what").get<std::string>();
  if (what == "prepare") {
    try {
      return packed(bench.prepare(id, question.at("directives").get<std::string>()));
    } catch (const std::bad_alloc&) {
      return packed({Outcome::OutOfMemory, "more memory than a candidate may have"});
    } catch (const std::exception& e) {
      return packed({Outcome::Failed, e.what()});
    }
  }
  if (what == "time") {
    const Effort effort{question.at("rounds").get<int>(), question.at("sample").get<double>(),
                        question.at("hopeless").get<double>(), question.at("limit").get<double>(),
                        question.at("unlikely").get<double>()};
    const Samples samples = bench.time(id, effort);
    return json{{"own", samples.own}, {"theirs", samples.theirs}, {"missing", samples.missing}}
        .dump();
  }
  bench.drop(id);
  return "";
}

/// The child's life: answers until nobody asks any more.
[[noreturn]] void serve(Channel channel, const MakeBench& make, const Limits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  // What candidates' runtimes print belongs to nobody.
  if (const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0) {
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
  }
  try {
    auto bench = make();
    limit(RLIMIT_AS, address_space() + limits.memory);
    channel.send(bench ? json{{"seconds", (*bench)->call_seconds()}}.dump()
                       : json{{"error", render(bench.error())}}.dump());
    std::string question;
    while (bench && channel.receive(question, -1) == Channel::State::Message) {
      const std::string answer = answer_to(**bench, json::parse(question));
      if (!answer.empty() && !channel.send(answer))
        break;
    }
  } catch (const std::exception& e) {
    channel.send(json{{"error", e.what()}}.dump());
  }
  // Nothing of the parent's may be flushed or closed a second time.
  ::_exit(0);
}

} // namespace

Worker::Worker(int process, Channel channel, const Limits& limits)
    : process_(process), channel_(std::move(channel)), limits_(limits), asked_at_(steady_seconds()),
      allowed_(limits.start_seconds) {}

Worker::Worker(Worker&& other) noexcept
    : process_(std::exchange(other.process_, -1)), channel_(std::move(other.channel_)),
      limits_(other.limits_), asked_at_(other.asked_at_), allowed_(other.allowed_),
      call_seconds_(other.call_seconds_), is_alive_(std::exchange(other.is_alive_, false)) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(process_, other.process_);
  channel_ = std::move(other.channel_);
  std::swap(limits_, other.limits_);
  std::swap(asked_at_, other.asked_at_);
  std::swap(allowed_, other.allowed_);
  std::swap(call_seconds_, other.call_seconds_);
  std::swap(is_alive_, other.is_alive_);
  return *this;
}

Worker::~Worker() {
  if (process_ > 0 && is_alive_)
    bury(true);
}

std::optional<Worker> Worker::start(const MakeBench& make, const Limits& limits) {
  auto ends = Channel::make_pair();
  if (!ends)
    return std::nullopt;
  const pid_t process = ::fork();
  if (process < 0)
    return std::nullopt;
  if (process == 0) {
    { const Channel parents = std::move(ends->first); }
    serve(std::move(ends->second), make, limits);
  }
  return Worker(process, std::move(ends->first), limits);
}

Prepared Worker::bury(bool is_late) {
  is_alive_ = false;
  if (is_late)
    ::kill(process_, SIGKILL);
  int status = 0;
  ::waitpid(process_, &status, 0);
  if (is_late)
    return {Outcome::TimedOut, "no answer within the time limit"};
  if (WIFSIGNALED(status))
    return {Outcome::Crashed, ::strsignal(WTERMSIG(status))};
  return {Outcome::Crashed, "its process ended"};
}

double Worker::patience() const { return std::max(0.0, asked_at_ + allowed_ - steady_seconds()); }

std::optional<std::string> Worker::answer(Prepared& lost) {
  std::string message;
  const auto state = channel_.receive(message, patience());
  if (state == Channel::State::Message)
    return message;
  lost = bury(state == Channel::State::TimedOut);
  return std::nullopt;
}

Parsed<Done> Worker::await_start() {
  Prepared lost;
  const auto message = answer(lost);
  const json from = message ? json::parse(*message) : json();
  if (from.contains("seconds")) {
    call_seconds_ = from["seconds"].get<double>();
    return Done{};
  }
  Diagnostic d;
  d.code = "K0606";
  d.headline = "the default schedule cannot be measured";
  d.body.push_back(from.contains("error")
                       ? from["error"].get<std::string>()
                       : "The process that should do so was lost: " + lost.reason + ".");
  return fail(Diagnostics{std::move(d)});
}

void Worker::ask_prepare(uint32_t id, const std::string& directives) {
  asked_at_ = steady_seconds();
  allowed_ = limits_.prepare_seconds + kPatience * call_seconds_;
  channel_.send(json{{"what", "prepare"}, {"id", id}, {"directives", directives}}.dump());
}

void Worker::ask_time(uint32_t id, const Effort& effort) {
  asked_at_ = steady_seconds();
  allowed_ = limits_.time_seconds + effort.limit_seconds + kPatience * call_seconds_;
  channel_.send(json{{"what", "time"},
                     {"id", id},
                     {"rounds", effort.rounds},
                     {"sample", effort.sample_seconds},
                     {"hopeless", effort.hopeless},
                     {"limit", effort.limit_seconds},
                     {"unlikely", effort.unlikely}}
                    .dump());
}

void Worker::tell_drop(uint32_t id) {
  if (is_alive_)
    channel_.send(json{{"what", "drop"}, {"id", id}}.dump());
}

Prepared Worker::prepared() {
  Prepared lost;
  const auto message = answer(lost);
  if (!message)
    return lost;
  const json from = json::parse(*message);
  return {static_cast<Outcome>(from.at("outcome").get<int>()),
          from.at("reason").get<std::string>()};
}

Result<Samples, Prepared> Worker::samples() {
  Prepared lost;
  const auto message = answer(lost);
  if (!message)
    return fail(lost);
  const json from = json::parse(*message);
  if (from.contains("error")) // the last word of a process that ended
    return fail(Prepared{Outcome::Crashed, from["error"].get<std::string>()});
  return Samples{from.at("own").get<std::vector<double>>(),
                 from.at("theirs").get<std::vector<double>>(), from.at("missing").get<double>()};
}

} // namespace kawara::tune
