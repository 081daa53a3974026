#include "oracle/random_directive.h"

#include "oracle/proposal.h"
#include "schedule/tree/arrangement.h"
#include "schedule/tree/resolve.h"
#include "target/intrinsic.h"

#include <algorithm>
#include <set>

namespace kawara::oracle {

using namespace schedule;
using poly::LoopId;
using poly::StmtId;

namespace {

class Chooser {
public:
  Chooser(const Schedule& schedule, std::mt19937_64& random)
      : schedule_(schedule), random_(random), loops_(nameable_loops(schedule.order)) {}

  Directive one() {
    if (loops_.empty())
      return Inline{statement()};
    if (has_scalar() && draw(0, 5) == 0)
      return draw(0, 1) == 0 ? Directive(StoreAt{temp(), loop()}) : store_in();
    const int64_t kind = draw(0, 34);
    const int64_t small = draw(2, 4);
    switch (kind) {
    case 0:
    case 1:
      return Split{loop(), small};
    case 2:
      return tile();
    case 3:
    case 4: {
      const auto [a, b] = neighbours();
      return Interchange{a, b};
    }
    case 5:
      return reorder();
    case 6: {
      const auto [a, b] = neighbours();
      const int64_t factor = draw(0, 3) == 0 ? 2 : draw(0, 2) == 0 ? -1 : 1;
      return draw(0, 3) == 0 ? Skew{a, b, factor} : Skew{b, a, factor};
    }
    case 7:
      return Shift{loop(), draw(0, 1) == 0 ? draw(1, 3) : -draw(1, 2)};
    case 8:
      return Reverse{loop()};
    case 9: {
      const auto [a, b] = neighbours();
      return Coalesce{a, b};
    }
    case 10:
    case 11:
      return fuse();
    case 12:
      return Distribute{loop()};
    case 13:
      return Cut{loop(), draw(0, 4)};
    case 14:
      return Isolate{loop()};
    case 15:
      return ComputeAt{producer(), loop()};
    case 16:
      return Inline{producer()};
    case 17:
      return draw(0, 1) == 0 ? Unroll{loop(), std::nullopt} : Unroll{loop(), small};
    case 18:
      return UnrollAndJam{loop(), draw(2, 3)};
    case 19:
      return Vectorize{loop(), draw(0, 9) == 0 ? std::optional<int64_t>() : small};
    case 20:
      return Parallel{loop()};
    case 21:
      return draw(0, 1) == 0 ? Directive(Auto{}) : Directive(Parallel{loop()});
    case 22:
    case 23:
    case 24:
      return stage();
    case 25:
    case 26: {
      const auto [name, at] = read_below();
      if (draw(0, 3) == 0)
        return Prefetch{name, at, draw(1, 3)};
      Pack pack{name, at};
      if (draw(0, 2) == 0)
        pack.reader = statement();
      return pack;
    }
    case 27:
      return layout();
    case 28:
      return pad();
    case 29:
    case 30:
      return draw(0, 2) == 0 ? Fold{temp(), loop(), draw(1, 4)} : Fold{temp(), loop(), {}};
    case 31: {
      const auto [name, at] = written_below();
      return Promote{name, at};
    }
    case 32:
    case 33:
      return Extend{loop(), small};
    default:
      return Rfactor{loop()};
    }
  }

  /// Lanes along some loop, seldom of a width that no machine has.
  Directive lanes() {
    if (loops_.empty())
      return one();
    const LoopName at = draw(0, 4) == 0 ? loop() : named(path().back());
    return Vectorize{at, draw(0, 5) == 0 ? draw(2, 5) : int64_t{1} << draw(1, 3)};
  }

  Directive request() {
    if (loops_.empty())
      return Inline{statement()};
    if (draw(0, 1) == 0)
      return Online{{loop(), loop()}};
    const auto& known = target::intrinsics();
    return Tensorize{loop(), std::string(known[random_() % known.size()].name)};
  }

private:
  int64_t draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  template <class T> const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(draw(0, static_cast<int64_t>(from.size()) - 1))];
  }

  LoopName named(LoopId loop) { return name_of_loop(schedule_.scop, schedule_.order, loop); }
  LoopName loop() { return named(pick(loops_)); }

  /// Loops of one path, in tree order: those that could form a nest.
  std::vector<LoopId> path() {
    const std::vector<StmtId> below = poly::statements_below(schedule_.order, pick(loops_));
    std::vector<LoopId> loops = poly::path_of(schedule_.order, pick(below));
    std::erase_if(loops, [&](LoopId id) { return schedule_.order[id].is_coalesced_into_parent; });
    return loops;
  }

