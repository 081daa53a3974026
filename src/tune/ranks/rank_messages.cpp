#include "tune/ranks/rank_messages.h"

#include <nlohmann/json.hpp>

namespace kawara::tune {
namespace {

using nlohmann::json;

std::string dumped(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The message of a kind; nothing for others.
std::optional<json> parsed(const std::string& message, const char* kind) {
  json from = json::parse(message, nullptr, false);
  if (!from.is_object() || from.value("is", json()) != kind)
    return std::nullopt;
  return from;
}

json json_from(const Effort& effort) {
  return json::array({effort.rounds, effort.sample_seconds, effort.hopeless, effort.limit_seconds,
                      effort.unlikely, effort.anew});
}

Effort effort_from(const json& from) {
  return {from.at(0).get<int>(),    from.at(1).get<double>(), from.at(2).get<double>(),
          from.at(3).get<double>(), from.at(4).get<double>(), from.at(5).get<bool>()};
}

} // namespace

std::string task_message(const RankTask& task) {
  const driver::Request& request = task.task.request;
  return dumped({{"is", "task"},
                 {"number", task.number},
                 {"file", request.text->name},
                 {"text", request.text->text},
                 {"sizes", request.sizes},
                 {"numerics", request.numerics ? static_cast<int>(*request.numerics) : -1},
                 {"threads", task.task.threads},
                 {"workers", task.workers},
                 {"limits",
                  {task.limits.start_seconds, task.limits.prepare_seconds, task.limits.time_seconds,
                   task.limits.memory}}});
}

std::optional<uint32_t> task_number_from(const std::string& message) {
  const auto from = parsed(message, "task");
  if (!from)
    return std::nullopt;
  return from->at("number").get<uint32_t>();
}

std::optional<Parsed<RankTask>> task_from(const std::string& message) {
  const auto from = parsed(message, "task");
  if (!from)
    return std::nullopt;
  driver::Request request;
  request.text =
      make_source(from->at("file").get<std::string>(), from->at("text").get<std::string>());
  request.sizes = from->at("sizes").get<std::map<std::string, int64_t>>();
  if (const int numerics = from->at("numerics").get<int>(); numerics >= 0)
    request.numerics = static_cast<program::Numerics>(numerics);
  auto task =
      task_of(std::move(request), driver::host_environment(), from->at("threads").get<int64_t>());
  if (!task)
    return Parsed<RankTask>(fail(std::move(task).error()));
  const json& limits = from->at("limits");
  return Parsed<RankTask>(RankTask{from->at("number").get<uint32_t>(),
                                   *std::move(task),
                                   from->at("workers").get<int>(),
                                   {limits.at(0).get<double>(), limits.at(1).get<double>(),
                                    limits.at(2).get<double>(), limits.at(3).get<int64_t>()}});
}

std::string ready_message(const RankReady& ready) {
  return dumped({{"is", "ready"},
                 {"task", ready.task},
                 {"workers", ready.workers},
                 {"target", ready.target},
                 {"error", ready.error}});
}

std::optional<RankReady> ready_from(const std::string& message) {
  const auto from = parsed(message, "ready");
  if (!from)
    return std::nullopt;
  return RankReady{from->at("task").get<uint32_t>(), from->at("workers").get<int>(),
                   from->at("target").get<std::string>(), from->at("error").get<std::string>()};
}

std::string measure_message(const RankBatch& batch) {
  return dumped({{"is", "batch"},
                 {"task", batch.task},
                 {"batch", batch.batch},
                 {"indices", batch.indices},
                 {"candidates", batch.candidates},
                 {"effort", json_from(batch.effort)}});
}

std::optional<RankBatch> batch_from(const std::string& message) {
  const auto from = parsed(message, "batch");
  if (!from)
    return std::nullopt;
  return RankBatch{from->at("task").get<uint32_t>(), from->at("batch").get<uint32_t>(),
                   from->at("indices").get<std::vector<size_t>>(),
                   from->at("candidates").get<std::vector<std::string>>(),
                   effort_from(from->at("effort"))};
}

std::string answer_message(const RankAnswer& answer) {
  json message{{"is", "answer"},
               {"task", answer.task},
               {"batch", answer.batch},
               {"index", answer.index},
               {"lost", answer.is_lost}};
  if (answer.measured) {
    message["outcome"] = static_cast<int>(answer.measured->outcome);
    message["reason"] = answer.measured->reason;
    message["own"] = answer.measured->samples.own;
    message["theirs"] = answer.measured->samples.theirs;
    message["missing"] = answer.measured->samples.missing;
  }
  return dumped(message);
}

std::optional<RankAnswer> answer_from(const std::string& message) {
  const auto from = parsed(message, "answer");
  if (!from)
    return std::nullopt;
  RankAnswer answer{from->at("task").get<uint32_t>(), from->at("batch").get<uint32_t>(),
                    from->at("index").get<size_t>(), std::nullopt, from->at("lost").get<bool>()};
  if (from->contains("outcome"))
    answer.measured = Measured{static_cast<Outcome>(from->at("outcome").get<int>()),
                               from->at("reason").get<std::string>(),
                               {from->at("own").get<std::vector<double>>(),
                                from->at("theirs").get<std::vector<double>>(),
                                from->at("missing").get<double>()}};
  return answer;
}

std::string stop_message() {
  json message = json::object();
  message["is"] = "stop";
  return dumped(message);
}
bool is_stop(const std::string& message) { return parsed(message, "stop").has_value(); }

} // namespace kawara::tune
