#include "driver/tape/recordings.h"

#include <algorithm>

namespace kawara::driver {
namespace {

bool is_recordable(const std::vector<Datum>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Datum& datum) {
    return !datum.is_sequence && static_cast<bool>(datum.tensor);
  });
}

std::string key_of_shapes(const std::vector<Datum>& inputs) {
  std::string key;
  for (const Datum& datum : inputs) {
    key += static_cast<char>('a' + static_cast<int>(datum.tensor.type()));
    for (const int64_t extent : datum.tensor.shape())
      key.append(reinterpret_cast<const char*>(&extent), sizeof extent);
    key += ';';
  }
  return key;
}

} // namespace

Player* Recordings::find(const std::vector<Datum>& inputs) {
  if (recordings_.empty() || !is_recordable(inputs))
    return nullptr;
  const auto at = recordings_.find(key_of_shapes(inputs));
  return at == recordings_.end() ? nullptr : at->second.player.get();
}

bool Recordings::add(const std::vector<Datum>& inputs, const graph::Graph& graph,
                     const std::vector<const Plan*>& plans) {
  constexpr size_t kMostRecordings = 64;
  if (!is_recordable(inputs))
    return false;
  if (recordings_.size() >= kMostRecordings)
    recordings_.clear();
  Recording& recording = recordings_[key_of_shapes(inputs)];
  if (++recording.runs != 2)
    return false;
  auto tape = tape_from_plans(graph, plans);
  if (tape)
    recording.player = std::make_unique<Player>(*std::move(tape));
  return static_cast<bool>(recording.player);
}

void Recordings::drop(const std::vector<Datum>& inputs) {
  recordings_[key_of_shapes(inputs)].player.reset();
}

Result<std::vector<Datum>, Diagnostic> play(Player& player, std::vector<Datum> inputs,
                                            ResultMemory& memory) {
  std::vector<void*> reads, writes;
  std::vector<Datum> results;
  for (Datum& datum : inputs)
    reads.push_back(datum.tensor.data());
  for (const Port& port : player.tape().outputs) {
    results.push_back({Tensor(port.type, port.shape, memory.take(port.bytes())), false, {}});
    writes.push_back(results.back().tensor.data());
  }
  KAWARA_TRY([[maybe_unused]] const Done done, player.play(reads, writes));
  return results;
}

} // namespace kawara::driver
