#include "cache/hierarchy.h"

#include <algorithm>
#include <bit>

namespace kawara::cache {
std::unique_ptr<Level> level_from_description(const Description& d, uint32_t lines) {
  switch (d.policy) {
  case Policy::Plru:
    return std::make_unique<Sets<Policy::Plru>>(d);
  case Policy::Fifo:
    return std::make_unique<Sets<Policy::Fifo>>(d);
  case Policy::Lru:
    break;
  }
  if (d.sets() == 1 && d.lines() > 16)
    return std::make_unique<FullLruLevel>(d, lines);
  return std::make_unique<Sets<Policy::Lru>>(d);
}

Count& Count::operator+=(const Count& other) {
  accesses += other.accesses;
  compulsory += other.compulsory;
  capacity += other.capacity;
  conflict += other.conflict;
  written_back += other.written_back;
  return *this;
}

Hierarchy::Hierarchy(std::vector<Description> descriptions, std::vector<Extent> arrays,
                     size_t references, bool with_classes)
    : arrays_(std::move(arrays)), extra_(references, 0) {
  uint64_t end = 0;
  for (const Extent& array : arrays_)
    end = std::max(end, array.begin + array.bytes);
  for (Description& d : descriptions) {
    Stage stage;
    stage.shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(d.line_bytes)));
    const auto lines = static_cast<uint32_t>((end >> stage.shift) + 1);
    stage.level = level_from_description(d, lines);
    stage.was_used.resize(lines / 64 + 1, 0);
    if (with_classes && (d.sets() > 1 || d.policy != Policy::Lru))
      stage.full.emplace(static_cast<uint32_t>(d.lines()), lines);
    stage.description = std::move(d);
    stages_.push_back(std::move(stage));
  }
  counts_.resize(stages_.size());
  for (LevelCounts& counts : counts_) {
    counts.of.resize(references);
    counts.lines_out.resize(arrays_.size(), 0);
    counts.lines.resize(arrays_.size(), 0);
  }
}

void Hierarchy::count_anew() {
  std::fill(extra_.begin(), extra_.end(), 0);
  for (LevelCounts& counts : counts_) {
    std::fill(counts.of.begin(), counts.of.end(), Count{});
    std::fill(counts.lines_out.begin(), counts.lines_out.end(), 0);
    counts.passed_on = counts.received = counts.not_there = 0;
  }
}

bool Hierarchy::first_use(size_t k, uint32_t line) {
  uint64_t& word = stages_[k].was_used[line / 64];
  const uint64_t bit = uint64_t{1} << (line % 64);
  if ((word & bit) != 0)
    return false;
  word |= bit;
  ++counts_[k].lines[array_of(k, line)];
  return true;
}

/// The last array that begins before the line's end.
size_t Hierarchy::array_of(size_t k, uint32_t line) const {
  const uint64_t end = (uint64_t{line} + 1) << stages_[k].shift;
  size_t found = 0;
  uint64_t latest = 0;
  for (size_t a = 0; a < arrays_.size(); ++a)
    if (arrays_[a].begin < end && arrays_[a].begin >= latest && arrays_[a].bytes > 0) {
      found = a;
      latest = arrays_[a].begin;
    }
  return found;
}

size_t Hierarchy::compiled() const {
  size_t count = 0;
  while (count < size() && count < kMostCompiled && description(count).allocates &&
         description(count).writes_back)
    ++count;
  return count;
}

bool Hierarchy::is_full_lru(size_t k) const {
  return dynamic_cast<const FullLruLevel*>(stages_[k].level.get()) != nullptr;
}

std::vector<Hierarchy::FirstLine> Hierarchy::first_lines(size_t k) const {
  std::vector<size_t> order;
  for (size_t a = 0; a < arrays_.size(); ++a)
    if (arrays_[a].bytes > 0)
      order.push_back(a);
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return arrays_[a].begin < arrays_[b].begin; });
  std::vector<FirstLine> made;
  for (const size_t a : order)
    made.push_back({static_cast<uint32_t>(arrays_[a].begin >> stages_[k].shift), a});
  return made;
}

