#include "kernel/gpu/warpgroup/epilogue_operands.h"

#include "kernel/gpu/warpgroup/fragment.h"

#include <algorithm>

namespace kawara::kernel {

using scalar::int_lit;

int64_t EpilogueOperands::bytes_of_slot() const {
  return static_cast<int64_t>(tensors_.size()) * rows_ * kPanelBytes;
}

int64_t EpilogueOperands::share(int64_t room, int64_t stage, int64_t stages) {
  // Four stages and as many panels as possible, up to four; three stages where there is no room for
  // four.
  constexpr int64_t kFewestSlots = 2, kMostSlots = 4;
  for (; !tensors_.empty(); tensors_.pop_back())
    for (const int64_t fewest : {std::min<int64_t>(stages, 4), std::min<int64_t>(stages, 3)})
      for (slots_ = kMostSlots; slots_ >= kFewestSlots; --slots_)
        if (const int64_t left = (room - slots_ * bytes_of_slot()) / stage; left >= fewest)
          return std::min(stages, left);
  return stages;
}

PanelSources EpilogueOperands::add(Launch& launch, int64_t groups, Block& counters) {
  added_.full = static_cast<uint32_t>(launch.mbarriers.size());
  added_.empty = added_.full + 1;
  launch.mbarriers.push_back({"source_full", slots_, 1});
  launch.mbarriers.push_back({"source_empty", slots_, groups});
  for (const TileAccess& access : tensors_) {
    const Buffer tensor = kernel_.buffers[access.buffer];
    added_.panels[access.buffer] = add_group_buffer(
        kernel_, tensor.name + "_panels", tensor.elem,
        {slots_, rows_, kPanelBytes / scalar::bytes_of(tensor.elem)}, Scope::Shared);
    // Threads of a row share its columns, and have two rows.
    added_.ahead[access.buffer] =
        add_group_buffer(kernel_, tensor.name + "_ahead", scalar::compute_type(tensor.elem),
                         {2 * TileElements::kColumnsAhead / kFragmentX}, Scope::Private);
  }
  PanelSources out = added_;
  out.ring = add_ring(kernel_, "source", slots_, counters);
  return out;
}

Block EpilogueOperands::bring(Block& counters) {
  const Ring ring = add_ring(kernel_, "source_copy", slots_, counters);
  const Expr slot = scalar::var(ring.slot);
  Block out;
  for (const int64_t first : first_) {
    out.emplace_back(
        AsyncOp{AwaitPhase{{added_.empty, slot}, int_lit(1) - scalar::var(ring.parity)}});
    out.emplace_back(AsyncOp{Arrive{{added_.full, slot}, bytes_of_slot()}});
    for (const TileAccess& access : tensors_) {
      BulkLoad load;
      load.to = {added_.panels.at(access.buffer), {slot, int_lit(0), int_lit(0)}};
      load.from = {access.buffer, access.base};
      Expr& column = load.from.index[access.other];
      column = scalar::simplify(column + int_lit(first));
      load.box.assign(access.base.size(), 1);
      load.box[access.line] = rows_;
      load.box[access.other] = kPanelBytes / scalar::bytes_of(kernel_.buffers[access.buffer].elem);
      load.done = {added_.full, slot};
      out.emplace_back(AsyncOp{std::move(load)});
    }
    advance(ring, out);
  }
  return out;
}

std::vector<uint32_t> EpilogueOperands::buffers() const {
  std::vector<uint32_t> out;
  for (const auto& [tensor, panels] : added_.panels)
    out.push_back(panels);
  return out;
}

} // namespace kawara::kernel