  std::pair<LoopName, LoopName> neighbours() {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const std::vector<LoopId> loops = path();
      if (loops.size() < 2)
        continue;
      const int64_t at = draw(0, static_cast<int64_t>(loops.size()) - 2);
      const int64_t next =
          draw(1, 4) == 1 ? draw(at + 1, static_cast<int64_t>(loops.size()) - 1) : at + 1;
      return {named(loops[static_cast<size_t>(at)]), named(loops[static_cast<size_t>(next)])};
    }
    return {loop(), loop()};
  }

  std::string statement() {
    std::vector<std::string> live;
    for (const poly::ScopStatement& s : schedule_.scop.statements)
      if (!s.is_removed)
        live.push_back(s.text.name);
    return live.empty() ? "S0" : pick(live);
  }

  /// A statement that writes a temp, where there is one: others cannot be moved.
  std::string producer() {
    std::vector<std::string> writers;
    for (const poly::ScopStatement& s : schedule_.scop.statements)
      if (!s.is_removed && schedule_.scop.tensors[s.text.tensor].role == program::Role::Temp)
        writers.push_back(s.text.name);
    return writers.empty() || draw(1, 20) == 1 ? statement() : pick(writers);
  }

  /// A tensor and a loop, mostly one below which it is read and not written: others cannot be
  /// staged.
  std::pair<std::string, LoopName> read_below() {
    const auto& tensors = schedule_.scop.tensors;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const LoopId at = pick(loops_);
      std::vector<std::string> read;
      std::set<std::string> written;
      for (const StmtId id : poly::statements_below(schedule_.order, at)) {
        written.insert(tensors[schedule_.scop[id].text.tensor].name);
        scalar::visit(schedule_.scop[id].text.value, [&](const scalar::Expr& e) {
          if (const auto* load = scalar::as<scalar::Load>(e))
            read.push_back(tensors[load->tensor].name);
        });
      }
      std::erase_if(read, [&](const std::string& name) { return written.contains(name); });
      if (!read.empty())
        return {pick(read), named(at)};
    }
    return {pick(tensors).name, loop()};
  }

  /// Where there is one: others cannot be folded.
  std::string temp() {
    std::vector<std::string> temps;
    for (const program::Tensor& tensor : schedule_.scop.tensors)
      if (tensor.role == program::Role::Temp)
        temps.push_back(tensor.name);
    return temps.empty() ? schedule_.scop.tensors.front().name : pick(temps);
  }

  bool has_scalar() const {
    const auto& tensors = schedule_.scop.tensors;
    return std::any_of(tensors.begin(), tensors.end(), [](const program::Tensor& t) {
      return t.role == program::Role::Temp && t.shape.size() == t.private_dims;
    });
  }

  /// A temp, and mostly a tensor that a statement makes of it, after iterations have got copies of
  /// it: others cannot be stored there.
  Directive store_in() {
    const std::string name = temp();
    std::vector<StoreIn> made;
    for (const poly::ScopStatement& s : schedule_.scop.statements)
      if (!s.is_removed)
        scalar::visit(s.text.value, [&](const scalar::Expr& e) {
          if (const auto* load = scalar::as<scalar::Load>(e);
              load != nullptr && schedule_.scop.tensors[load->tensor].name == name)
            made.push_back({name, schedule_.scop.tensors[s.text.tensor].name});
        });
    if (made.empty())
      return StoreIn{name, pick(schedule_.scop.tensors).name};
    if (draw(0, 1) == 0)
      return Group{{StoreAt{name, loop()}, pick(made)}};
    return pick(made);
  }

  /// A loop and a tensor that a statement below it writes.
  std::pair<std::string, LoopName> written_below() {
    const LoopId at = pick(loops_);
    const StmtId id = pick(poly::statements_below(schedule_.order, at));
    return {schedule_.scop.tensors[schedule_.scop[id].text.tensor].name, named(at)};
  }

  /// Dimensions in any order, some in blocks; now and then one twice or one too few, or elements in
  /// another type.
  Layout layout() {
    const program::Tensor& tensor = pick(schedule_.scop.tensors);
    Layout layout{tensor.name, {}};
    if (draw(0, 3) == 0)
      layout.type = pick(
          std::vector{scalar::Elem::F32, scalar::Elem::F64, scalar::Elem::I32, scalar::Elem::I64});
    for (size_t d = tensor.private_dims; d < tensor.shape.size(); ++d) {
      const auto dim = static_cast<int64_t>(d - tensor.private_dims);
      if (draw(0, 1) == 0) {
        layout.parts.push_back({dim, LayoutPart::Kind::Whole, 1});
        continue;
      }
      const int64_t block = draw(1, 3);
      layout.parts.push_back({dim, LayoutPart::Kind::Blocks, block});
      layout.parts.push_back({dim, LayoutPart::Kind::Inside, block});
    }
    std::shuffle(layout.parts.begin(), layout.parts.end(), random_);
    if (draw(0, 19) == 0 && !layout.parts.empty())
      layout.parts.pop_back();
    return layout;
  }

  Stage stage() {
    const auto [name, at] = read_below();
    Stage stage{name, at, std::nullopt, std::nullopt};
    if (draw(0, 1) == 0)
      stage.rounded.push_back({draw(0, draw(0, 1)), draw(1, 4)});
    if (draw(0, 1) == 0)
      return stage;
    stage.panel = draw(0, draw(0, 1)); // the first dimension more often: every tensor has it
    stage.width = draw(1, 4);
    return stage;
  }

  /// Half of them with zeros, so that loops can be extended over them.
  Pad pad() {
    Pad pad{pick(schedule_.scop.tensors).name, draw(0, draw(0, 1)), 0};
    if (draw(0, 1) == 0)
      pad.by = draw(1, 3);
    else
      pad.to = draw(1, 4);
    return pad;
  }

  Tile tile() {
    const std::vector<LoopId> loops = path();
    Tile tile;
    const int64_t begin = draw(0, static_cast<int64_t>(loops.size()) - 1);
    const int64_t end =
        std::min<int64_t>(static_cast<int64_t>(loops.size()) - 1, begin + draw(0, 2));
    for (int64_t k = begin; k <= end; ++k)
      tile.loops.emplace_back(named(loops[static_cast<size_t>(k)]), draw(2, 3));
    return tile;
  }

  Reorder reorder() {
    std::vector<LoopId> loops = path();
    std::shuffle(loops.begin(), loops.end(), random_);
    Reorder reorder;
    for (const LoopId id : loops)
      reorder.loops.push_back(named(id));
    return reorder;
  }

