#include "tune/space/collective.h"

#include "program/interpret/instruction.h"

#include <algorithm>

namespace kawara::tune {
namespace {

using schedule::Tensorize;
using schedule::Tile;

const program::Instruction* instruction_named(std::string_view name) {
  const target::Intrinsic* data = target::find_intrinsic(name);
  return data != nullptr && data->is_collective ? &program::instruction_of(*data) : nullptr;
}

bool differ_in_lanes_alone(const program::Instruction& a, const program::Instruction& b) {
  if (!a.data->is_collective || !b.data->is_collective || a.operands.size() != b.operands.size() ||
      a.extents[0] != b.extents[0] || a.extents[2] != b.extents[2])
    return false;
  for (size_t k = 0; k < a.operands.size(); ++k)
    if (a.operands[k].elem != b.operands[k].elem)
      return false;
  return a.data->strictness == b.data->strictness;
}

/// All numbers of lanes of an instruction's kind, ascending.
std::vector<int64_t> lanes_like(const program::Instruction& one) {
  std::vector<int64_t> lanes;
  for (const target::Intrinsic& data : target::intrinsics())
    if (data.is_collective && differ_in_lanes_alone(one, program::instruction_of(data)))
      lanes.push_back(program::instruction_of(data).extents[1]);
  std::sort(lanes.begin(), lanes.end());
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return lanes;
}

std::vector<int64_t> multiples(int64_t unit, std::initializer_list<int64_t> factors) {
  std::vector<int64_t> values;
  for (const int64_t factor : factors)
    values.push_back(unit * factor);
  return values;
}

} // namespace

std::vector<Collective> collectives_of(const std::vector<Directive>& list) {
  std::vector<Collective> found;
  for (size_t t = 0; t < list.size(); ++t) {
    const auto* tensorize = std::get_if<Tensorize>(&list[t]);
    const auto* one = tensorize != nullptr ? instruction_named(tensorize->instruction) : nullptr;
    if (one == nullptr || one->extents.size() != 3)
      continue;
    for (size_t k = 0; k < t; ++k) {
      const auto* tile = std::get_if<Tile>(&list[k]);
      for (size_t item = 0; tile != nullptr && item + 2 < tile->loops.size(); ++item) {
        const LoopName& rows = tile->loops[item].first;
        if (rows.statement == tensorize->loop.statement && rows.loop + ".1" == tensorize->loop.loop)
          found.push_back({k, item, t, one->extents});
      }
    }
  }
  return found;
}

std::optional<std::vector<int64_t>> collective_choices(const std::vector<Directive>& list,
                                                       std::string_view loop, int64_t size) {
  for (const Collective& one : collectives_of(list)) {
    const auto& loops = std::get<Tile>(list[one.tile]).loops;
    for (size_t item = 0; item < 3; ++item) {
      if (loops[one.rows + item].first.loop != loop || loops[one.rows + item].second != size)
        continue;
      if (item == 0)
        return multiples(one.extents[0], {1, 2, 3, 4});
      if (item == 2) // as much as TMA lays out for the instruction
        return std::vector<int64_t>{size};
      return lanes_like(*instruction_named(std::get<Tensorize>(list[one.tensorize]).instruction));
    }
  }
  return std::nullopt;
}

void fit_instructions(std::vector<Directive>& list) {
  for (const Collective& one : collectives_of(list)) {
    const int64_t lanes = std::get<Tile>(list[one.tile]).loops[one.rows + 1].second;
    auto& tensorize = std::get<Tensorize>(list[one.tensorize]);
    const program::Instruction& now = *instruction_named(tensorize.instruction);
    if (now.extents[1] == lanes)
      continue;
    for (const target::Intrinsic& data : target::intrinsics())
      if (data.is_collective && program::instruction_of(data).extents[1] == lanes &&
          differ_in_lanes_alone(now, program::instruction_of(data)))
        tensorize.instruction = data.name;
  }
}

bool is_same_but_lanes(std::string_view instruction, std::string_view other) {
  const auto *a = instruction_named(instruction), *b = instruction_named(other);
  return a != nullptr && b != nullptr && differ_in_lanes_alone(*a, *b);
}

} // namespace kawara::tune
