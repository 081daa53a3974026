#include "cache/native_caches.h"

#include "cache/native_state.h"

#include <bit>
#include <cstddef>

namespace kawara::cache {
namespace {

constexpr int64_t kMostVectorWays = 16, kMostComparedArrays = 12;

#define KAWARA_LEVEL_FIELD(name) offsetof(NativeLevel, name)
#define KAWARA_STATE_FIELD(name) offsetof(NativeState, name)
#define KAWARA_ORDER_FIELD(name) offsetof(FullLru::Fields, name)

/// Functions of one cache.
class LevelText {
public:
  LevelText(Ir& ir, const Hierarchy& all, size_t level, bool is_inline)
      : ir_(ir), all_(all), d_(all.description(level)), k_(level), compiled_(all.compiled()),
        is_inline_(is_inline) {}

  void add() {
    add_older();
    add_raw();
    add_write_back();
    add_missed();
    if (k_ == 0) {
      add_near();
      return add_touch("touch", is_inline_);
    }
    add_touch(fmt::format("use{}", k_), false);
    add_receive();
  }

private:
  bool is_one_set() const { return all_.is_full_lru(k_); }
  bool has_next() const { return k_ + 1 < all_.size(); }
  bool is_vector() const { return d_.lines_of_set() <= kMostVectorWays; }
  std::string field(size_t offset, std::string_view type = "ptr") {
    return ir_.load_constant(type, "%s",
                             KAWARA_STATE_FIELD(levels) + k_ * sizeof(NativeLevel) + offset);
  }
  std::string call(size_t offset) { return ir_.load_constant("ptr", "%s", offset); }

  std::string set_of(const std::string& line) {
    const auto sets = static_cast<uint64_t>(d_.sets());
    const std::string wide = ir_.wide(line);
    return std::has_single_bit(sets) ? ir_.value("and i64 {}, {}", wide, sets - 1)
                                     : ir_.value("urem i64 {}, {}", wide, sets);
  }
  std::string tag_of(const std::string& line) {
    return ir_.value("shl i32 {}, 1", ir_.value("add i32 {}, 1", line));
  }

  std::string vector_type(std::string_view of) const {
    return fmt::format("<{} x {}>", d_.lines_of_set(), of);
  }
  std::string splat(std::string_view type, const std::string& what) {
    const std::string one =
        ir_.value("insertelement {} poison, {} {}, i64 0", vector_type(type), type, what);
    return ir_.value("shufflevector {} {}, {} poison, {} zeroinitializer", vector_type(type), one,
                     vector_type(type), vector_type("i32"));
  }
  /// The way that has the line, or the number of ways. Both as i64.
  std::string find(const std::string& tags, const std::string& tag) {
    const int64_t ways = d_.lines_of_set();
    if (!is_vector())
      return ir_.value("call i64 @find(ptr {}, i32 {}, i64 {})", tags, tag, ways);
    const std::string all = ir_.value("load {}, ptr {}, align 4", vector_type("i32"), tags);
    const std::string plain =
        ir_.value("and {} {}, {}", vector_type("i32"), all, constants("i32", "-2"));
    const std::string same =
        ir_.value("icmp eq {} {}, {}", vector_type("i32"), plain, splat("i32", tag));
    const std::string bits = ir_.value("bitcast {} {} to i{}", vector_type("i1"), same, ways);
    const std::string wide = ways == 64 ? bits : ir_.value("zext i{} {} to i64", ways, bits);
    // A bit behind the last way stands for none.
    return ir_.value("call i64 @llvm.cttz.i64(i64 {}, i1 true)",
                     ir_.value("or i64 {}, {}", wide, uint64_t{1} << ways));
  }
  std::string constants(std::string_view type, std::string_view what) const {
    std::string text;
    for (int64_t way = 0; way < d_.lines_of_set(); ++way)
      text += fmt::format("{}{} {}", way == 0 ? "<" : ", ", type, what);
    return text + ">";
  }

