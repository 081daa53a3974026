#include "tune/measure/subprocess.h"

#include "tune/measure/channel.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kawara::tune {
namespace {

using nlohmann::json;

json json_from(const Diagnostics& errors) {
  json list = json::array();
  for (const Diagnostic& error : errors) {
    json help = json::array();
    for (const auto& one : error.help)
      help.push_back({one.intro, one.text, one.checked_legal});
    list.push_back({{"code", error.code},
                    {"headline", error.headline},
                    {"body", error.body},
                    {"help", std::move(help)}});
  }
  return list;
}

Diagnostics diagnostics_from(const json& list) {
  Diagnostics errors;
  for (const json& one : list) {
    Diagnostic d;
    d.code = one.at("code").get<std::string>();
    d.headline = one.at("headline").get<std::string>();
    d.body = one.at("body").get<std::vector<std::string>>();
    for (const json& help : one.at("help"))
      d.help.push_back(
          {help.at(0).get<std::string>(), help.at(1).get<std::string>(), help.at(2).get<bool>()});
    errors.push_back(std::move(d));
  }
  return errors;
}

[[noreturn]] void answer(Channel channel, const std::function<Parsed<std::string>()>& function) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  json message;
  try {
    auto result = function();
    message = result ? json{{"text", *result}} : json{{"errors", json_from(result.error())}};
  } catch (const std::exception& e) {
    message = json{{"why", e.what()}};
  }
  channel.send(message.dump(-1, ' ', false, json::error_handler_t::replace));
  // Nothing of the parent's may be flushed or closed a second time.
  ::_exit(0);
}

Diagnostics lost(const std::string& why) {
  Diagnostic d;
  d.code = "K0640";
  d.headline = "the model cannot be looked at";
  d.body.push_back("It is run once to see which programs it needs, in a process of its own. That\n"
                   "process was lost: " +
                   why + ".");
  return {std::move(d)};
}

} // namespace

Parsed<std::string> run_in_subprocess(const std::function<Parsed<std::string>()>& function) {
  auto ends = Channel::make_pair();
  const pid_t process = ends ? ::fork() : -1;
  if (process < 0)
    return fail(lost("the system cannot make another one"));
  if (process == 0) {
    { const Channel parents = std::move(ends->first); }
    answer(std::move(ends->second), function);
  }
  { const Channel childs = std::move(ends->second); }
  std::string text;
  const auto state = ends->first.receive(text, -1);
  int status = 0;
  ::waitpid(process, &status, 0);
  if (state != Channel::State::Message)
    return fail(lost(WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "it ended"));
  const json message = json::parse(text);
  if (message.contains("errors"))
    return fail(diagnostics_from(message["errors"]));
  if (!message.contains("text"))
    return fail(lost(message.value("why", "")));
  return message["text"].get<std::string>();
}

} // namespace kawara::tune
