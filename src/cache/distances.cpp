#include "cache/distances.h"

#include "cache/walk.h"

namespace kawara::cache {

StackDistances::StackDistances(uint32_t lines) : last_(lines, 0) {
  const uint64_t blocks = std::bit_ceil((uint64_t{2} * lines + 8 * kBlock) / kBlock);
  lines_.resize(blocks * kBlock);
  bits_.resize(blocks * kBlock / 64, 0);
  tree_.resize(blocks + 1, 0);
}

uint64_t StackDistances::use(uint32_t line) {
  if (now_ + 1 == lines_.size())
    shorten();
  uint64_t distance = kFirst;
  if (const uint64_t at = last_[line]; at != 0) {
    distance = behind(at);
    bits_[at / 64] &= ~(uint64_t{1} << (at % 64));
    if (at / kBlock != now_ / kBlock)
      change_block(at / kBlock, -1);
  } else {
    ++live_;
  }
  ++now_;
  if (now_ % kBlock == 0)
    open(now_ / kBlock);
  bits_[now_ / 64] |= uint64_t{1} << (now_ % 64);
  lines_[now_] = line;
  last_[line] = static_cast<uint32_t>(now_);
  return distance;
}

/// Bits behind place `at`.
uint64_t StackDistances::behind(uint64_t at) const {
  const auto count = [this](uint64_t from, uint64_t to) { // words
    uint64_t bits = 0;
    for (uint64_t word = from; word < to; ++word)
      bits += static_cast<uint64_t>(std::popcount(bits_[word]));
    return bits;
  };
  const uint64_t word = at / 64, block = at / kBlock;
  const uint64_t rest = bits_[word] >> (at % 64) >> 1;
  const auto here = static_cast<uint64_t>(std::popcount(rest));
  if (block == now_ / kBlock)
    return here + count(word + 1, now_ / 64 + 1);
  // All that are live, less those of this block's begin and of the blocks before it.
  uint64_t before = 0;
  for (uint64_t k = block; k > 0; k &= k - 1)
    before += tree_[k];
  const auto up_to = static_cast<uint64_t>(std::popcount(bits_[word])) - here;
  return live_ - before - count(block * (kBlock / 64), word) - up_to;
}

void StackDistances::change_block(uint64_t block, int32_t by) {
  for (uint64_t k = block + 1; k < tree_.size(); k += k & -k)
    tree_[k] += static_cast<uint32_t>(by);
}

/// The block before it is full: what is live in it joins the tree.
void StackDistances::open(uint64_t block) {
  int32_t bits = 0;
  for (uint64_t word = (block - 1) * (kBlock / 64); word < block * (kBlock / 64); ++word)
    bits += std::popcount(bits_[word]);
  change_block(block - 1, bits);
}

void StackDistances::shorten() {
  uint64_t next = 0;
  for (uint64_t at = 1; at <= now_; ++at)
    if (const uint32_t line = lines_[at]; last_[line] == at) {
      lines_[++next] = line;
      last_[line] = static_cast<uint32_t>(next);
    }
  std::fill(bits_.begin(), bits_.end(), 0);
  std::fill(tree_.begin(), tree_.end(), 0);
  for (uint64_t at = 1; at <= next; ++at)
    bits_[at / 64] |= uint64_t{1} << (at % 64);
  now_ = next;
  for (uint64_t block = 1; block <= now_ / kBlock; ++block)
    open(block);
}

int64_t DistanceHistogram::misses(int64_t lines) const {
  int64_t sum = first;
  for (size_t d = static_cast<size_t>(lines); d < times.size(); ++d)
    sum += times[d];
  return sum;
}

namespace {

class DistanceSink {
public:
  DistanceSink(StackDistances& distances, DistanceHistogram& histogram, bool counts)
      : distances_(distances), histogram_(histogram), counts_(counts) {}

  void begin_run(uint64_t) {}
  int64_t patience() const { return 0; }
  void touch(uint32_t line, const Stream&) {
    const uint64_t distance = distances_.use(line);
    recent_.push_back(distance);
    if (counts_)
      add(distance, 1);
  }
  void begin_iteration() { recent_.clear(); }
  // The second of two equal turns has the distances of all further ones.
  bool is_steady(bool is_same) const { return is_same; }
  void repeat(int64_t times) {
    for (const uint64_t distance : recent_)
      if (counts_)
        add(distance, times);
  }
  void add_accesses(uint32_t, int64_t) {}
  void add_extra(uint32_t, int64_t) {}

private:
  void add(uint64_t distance, int64_t times) {
    histogram_.touches += times;
    if (distance == StackDistances::kFirst) {
      histogram_.first += times;
      return;
    }
    if (histogram_.times.size() <= distance)
      histogram_.times.resize(distance + distance / 2 + 1, 0);
    histogram_.times[distance] += times;
  }

  StackDistances& distances_;
  DistanceHistogram& histogram_;
  bool counts_;
  std::vector<uint64_t> recent_;
};

} // namespace

DistanceHistogram distances(const AccessProgram& program, int64_t line_bytes,
                            const std::function<void(int64_t)>& progress) {
  int64_t end = 0;
  for (const Array& array : program.arrays)
    end = std::max(end, array.begin + array.bytes);
  const auto shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(line_bytes)));
  StackDistances all(static_cast<uint32_t>((end >> shift) + 1));
  DistanceHistogram made;
  made.line_bytes = line_bytes;
  const auto run = [&](const Code& code, bool counts) {
    DistanceSink sink(all, made, counts);
    Walk(program, shift, sink, progress).run(code);
  };
  if (!program.warm_up.empty())
    run(program.warm_up, false);
  run(program.code, true);
  while (!made.times.empty() && made.times.back() == 0)
    made.times.pop_back();
  return made;
}

} // namespace kawara::cache
