#include "kernel/kernel.h"
#include "scalar/match.h"
#include "support/text.h"

namespace kawara::kernel {
namespace {

using scalar::Overloaded;

class Printer {
public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), names_(names_of(kernel)) {}

  std::string print() {
    line("kernel " + (kernel_.name.empty() ? "unnamed" : kernel_.name) + ":");
    ++depth_;
    for (const program::Param& p : kernel_.params)
      line("param " + p.name);
    const std::set<uint32_t> used = used_buffers(kernel_);
    for (uint32_t id = 0; id < kernel_.buffers.size(); ++id)
      if (const Buffer& b = kernel_.buffers[id];
          b.scope == Scope::Argument || (b.scope == Scope::Workspace && used.count(id) != 0))
        line(std::string(b.scope == Scope::Workspace ? "workspace"
                         : b.is_constant             ? "const"
                                                     : program::name_of(b.role)) +
             " " + declaration(b));
    block(kernel_.body);
    return text_;
  }

private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }
  std::string text(const Expr& e) const { return e ? scalar::to_string(e, names_) : "<absent>"; }

  std::string list(const std::vector<Expr>& items) const {
    std::vector<std::string> parts;
    for (const Expr& e : items)
      parts.push_back(e ? scalar::index_text(e, names_) : "<absent>");
    return parts.empty() ? "" : "[" + join(parts, ", ") + "]";
  }

  std::string declaration(const Buffer& b) const {
    return b.name + ": " + std::string(scalar::name_of(b.elem)) + list(b.shape);
  }

  std::string marks(const For& loop) const {
    std::string words;
    if (loop.marks.is_parallel)
      words += " parallel";
    if (loop.marks.vector_width != 0)
      words += (loop.marks.is_scan ? " scan(" : " vector(") +
               std::to_string(loop.marks.vector_width) + ")";
    if (loop.marks.unroll == poly::kFullUnroll)
      words += " unroll";
    else if (loop.marks.unroll != 0)
      words += " unroll(" + std::to_string(loop.marks.unroll) + ")";
    if (!loop.marks.instruction.empty())
      words += " " + loop.marks.instruction;
    if (loop.marks.is_isolated)
      words += " isolated";
    if (!loop.marks.prefetches.empty())
      words += " prefetch";
    if (loop.marks.axis != poly::Axis::None)
      words += " " + std::string(poly::name_of(loop.marks.axis));
    if (loop.marks.stages != 0)
      words += " pipeline(" + std::to_string(loop.marks.stages) + ")";
    if (loop.joins_child)
      words += " join";
    return words.empty() ? words : "  #" + words;
  }

  void block(const Block& statements) {
    for (const Stmt& stmt : statements)
      std::visit([&](const auto& s) { one(s); }, stmt);
    if (statements.empty())
      line("pass");
  }