  /// Of a set under LRU whose last used line is another: the value of `raw`.
  void add_older() {
    if (is_one_set() || d_.policy != Policy::Lru)
      return;
    ir_.open("define internal i64 @older{}(ptr %tags, i32 %tag, i32 %change) noinline", k_);
    if (is_vector())
      older_in_vector();
    else
      older_in_loop();
    ir_.close();
  }
  void older_in_vector() {
    const int64_t ways = d_.lines_of_set();
    const std::string type = vector_type("i32");
    const std::string way = find("%tags", "%tag");
    const std::string all = ir_.value("load {}, ptr %tags, align 4", type);
    const std::string hit = ir_.new_label(), miss = ir_.new_label();
    std::string order = fmt::format("<i32 {}", ways);
    for (int64_t w = 0; w + 1 < ways; ++w)
      order += fmt::format(", i32 {}", w);
    const auto moved = [&](const std::string& first) {
      const std::string put = ir_.value("insertelement {} poison, i32 {}, i64 0", type, first);
      return ir_.value("shufflevector {} {}, {} {}, {} {}>", type, all, type, put, type, order);
    };
    ir_.branch(ir_.value("icmp ult i64 {}, {}", way, ways), hit, miss);
    ir_.begin(hit);
    const std::string old = ir_.load("i32", ir_.element("i32", "%tags", way));
    const std::string shifted = moved(ir_.value("or i32 {}, %change", old));
    std::string ramp;
    for (int64_t w = 0; w < ways; ++w)
      ramp += fmt::format("{}i32 {}", w == 0 ? "<" : ", ", w);
    const std::string last = splat("i32", ir_.value("trunc i64 {} to i32", way));
    const std::string moves = ir_.value("icmp ule {} {}>, {}", type, ramp, last);
    ir_.line("store {} {}, ptr %tags, align 4", type,
             ir_.value("select {} {}, {} {}, {} {}", vector_type("i1"), moves, type, shifted, type,
                       all));
    ir_.line("ret i64 -1");
    ir_.begin(miss);
    const std::string out = ir_.value("extractelement {} {}, i64 {}", type, all, ways - 1);
    ir_.line("store {} {}, ptr %tags, align 4", type, moved(ir_.value("or i32 %tag, %change")));
    ir_.line("ret i64 {}", ir_.wide(out));
  }
  /// The last used stands first: each line moves on by one place, to where the line was, or out.
  void older_in_loop() {
    const std::string loop = ir_.new_label(), next = ir_.new_label(), hit = ir_.new_label(),
                      miss = ir_.new_label();
    const std::string first = ir_.load("i32", "%tags");
    ir_.store("i32", ir_.value("or i32 %tag, %change"), "%tags");
    ir_.jump(loop);
    ir_.begin(loop);
    ir_.line("%way = phi i64 [ 1, %entry ], [ %way1, %{} ]", next);
    ir_.line("%moved = phi i32 [ {}, %entry ], [ %old, %{} ]", first, next);
    ir_.branch(ir_.value("icmp ult i64 %way, {}", d_.lines_of_set()), next, miss);
    ir_.begin(next);
    const std::string place = ir_.element("i32", "%tags", "%way");
    ir_.line("%old = load i32, ptr {}", place);
    ir_.store("i32", "%moved", place);
    ir_.line("%way1 = add i64 %way, 1");
    ir_.branch(ir_.value("icmp eq i32 {}, %tag", ir_.value("and i32 %old, -2")), hit, loop);
    ir_.begin(hit);
    ir_.store("i32", ir_.value("or i32 {}, {}", ir_.load("i32", "%tags"), "%old"), "%tags");
    ir_.line("ret i64 -1");
    ir_.begin(miss);
    ir_.line("ret i64 {}", ir_.wide("%moved"));
  }