void Hierarchy::count_miss(size_t k, uint32_t line, uint32_t reference, bool is_in_full) {
  Count& count = counts_[k].of[reference];
  if (first_use(k, line))
    ++count.compulsory;
  else if (is_in_full)
    ++count.conflict;
  else
    ++count.capacity;
}

void Hierarchy::missed(size_t k, uint32_t line, uint32_t reference, bool is_store, Used used,
                       bool is_in_full) {
  count_miss(k, line, reference, is_in_full);
  if (k + 1 < stages_.size())
    use(k + 1, line_behind(k, line), reference, false);
  if (used.put_out % 2 == 1)
    write_back(k, used.put_out, reference);
  if (is_store && !stages_[k].description.writes_back)
    pass_on(k, line, reference);
}

void Hierarchy::write_back(size_t k, uint32_t tag, uint32_t reference) {
  const uint32_t line = tag / 2 - 1;
  ++counts_[k].of[reference].written_back;
  ++counts_[k].lines_out[array_of(k, line)];
  if (k + 1 < stages_.size())
    receive(k + 1, line_behind(k, line), reference);
}

void Hierarchy::receive(size_t k, uint32_t line, uint32_t reference) {
  Stage& stage = stages_[k];
  ++counts_[k].received;
  const bool keeps = stage.description.writes_back;
  if (!stage.description.allocates) {
    if (!stage.level->use_if_there(line, keeps)) {
      ++counts_[k].not_there;
      return k + 1 < stages_.size() ? receive(k + 1, line_behind(k, line), reference) : void();
    }
  } else {
    first_use(k, line);
    const Used used = stage.level->use(line, keeps);
    if (stage.full)
      stage.full->use(line);
    counts_[k].not_there += used.is_hit ? 0 : 1;
    if (used.put_out % 2 == 1)
      write_back(k, used.put_out, reference);
  }
  if (!keeps && k + 1 < stages_.size())
    receive(k + 1, line_behind(k, line), reference);
}

void Hierarchy::use(size_t k, uint32_t line, uint32_t reference, bool is_store) {
  Stage& stage = stages_[k];
  ++counts_[k].of[reference].accesses;
  if (is_store && !stage.description.allocates) {
    store_around(k, line, reference);
    return;
  }
  const Used used = stage.level->use(line, is_store && stage.description.writes_back);
  const bool is_in_full = stage.full ? stage.full->use(line) : false;
  if (!used.is_hit)
    return missed(k, line, reference, is_store, used, is_in_full);
  if (is_store && !stage.description.writes_back)
    pass_on(k, line, reference);
}

bool Hierarchy::touch(uint32_t line, uint32_t reference, bool is_store) {
  Stage& stage = stages_[0];
  const bool writes_back = stage.description.writes_back;
  if (is_store && !stage.description.allocates)
    return !store_around(0, line, reference) || !writes_back;
  const Used used = stage.level->use(line, is_store && writes_back);
  const bool is_in_full = stage.full && stage.full->use(line);
  if (!used.is_hit)
    missed(0, line, reference, is_store, used, is_in_full);
  else if (is_store && !writes_back)
    pass_on(0, line, reference);
  return !used.is_hit || (stage.full && !is_in_full) || (is_store && !writes_back);
}

bool Hierarchy::store_around(size_t k, uint32_t line, uint32_t reference) {
  Stage& stage = stages_[k];
  const bool is_hit = stage.level->use_if_there(line, stage.description.writes_back);
  const bool is_in_full = stage.full && stage.full->holds(line) && stage.full->use(line);
  if (!is_hit)
    count_miss(k, line, reference, is_in_full);
  if (!is_hit || !stage.description.writes_back)
    pass_on(k, line, reference);
  return is_hit;
}

void Hierarchy::pass_on(size_t k, uint32_t line, uint32_t reference) {
  ++counts_[k].passed_on;
  if (k + 1 < stages_.size())
    use(k + 1, line_behind(k, line), reference, true);
}

void Hierarchy::drop(uint32_t line) {
  for (size_t k = 0; k < stages_.size(); ++k) {
    const uint32_t own = line >> (stages_[k].shift - stages_[0].shift);
    stages_[k].level->drop(own);
    if (stages_[k].full)
      stages_[k].full->drop(own);
  }
}

} // namespace kawara::cache