public:
  /// What is there, with some loops of a statement exchanged or shifted, some places changed.
  Directive arrange() {
    auto now = arrangement_of(schedule_.scop, schedule_.order, schedule_.order);
    if (!now || now->statements.empty())
      return Distribute{loop()};
    for (int64_t change = draw(1, 2); change > 0; --change) {
      ArrangedStatement& statement = pick_of(now->statements);
      if (draw(0, 1) == 0)
        pick_of(statement.places) = draw(0, 2);
      if (!statement.loops.empty() && draw(0, 2) == 0)
        std::shuffle(statement.loops.begin(), statement.loops.end(), random_);
      if (!statement.loops.empty() && draw(0, 3) == 0)
        pick_of(statement.loops).shift = draw(-1, 2);
    }
    return *now;
  }

private:
  template <class T> T& pick_of(std::vector<T>& from) {
    return from[static_cast<size_t>(draw(0, static_cast<int64_t>(from.size()) - 1))];
  }

  Fuse fuse() {
    // Loops that follow each other, where the chosen one has a neighbour.
    const auto try_in = [&](const std::vector<poly::TreeNode>& body, auto&& self,
                            std::vector<std::pair<LoopId, LoopId>>& found) -> void {
      for (size_t k = 0; k < body.size(); ++k) {
        if (k + 1 < body.size() && body[k].is_loop() && body[k + 1].is_loop())
          found.emplace_back(body[k].loop(), body[k + 1].loop());
        self(body[k].body, self, found);
      }
    };
    std::vector<std::pair<LoopId, LoopId>> found;
    try_in(schedule_.order.body, try_in, found);
    if (found.empty())
      return {loop(), loop()};
    const auto [a, b] = pick(found);
    return {named(a), named(b)};
  }

  const Schedule& schedule_;
  std::mt19937_64& random_;
  std::vector<LoopId> loops_;
};

Group random_group(Schedule schedule, const Environment& environment, std::mt19937_64& random) {
  Group group;
  const size_t members = 2 + random() % 2;
  try {
    while (group.members.size() < members) {
      group.members.push_back(Chooser(schedule, random).one());
      auto made = proposal_of(schedule, group.members.back(), environment);
      if (!made)
        break;
      schedule.scop = std::move(made->scop);
      schedule.order = std::move(made->order);
    }
  } catch (const std::exception&) {
    return group; // meets the same error again when it is checked
  }
  return group;
}

} // namespace

Directive random_arrangement(const Schedule& schedule, std::mt19937_64& random) {
  return Chooser(schedule, random).arrange();
}

Directive random_lanes(const Schedule& schedule, std::mt19937_64& random) {
  return Chooser(schedule, random).lanes();
}

Directive random_request(const Schedule& schedule, std::mt19937_64& random) {
  return Chooser(schedule, random).request();
}

Directive random_directive(const Schedule& schedule, const Environment& environment,
                           std::mt19937_64& random) {
  if (random() % 100 < 12)
    return random_group(schedule, environment, random);
  return Chooser(schedule, random).one();
}

} // namespace kawara::oracle