  /// raw(state, line, change): the cache has the line afterwards. -1 where it had it before, else
  /// what was put out as `Used` says.
  void add_raw() {
    ir_.open("define internal i64 @raw{}(ptr %s, i32 %line, i32 %change) alwaysinline", k_);
    if (is_one_set())
      raw_of_one_set();
    else if (d_.policy == Policy::Lru)
      raw_of_lru();
    else
      raw_of_ways();
    ir_.close();
  }
  std::string tags_of_set(const std::string& set) {
    return ir_.element("i32", field(KAWARA_LEVEL_FIELD(tags)),
                       ir_.value("mul i64 {}, {}", set, d_.lines_of_set()));
  }
  void raw_of_lru() {
    const std::string tags = tags_of_set(set_of("%line")), tag = tag_of("%line");
    const std::string first = ir_.load("i32", tags);
    const std::string hit = ir_.new_label(), older = ir_.new_label();
    ir_.branch(ir_.value("icmp eq i32 {}, {}", ir_.value("and i32 {}, -2", first), tag), hit,
               older);
    ir_.begin(hit);
    ir_.store("i32", ir_.value("or i32 {}, %change", first), tags);
    ir_.line("ret i64 -1");
    ir_.begin(older);
    ir_.line("ret i64 {}",
             ir_.value("call i64 @older{}(ptr {}, i32 {}, i32 %change)", k_, tags, tag));
  }
  void raw_of_ways() {
    const int64_t ways = d_.lines_of_set();
    const std::string set = set_of("%line");
    const std::string tags = tags_of_set(set), tag = tag_of("%line");
    const std::string state = ir_.element("i64", field(KAWARA_LEVEL_FIELD(state)), set);
    const std::string way = find(tags, tag);
    const std::string hit = ir_.new_label(), miss = ir_.new_label();
    ir_.branch(ir_.value("icmp ult i64 {}, {}", way, ways), hit, miss);
    ir_.begin(hit);
    const std::string place = ir_.element("i32", tags, way);
    ir_.store("i32", ir_.value("or i32 {}, %change", ir_.load("i32", place)), place);
    if (d_.policy == Policy::Plru)
      turn_away(state, ir_.load("i64", state), way);
    ir_.line("ret i64 -1");
    ir_.begin(miss);
    const std::string bits = ir_.load("i64", state);
    std::string chosen = bits; // of FIFO: the next way
    if (d_.policy == Policy::Fifo) {
      const std::string next = ir_.value("add i64 {}, 1", bits);
      const std::string is_last = ir_.value("icmp eq i64 {}, {}", next, ways);
      ir_.store("i64", ir_.value("select i1 {}, i64 0, i64 {}", is_last, next), state);
    } else {
      chosen = "1";
      for (int64_t nodes = 1; nodes < ways; nodes *= 2) {
        const std::string bit =
            ir_.value("and i64 {}, 1", ir_.value("lshr i64 {}, {}", bits, chosen));
        chosen = ir_.value("add i64 {}, {}", ir_.value("shl i64 {}, 1", chosen), bit);
      }
      chosen = ir_.value("sub i64 {}, {}", chosen, ways);
      turn_away(state, bits, chosen);
    }
    const std::string victim = ir_.element("i32", tags, chosen);
    const std::string out = ir_.load("i32", victim);
    ir_.store("i32", ir_.value("or i32 {}, %change", tag), victim);
    ir_.line("ret i64 {}", ir_.wide(out));
  }
  void turn_away(const std::string& state, const std::string& bits, const std::string& way) {
    const std::string on =
        ir_.load_constant("i64", ir_.element("i64", field(KAWARA_LEVEL_FIELD(on_the_way)), way));
    const std::string away =
        ir_.load_constant("i64", ir_.element("i64", field(KAWARA_LEVEL_FIELD(away)), way));
    const std::string kept = ir_.value("and i64 {}, {}", bits, ir_.value("xor i64 {}, -1", on));
    ir_.store("i64", ir_.value("or i64 {}, {}", kept, away), state);
  }
  void raw_of_one_set() {
    const std::string changed =
        ir_.element("i8", field(KAWARA_LEVEL_FIELD(is_changed)), ir_.wide("%line"));
    const std::string old = ir_.load("i8", changed);
    ir_.store("i8", ir_.value("or i8 {}, {}", old, ir_.value("trunc i32 %change to i8")), changed);
    const std::string out =
        ir_.value("call i64 @order(ptr %s, ptr {}, i32 %line)", field(KAWARA_LEVEL_FIELD(order)));
    const std::string is_out = ir_.value("icmp sge i64 {}, 0", out);
    const std::string some = ir_.new_label(), none = ir_.new_label();
    ir_.branch(is_out, some, none);
    ir_.begin(some);
    const std::string place = ir_.element("i8", field(KAWARA_LEVEL_FIELD(is_changed)), out);
    const std::string is_changed = ir_.value("zext i8 {} to i64", ir_.load("i8", place));
    ir_.store("i8", "0", place);
    const std::string tag = ir_.value("shl i64 {}, 1", ir_.value("add i64 {}, 1", out));
    ir_.line("ret i64 {}", ir_.value("or i64 {}, {}", tag, is_changed));
    ir_.begin(none); // -1: it was there; -2: there was room
    ir_.line("ret i64 {}",
             ir_.value("select i1 {}, i64 -1, i64 0", ir_.value("icmp eq i64 {}, -1", out)));
  }