  void nested(const Block& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  void one(const For& s) {
    const std::string step = s.step == 1 ? "" : ", " + std::to_string(s.step);
    line("for " + names_.vars[s.var] + " in range(" + text(s.lo) + ", " + text(s.hi) + step +
         "):" + marks(s));
    nested(s.body);
  }
  void one(const If& s) {
    line("if " + text(s.cond) + ":");
    nested(s.then);
    if (s.otherwise.empty())
      return;
    line("else:");
    nested(s.otherwise);
  }
  void one(const Allocate& s) {
    const Buffer& b = kernel_.buffers[s.buffer];
    line((b.scope == Scope::Shared ? "shared " : "private ") + declaration(b) + ":");
    nested(s.body);
  }
  void one(const Launch& s) {
    std::vector<std::string> blocks, threads;
    for (size_t a = 0; a < 3; ++a) {
      blocks.push_back(names_.vars[s.block_vars[a]] + "=" + text(s.blocks[a]));
      threads.push_back(names_.vars[s.thread_vars[a]] + "=" + std::to_string(s.threads[a]));
    }
    line("launch " + s.name + " blocks(" + join(blocks, ", ") + ") threads(" + join(threads, ", ") +
         ")" + (s.cluster > 1 ? " cluster(" + std::to_string(s.cluster) + "):" : ":"));
    for (const Mbarriers& row : s.mbarriers)
      line("  mbarrier " + row.name + "[" + std::to_string(row.slots) + "] of " +
           std::to_string(row.arrivals));
    launch_ = &s;
    nested(s.body);
  }
  void one(const Barrier&) { line("barrier"); }
  void one(const Commit&) { line("commit"); }
  void one(const Await& s) { line("await all but " + std::to_string(s.pending)); }
  void one(const Combine& s) {
    line("let " + names_.vars[s.var] + ": " + scalar::to_string(kernel_.variables[s.var].type) +
         " = " + std::string(scalar::name_of(s.op)) + " over threads of " + text(s.value));
  }
  void one(const AsyncOp& s) {
    std::visit([&](const auto& order) { line(async_op(order)); }, s.what);
  }
  std::string element(const ElementAt& at) const {
    return names_.tensors[at.buffer] + list(at.index);
  }
  std::string slot(const MbarrierSlot& at) const {
    return launch_->mbarriers[at.row].name + "[" + text(at.slot) + "]";
  }
  static std::string box(const std::vector<int64_t>& extents) {
    std::vector<std::string> parts;
    for (const int64_t n : extents)
      parts.push_back(std::to_string(n));
    return " box(" + join(parts, ", ") + ")";
  }
  std::string walk(const BulkLoad& s) const {
    if (!s.walk)
      return "";
    std::string words = " walk";
    for (size_t d = 0; d < 2; ++d)
      words += (d == 0 ? "(" : ", ") + std::to_string(s.walk->first[d]) + ".." +
               std::to_string(s.walk->last[d]) + " by " + std::to_string(s.walk->stride[d]);
    return words + ") of " + std::to_string(s.walk->channels) + " tap" + list(s.tap);
  }
  std::string async_op(const BulkLoad& s) const {
    return "bulk " + element(s.to) + " = " + element(s.from) + box(s.box) + walk(s) + " to " +
           slot(s.done) + (s.is_multicast ? " of each block" : "");
  }
  std::string async_op(const BulkStore& s) const {
    return "bulk " + element(s.to) + " = " + element(s.from) + box(s.box);
  }
  static std::string async_op(const AwaitBulkStores& s) {
    return "await bulk stores but " + std::to_string(s.pending);
  }
  std::string async_op(const Arrive& s) const {
    return "arrive " + slot(s.at) + (s.block ? " of block " + text(*s.block) : "") +
           (s.bytes != 0 ? " expecting " + std::to_string(s.bytes) + " bytes" : "");
  }
  std::string async_op(const AwaitPhase& s) const {
    return "await " + slot(s.at) + " phase " + text(s.parity);
  }
  std::string async_op(const Mma& s) const {
    return s.instruction + " " + names_.tensors[s.c] + (s.starts_at_zero ? " = " : " += ") +
           element(s.a) + (s.is_a_transposed ? " transposed" : "") + " * " + element(s.b) +
           (s.is_b_transposed ? " transposed" : "") + ", " + std::to_string(s.steps) + " steps";
  }
  static std::string async_op(const AwaitMma& s) {
    return "await products but " + std::to_string(s.pending);
  }
  static std::string async_op(const GroupBarrier&) { return "barrier of the warpgroup"; }
  static std::string async_op(const SetRegisters& s) {
    return "registers " + std::to_string(s.count);
  }
  void one(const Store& s) {
    line((s.is_async ? "async " : "") + names_.tensors[s.buffer] + list(s.index) + " " +
         std::string(update_sign(s.op)) + " " + text(s.value));
  }
  void one(const Define& s) {
    line("let " + names_.vars[s.var] + ": " + scalar::to_string(kernel_.variables[s.var].type) +
         " = " + text(s.value));
  }
  void one(const Assign& s) { line(names_.vars[s.var] + " = " + text(s.value)); }
  void one(const Zero& s) { line("zero " + names_.tensors[s.buffer]); }
  void one(const Prefetch& s) { line("prefetch " + names_.tensors[s.buffer] + list(s.index)); }
  void one(const Comment& s) { line("# " + s.text); }

  const Kernel& kernel_;
  scalar::Names names_;
  std::string text_;
  size_t depth_ = 0;
  const Launch* launch_ = nullptr;
};

} // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).print(); }

} // namespace kawara::kernel