  std::string count_of(const std::string& reference, size_t offset) {
    const std::string bytes = ir_.value("mul i64 {}, {}", ir_.wide(reference), sizeof(Count));
    return ir_.at(ir_.element("i8", field(KAWARA_LEVEL_FIELD(counts)), bytes), offset);
  }
  std::string array_of(const std::string& line) {
    const auto& begins = all_.first_lines(k_);
    if (begins.empty() || std::ssize(begins) > kMostComparedArrays)
      return ir_.value("call i64 {}(ptr %s, i64 {}, i32 {})", call(KAWARA_STATE_FIELD(array_of)),
                       k_, line);
    std::string found = std::to_string(begins.front().array);
    for (size_t a = 1; a < begins.size(); ++a)
      found =
          ir_.value("select i1 {}, i64 {}, i64 {}",
                    ir_.value("icmp uge i32 {}, {}", line, begins[a].line), begins[a].array, found);
    return found;
  }
  /// Where the line was never used: notes it and goes to `then`; else to `otherwise`.
  void branch_on_first_use(const std::string& then, const std::string& otherwise) {
    const std::string line = ir_.wide("%line");
    const std::string word = ir_.load("i64", ir_.element("i64", field(KAWARA_LEVEL_FIELD(was_used)),
                                                         ir_.value("lshr i64 {}, 6", line)));
    const std::string bit = ir_.value("lshr i64 {}, {}", word, ir_.value("and i64 {}, 63", line));
    const std::string is_first = ir_.value("icmp eq i64 {}, 0", ir_.value("and i64 {}, 1", bit));
    const std::string note = ir_.new_label();
    ir_.branch(is_first, note, otherwise, true);
    ir_.begin(note);
    ir_.line("call void {}(ptr %s, i64 {}, i32 %line)", call(KAWARA_STATE_FIELD(first_use)), k_);
    ir_.jump(then);
  }

  void add_write_back() {
    ir_.open("define internal void @write_back{}(ptr %s, i32 %tag, i32 %reference)", k_);
    const std::string line = ir_.value("sub i32 {}, 1", ir_.value("lshr i32 %tag, 1"));
    ir_.add_to(count_of("%reference", offsetof(Count, written_back)), "1");
    ir_.add_to(ir_.element("i64", field(KAWARA_LEVEL_FIELD(lines_out)), array_of(line)), "1");
    if (has_next()) {
      const std::string behind = ir_.value("lshr i32 {}, {}", line, all_.shift_behind(k_));
      if (k_ + 1 < compiled_)
        ir_.line("call void @receive{}(ptr %s, i32 {}, i32 %reference)", k_ + 1, behind);
      else
        ir_.line("call void {}(ptr %s, i64 {}, i32 {}, i32 %reference)",
                 call(KAWARA_STATE_FIELD(receive)), k_ + 1, behind);
    }
    ir_.line("ret void");
    ir_.close();
  }

  void add_missed() {
    ir_.open("define internal void @missed{}(ptr %s, i32 %line, i32 %reference, i32 %out, i1 "
             "%is_in_full) noinline",
             k_);
    const std::string first = ir_.new_label(), again = ir_.new_label(), counted = ir_.new_label();
    branch_on_first_use(first, again);
    ir_.begin(first);
    ir_.add_to(count_of("%reference", offsetof(Count, compulsory)), "1");
    ir_.jump(counted);
    ir_.begin(again);
    const std::string kind = ir_.value("select i1 %is_in_full, i64 {}, i64 {}",
                                       offsetof(Count, conflict), offsetof(Count, capacity));
    ir_.add_to(ir_.element("i8", count_of("%reference", 0), kind), "1");
    ir_.jump(counted);
    ir_.begin(counted);
    if (has_next()) {
      const std::string behind = ir_.value("lshr i32 %line, {}", all_.shift_behind(k_));
      if (k_ + 1 < compiled_)
        ir_.line("call i32 @use{}(ptr %s, i32 {}, i32 %reference, i32 0)", k_ + 1, behind);
      else
        ir_.line("call void {}(ptr %s, i64 {}, i32 {}, i32 %reference)",
                 call(KAWARA_STATE_FIELD(use)), k_ + 1, behind);
    }
    const std::string back = ir_.new_label(), end = ir_.new_label();
    ir_.branch(ir_.value("trunc i32 %out to i1"), back, end);
    ir_.begin(back);
    ir_.line("call void @write_back{}(ptr %s, i32 %out, i32 %reference)", k_);
    ir_.jump(end);
    ir_.begin(end);
    ir_.line("ret void");
    ir_.close();
  }

  /// Whether the cache of one set beside it had the line; `false` where there is none.
  std::string is_in_full() {
    if (!all_.has_full(k_))
      return "false";
    const std::string out =
        ir_.value("call i64 @order(ptr %s, ptr {}, i32 %line)", field(KAWARA_LEVEL_FIELD(beside)));
    return ir_.value("icmp eq i64 {}, -1", out);
  }

  void add_touch(const std::string& name, bool is_inline) {
    ir_.open("define internal i32 @{}(ptr %s, i32 %line, i32 %reference, i32 %store) {}", name,
             is_inline ? "alwaysinline" : "noinline");
    if (k_ > 0)
      ir_.add_to(count_of("%reference", offsetof(Count, accesses)), "1");
    const std::string out = ir_.value("call i64 @raw{}(ptr %s, i32 %line, i32 %store)", k_);
    const std::string in_full = is_in_full();
    const std::string hit = ir_.new_label(), miss = ir_.new_label();
    ir_.branch(ir_.value("icmp eq i64 {}, -1", out), hit, miss);
    ir_.begin(miss);
    ir_.line("call void @missed{}(ptr %s, i32 %line, i32 %reference, i32 {}, i1 {})", k_,
             ir_.value("trunc i64 {} to i32", out), in_full);
    ir_.line("ret i32 1");
    ir_.begin(hit);
    if (all_.has_full(k_))
      ir_.line("ret i32 {}", ir_.value("zext i1 {} to i32", ir_.value("xor i1 {}, true", in_full)));
    else
      ir_.line("ret i32 0");
    ir_.close();
  }

  /// `touch` of a line that is sure to be in the cache of one set beside it, whose order is made
  /// good later.
  void add_near() {
    ir_.open("define internal void @near(ptr %s, i32 %line, i32 %reference, i32 %store) {}",
             is_inline_ ? "alwaysinline" : "noinline");
    const std::string out = ir_.value("call i64 @raw{}(ptr %s, i32 %line, i32 %store)", k_);
    const std::string hit = ir_.new_label(), miss = ir_.new_label();
    ir_.branch(ir_.value("icmp eq i64 {}, -1", out), hit, miss);
    ir_.begin(miss);
    ir_.line("call void @missed{}(ptr %s, i32 %line, i32 %reference, i32 {}, i1 true)", k_,
             ir_.value("trunc i64 {} to i32", out));
    ir_.jump(hit);
    ir_.begin(hit);
    ir_.line("ret void");
    ir_.close();
  }

  /// A changed line from the cache before it.
  void add_receive() {
    ir_.open("define internal void @receive{}(ptr %s, i32 %line, i32 %reference) noinline", k_);
    ir_.add_to(field(KAWARA_LEVEL_FIELD(received)), "1");
    const std::string go = ir_.new_label();
    branch_on_first_use(go, go);
    ir_.begin(go);
    const std::string out = ir_.value("call i64 @raw{}(ptr %s, i32 %line, i32 1)", k_);
    is_in_full();
    const std::string miss = ir_.new_label(), back = ir_.new_label(), end = ir_.new_label();
    ir_.branch(ir_.value("icmp eq i64 {}, -1", out), end, miss);
    ir_.begin(miss);
    ir_.add_to(field(KAWARA_LEVEL_FIELD(not_there)), "1");
    ir_.branch(ir_.value("trunc i64 {} to i1", out), back, end);
    ir_.begin(back);
    ir_.line("call void @write_back{}(ptr %s, i32 {}, i32 %reference)", k_,
             ir_.value("trunc i64 {} to i32", out));
    ir_.jump(end);
    ir_.begin(end);
    ir_.line("ret void");
    ir_.close();
  }

  Ir& ir_;
  const Hierarchy& all_;
  const Description& d_;
  size_t k_, compiled_;
  bool is_inline_; ///< what the L1 does with a touch, where it is touched
};

/// FullLru::use. -1: the line was there; -2: there was room; else the line that made room.
void add_order(Ir& ir) {
  ir.open("define internal i64 @room(ptr %f) noinline");
  const std::string room = ir.new_label(), full = ir.new_label(), next = ir.new_label(),
                    end = ir.new_label();
  const std::string held = ir.load("i64", "%f", KAWARA_ORDER_FIELD(held));
  ir.branch(ir.value("icmp ult i64 {}, {}", held,
                     ir.load_constant("i64", "%f", KAWARA_ORDER_FIELD(capacity))),
            room, full, true);
  ir.begin(room);
  ir.store("i64", ir.value("add i64 {}, 1", held), "%f", KAWARA_ORDER_FIELD(held));
  ir.line("ret i64 -2");
  ir.begin(full);
  const std::string last = ir.load_constant("ptr", "%f", KAWARA_ORDER_FIELD(last));
  const std::string uses = ir.load_constant("ptr", "%f", KAWARA_ORDER_FIELD(uses));
  const std::string oldest = ir.load("i64", "%f", KAWARA_ORDER_FIELD(oldest));
  ir.jump(next);
  ir.begin(next);
  ir.line("%at = phi i64 [ {}, %{} ], [ %at1, %{} ]", oldest, full, next);
  ir.line("%at1 = add i64 %at, 1");
  const std::string line = ir.wide(ir.load("i32", ir.element("i32", uses, "%at")));
  const std::string place = ir.element("i32", last, line);
  ir.branch(ir.value("icmp eq i64 {}, %at", ir.wide(ir.load("i32", place))), end, next);
  ir.begin(end);
  ir.store("i32", "0", place);
  ir.store("i64", "%at1", "%f", KAWARA_ORDER_FIELD(oldest));
  ir.line("ret i64 {}", line);
  ir.close();

  ir.open("define internal i64 @order(ptr %s, ptr %f, i32 %line) alwaysinline");
  const std::string same = ir.new_label(), other = ir.new_label(), anew = ir.new_label(),
                    put = ir.new_label(), shorten = ir.new_label(), write = ir.new_label();
  const std::string all = ir.load_constant("ptr", "%f", KAWARA_ORDER_FIELD(last));
  const std::string mine = ir.element("i32", all, ir.wide("%line"));
  const std::string at = ir.load("i32", mine);
  const std::string now = ir.load("i64", "%f", KAWARA_ORDER_FIELD(now));
  ir.branch(ir.value("icmp eq i64 {}, {}", ir.wide(at), now), same, other);
  ir.begin(same);
  ir.line("ret i64 -1");
  ir.begin(other);
  ir.branch(ir.value("icmp eq i32 {}, 0", at), anew, put);
  ir.begin(anew);
  const std::string out = ir.value("call i64 @room(ptr %f)");
  ir.jump(put);
  ir.begin(put);
  const std::string result = ir.value("phi i64 [ -1, %{} ], [ {}, %{} ]", other, out, anew);
  const std::string next_now = ir.value("add i64 {}, 1", now);
  ir.store("i64", next_now, "%f", KAWARA_ORDER_FIELD(now));
  ir.branch(ir.value("icmp eq i64 {}, {}", next_now,
                     ir.load_constant("i64", "%f", KAWARA_ORDER_FIELD(length))),
            shorten, write, true);
  ir.begin(shorten);
  ir.line("call void {}(ptr %f)", ir.load_constant("ptr", "%s", KAWARA_STATE_FIELD(shorten)));
  const std::string fresh = ir.load("i64", "%f", KAWARA_ORDER_FIELD(now));
  ir.jump(write);
  ir.begin(write);
  const std::string place_now =
      ir.value("phi i64 [ {}, %{} ], [ {}, %{} ]", next_now, put, fresh, shorten);
  ir.store("i32", "%line",
           ir.element("i32", ir.load_constant("ptr", "%f", KAWARA_ORDER_FIELD(uses)), place_now));
  ir.store("i32", ir.value("trunc i64 {} to i32", place_now), mine);
  ir.line("ret i64 {}", result);
  ir.close();
}

/// Of sets that are no vector: the way that has the line, or the number of ways.
void add_find(Ir& ir) {
  ir.open("define internal i64 @find(ptr %tags, i32 %tag, i64 %ways)");
  const std::string loop = ir.new_label(), look = ir.new_label(), next = ir.new_label(),
                    end = ir.new_label();
  ir.jump(loop);
  ir.begin(loop);
  ir.line("%way = phi i64 [ 0, %entry ], [ %way1, %{} ]", next);
  ir.branch(ir.value("icmp ult i64 %way, %ways"), look, end);
  ir.begin(look);
  const std::string tag = ir.load("i32", ir.element("i32", "%tags", "%way"));
  ir.branch(ir.value("icmp eq i32 {}, %tag", ir.value("and i32 {}, -2", tag)), end, next);
  ir.begin(next);
  ir.line("%way1 = add i64 %way, 1");
  ir.jump(loop);
  ir.begin(end);
  ir.line("ret i64 %way");
  ir.close();
}

} // namespace

void add_cache_functions(Ir& ir, const Hierarchy& all, bool is_inline) {
  add_order(ir);
  add_find(ir);
  for (size_t k = all.compiled(); k-- > 0;)
    LevelText(ir, all, k, is_inline).add();
}

} // namespace kawara::cache
