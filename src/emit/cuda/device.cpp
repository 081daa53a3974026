#include "emit/cuda/device.h"

#include "emit/cuda/async_ops.h"
#include "emit/cuda/gelu_table.h"
#include "emit/cuda/lanes.h"
#include "emit/cuda/occupancy.h"
#include "emit/cuda/repeated_operand.h"
#include "emit/cuda/shared_layout.h"
#include "emit/cuda/update_columns.h"
#include "emit/cuda/used_names.h"
#include "emit/cuda/warp_shape.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "support/text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace kawara::emit {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Launch;
using kernel::Scope;
using scalar::as;
using scalar::Expr;
using scalar::ReduceOp;

class DeviceWriter {
public:
  DeviceWriter(const Kernel& k, const Launch& launch, CudaExpr& expr, CudaLaunch& out)
      : kernel_(k), launch_(launch), expr_(expr), out_(out), lanes_(expr),
        async_(k, launch, expr, out), has_async_(kernel::has_async_op(launch.body)),
        known_(definitions_in(launch.body)), stored_(kernel::buffers_stored_in(launch.body)) {
    find_used();
    for (uint32_t b = 0; has_async_ && b < k.buffers.size(); ++b)
      if (async_.is_packed(b))
        expr_.set_packed(b);
  }

  std::string text() {
    out_.name = launch_.name;
    plan_shared();
    depth_ = 1;
    positions();
    declare_shared();
    const bool has_tails = offsets_.empty() && !has_async_ && computes_many_tails(launch_.body);
    expr_.set_tails(has_tails);
    const size_t beginning = text_.size();
    // Blocks that compute for long would find places taken unevenly by those of the kernel before
    // or after.
    out_.is_alone = copies_ahead(launch_.body);
    if (!out_.is_alone) {
      expr_.need("begin");
      line("kw_begin();");
    }
    awaits_tails_ = has_tails && is_map(launch_.body);
    block(launch_.body);
    // No block ends before the table has come.
    if (awaits_tails_ && !std::holds_alternative<kernel::Store>(launch_.body.back())) {
      awaits_at_.push_back(text_.size());
      line("kw_await_tails();");
    }
    if (expr_.uses_tails())
      text_.insert(beginning, awaits_tails_ ? "  kw_bring_tails();\n"
                                            : "  kw_bring_tails();\n  kw_await_tails();\n");
    else
      remove_awaits();
    const bool looks = expr_.uses_tails();
    expr_.set_tails(false);
    const int64_t threads = launch_.threads[0] * launch_.threads[1] * launch_.threads[2];
    const int64_t blocks =
        has_async_ ? 1 : blocks_in_flight(kernel_, launch_.body, out_.buffers, threads, looks);
    return "extern \"C\" __global__ void " + async_.of_cluster() + "__launch_bounds__(" +
           std::to_string(threads) + ", " + std::to_string(blocks) + ") " + launch_.name + "(" +
           join(parameters(), ", ") + ") {\n" + text_ + async_.end_of_cluster() + "}\n\n";
  }

private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  /// Functions of narrow types do not look at it.
  void remove_awaits() {
    for (; !awaits_at_.empty(); awaits_at_.pop_back())
      text_.erase(awaits_at_.back(), text_.find('\n', awaits_at_.back()) + 1 - awaits_at_.back());
  }

  /// What the function's parameters are made of.
  void find_used() {
    const UsedNames used = used_names(kernel_, launch_);
    loaded_ = used.loaded;
    used_vars_ = used.variables;
    kernel::VarSet own = kernel::vars_set_in(block_of(launch_));
    for (const uint32_t p : used.params)
      out_.params.push_back(p);
    for (const uint32_t v : used.variables)
      if (!own.contains(v))
        out_.variables.push_back(v);
    for (const uint32_t b : used.buffers)
      if (kernel_.buffers[b].scope == Scope::Argument ||
          kernel_.buffers[b].scope == Scope::Workspace)
        out_.buffers.push_back(b);
  }

  std::vector<std::string> parameters() const {
    std::vector<std::string> parts;
    for (const uint32_t p : out_.params)
      parts.push_back(expr_.index_type() + " " + expr_.names().params[p]);
    for (const uint32_t v : out_.variables)
      parts.push_back(expr_.index_type() + " " + expr_.names().variables[v]);
    for (const uint32_t b : out_.buffers)
      parts.push_back((stored_.contains(b) ? "" : "const ") + cuda_type(kernel_.buffers[b].elem) +
                      (is_exchanged(b) ? "* " : "* __restrict__ ") + expr_.names().buffers[b]);
    for (size_t n = 0; n < out_.maps.size(); ++n)
      parts.push_back("const __grid_constant__ kw_map " +
                      name_of_map(expr_.names(), out_.maps[n], n));
    return parts;
  }

  /// One thread may read what another wrote: `__restrict__` would let reads move over barriers.
  bool is_exchanged(uint32_t buffer) const {
    return stored_.contains(buffer) && loaded_.contains(buffer) &&
           !launch_.thread_private.contains(buffer);
  }

  void plan_shared() {
    const SharedLayout layout = shared_layout(kernel_, launch_.body);
    offsets_ = layout.offsets;
    out_.shared_bytes = layout.bytes;
    barriers_at_ = out_.shared_bytes;
    if (has_async_)
      out_.shared_bytes += async_.bytes_of_barriers() + kSwizzleAlignment;
    out_.is_dynamic = has_async_ || out_.shared_bytes > kStaticSharedBytes;
  }

  void declare_shared() {
    if (has_async_) {
      line("extern __shared__ unsigned char kw_given[];");
      line("unsigned char* const kw_shared = kw_given + (-kw_address(kw_given) & " +
           std::to_string(kSwizzleAlignment - 1) + ");");
      for (const std::string& text : async_.barriers(barriers_at_))
        line(text);
    } else if (out_.is_dynamic)
      line("extern __shared__ __align__(16) unsigned char kw_shared[];");
    for (const auto& [id, offset] : offsets_) {
      const Buffer& b = kernel_.buffers[id];
      const std::string type = cuda_type(b.elem), name = expr_.names().buffers[id];
      note_type(b.elem);
      if (out_.is_dynamic)
        line(type + "* const " + name + " = (" + type + "*)(kw_shared + " + std::to_string(offset) +
             ");");
      else
        line(fmt::format("__shared__ __align__(16) {} {}[{}];", type, name, elements_of(b)));
    }
  }

  void positions() {
    constexpr std::array kNames = {"x", "y", "z"};
    const auto define = [&](uint32_t var, const std::string& value) {
      expr_.set_nonnegative(var);
      if (used_vars_.contains(var))
        line("const " + expr_.index_type() + " " + expr_.names().variables[var] + " = " + value +
             ";");
    };
    for (size_t a = 0; a < 3; ++a)
      define(launch_.block_vars[a], std::string("blockIdx.") + kNames[a]);
    const auto shape = warp_shape(kernel_, launch_);
    for (size_t a = 0; a < 3; ++a)
      define(launch_.thread_vars[a], shape && a < 2
                                         ? number_in_warps(*shape, launch_.threads[0], a == 0)
                                         : std::string("threadIdx.") + kNames[a]);
  }

  void block(const Block& statements) {
    for (size_t n = 0; n < statements.size();) {
      if (const UpdateColumns columns = update_columns(kernel_, statements, n); columns.count > 0) {
        updates(columns);
        n += columns.count;
      } else if (awaits_tails_ && std::holds_alternative<kernel::Store>(statements[n]))
        n = stores_of_map(statements, n);
      else
        std::visit([&](const auto& s) { one(s); }, statements[n++]);
    }
  }

  /// Everything that stores in a row read is under way before the thread waits for the table and
  /// computes. Returns where they end.
  size_t stores_of_map(const Block& statements, size_t first) {
    size_t end = first;
    for (; end < statements.size(); ++end) {
      const auto* store = std::get_if<kernel::Store>(&statements[end]);
      if (store == nullptr)
        break;
      load_vectors(store->value);
    }
    awaits_at_.push_back(text_.size());
    line("kw_await_tails();");
    lanes_.keep_loaded(true);
    for (size_t n = first; n < end; ++n)
      one(std::get<kernel::Store>(statements[n]));
    lanes_.keep_loaded(false);
    return end;
  }

  void nested(const Block& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  void one(const kernel::For& s) {
    const std::string i = expr_.names().variables[s.var];
    const std::string step = s.step == 1 ? "++" + i : i + " += " + std::to_string(s.step);
    if (has_async_)
      line("#pragma unroll 1");
    line("for (" + expr_.index_type() + " " + i + " = " + expr_(s.lo) + "; " + i + " < " +
         expr_(s.hi) + "; " + step + ") {");
    nested(s.body);
    line("}");
  }
  void one(const kernel::If& s) {
    line("if (" + expr_(s.cond) + ") {");
    nested(s.then);
    if (!s.otherwise.empty()) {
      line("} else {");
      nested(s.otherwise);
    }
    line("}");
  }
  void one(const kernel::Allocate& s) {
    const Buffer& b = kernel_.buffers[s.buffer];
    if (b.scope == Scope::Shared)
      return block(s.body);
    note_type(b.elem);
    line("{");
    ++depth_;
    if (expr_.is_packed(s.buffer))
      line(fmt::format("unsigned {}[{}];", expr_.names().buffers[s.buffer], elements_of(b) / 2));
    else
      line("__align__(16) " + cuda_type(b.elem) + " " + expr_.names().buffers[s.buffer] + "[" +
           std::to_string(elements_of(b)) + "];");
    block(s.body);
    --depth_;
    line("}");
  }
  void one(const kernel::Launch&) {}
  void one(const kernel::Barrier&) { line("__syncthreads();"); }
  void one(const kernel::Commit&) {
    line("asm volatile(\"cp.async.commit_group;\" ::: \"memory\");");
  }
  void one(const kernel::Await& s) {
    line("asm volatile(\"cp.async.wait_group " + std::to_string(s.pending) +
         ";\" ::: \"memory\");");
  }
  void one(const kernel::Combine& s) {
    expr_.need("combine");
    const std::string rows = std::to_string(launch_.threads[1] * launch_.threads[2]);
    const std::string type = expr_.type_of(s.value.type());
    line("const " + type + " " + expr_.names().variables[s.var] + " = kw_combine<kw_" +
         std::string(scalar::name_of(s.op)) + ", " + std::to_string(launch_.threads[0]) + ", " +
         rows + ", " + type + ">(" + expr_(s.value) + ");");
  }
  void one(const kernel::AsyncOp& s) {
    for (const std::string& text : async_.lines(s))
      line(text);
  }
  void one(const kernel::Zero&) {}
  void one(const kernel::Prefetch& s) {
    line("asm volatile(\"prefetch.global.L1 [%0];\" ::\"l\"(&" + expr_.element(s.buffer, s.index) +
         "));");
  }
  void one(const kernel::Comment& s) { line("// " + s.text); }

  void note_type(scalar::Elem elem) { expr_.need_type(elem); }

  /// Loads every vector of the expression that lies in one aligned piece into a variable.
  void load_vectors(const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || e.type().lanes == 1 || !is_run(load->index) ||
          !is_aligned(kernel_, load->tensor, load->index, known_) || lanes_.is_loaded(e) ||
          stays_in_registers(load->tensor))
        return;
      expr_.need("vector");
      const std::string name = "v" + std::to_string(vectors_++);
      const std::string type = vector_of(load->tensor, e.type().lanes);
      const std::string element = expr_.element(load->tensor, first_of(load->index));
      const bool has_many =
          !stored_.contains(load->tensor) && is_repeated(kernel_, launch_, known_, e);
      if (has_many)
        expr_.need("repeated");
      line("const " + type + " " + name + " = " + (has_many ? "kw_repeated(" : "*") + "(const " +
           type + "*)&" + element + (has_many ? ");" : ";"));
      lanes_.set_loaded(e, name);
    });
  }

  std::string vector_of(uint32_t buffer, int64_t lanes) const {
    return "kw_vector<" + cuda_type(kernel_.buffers[buffer].elem) + ", " + std::to_string(lanes) +
           ">";
  }

  void one(const kernel::Store& s) {
    if (const scalar::Load* from = copied_by_hardware(kernel_, s, known_)) {
      expr_.need("copy_async");
      const int64_t bytes = s.value.type().lanes * scalar::bytes_of(kernel_.buffers[s.buffer].elem);
      line("kw_copy_async<" + std::to_string(bytes) + ">(&" +
           expr_.element(s.buffer, first_of(s.index)) + ", &" +
           expr_.element(from->tensor, first_of(from->index)) + ");");
      return;
    }
    lanes_.forget_loaded();
    const scalar::Elem elem = kernel_.buffers[s.buffer].elem;
    note_type(elem);
    const int64_t lanes = s.value.type().lanes;
    Expr value = s.value;
    if (s.op != ReduceOp::None) {
      const auto width = static_cast<uint16_t>(lanes);
      const Expr old = scalar::cast(scalar::load(s.buffer, s.index, {elem, width}),
                                    {scalar::compute_type(elem), width});
      value = scalar::combine(s.op, old, value);
    }
    load_vectors(value);
    value = lanes_.without_reductions(value);
    if (expr_.is_packed(s.buffer))
      return packed_store(s, value);
    if (lanes == 1) {
      line(expr_.element(s.buffer, s.index) + " = " + expr_.converted(value, elem) + ";");
      return;
    }
    const bool is_whole = is_run(s.index) && is_aligned(kernel_, s.buffer, s.index, known_) &&
                          !stays_in_registers(s.buffer);
    expr_.need("vector");
    const std::string type = vector_of(s.buffer, lanes);
    if (is_whole)
      return whole_store(s, value, type);
    const std::string name = "v" + std::to_string(vectors_++);
    line("const " + type + " " + name + " = " + braced(value, elem) + ";");
    for (int64_t lane = 0; lane < lanes; ++lane) {
      std::vector<Expr> at;
      for (const Expr& e : s.index)
        at.push_back(lanes_.lane_of(e, lane));
      line(expr_.element(s.buffer, at) + " = " + name + ".at[" + std::to_string(lane) + "];");
    }
  }

  /// An aligned vector: as it was loaded, in pairs of 16 bits, or element by element.
  void whole_store(const kernel::Store& s, const Expr& value, const std::string& type) {
    const scalar::Elem elem = kernel_.buffers[s.buffer].elem;
    const std::string element = expr_.element(s.buffer, first_of(s.index));
    const auto* cast = as<scalar::Cast>(value);
    const Expr source = cast != nullptr && cast->arg.type().elem == elem ? cast->arg : value;
    if (const std::string* name = source.type().elem == elem ? lanes_.name_of(source) : nullptr) {
      line("*(" + type + "*)&" + element + " = " + *name + ";");
      return;
    }
    const bool is_short = elem == scalar::Elem::BF16 || elem == scalar::Elem::F16;
    const int64_t lanes = value.type().lanes;
    // Who reads the buffer in this launch must know its type.
    if (!is_short || lanes % 2 != 0 || loaded_.contains(s.buffer) || source.type().elem == elem) {
      line("*(" + type + "*)&" + element + " = " + type + braced(value, elem) + ";");
      return;
    }
    const std::string suffix = elem == scalar::Elem::BF16 ? "bf16" : "f16";
    expr_.need("packed_" + suffix);
    std::vector<std::string> parts;
    for (int64_t lane = 0; lane < lanes; lane += 2)
      parts.push_back("kw_pack_" + suffix + "(" +
                      expr_.before_rounding(lanes_.lane_of(value, lane)) + ", " +
                      expr_.before_rounding(lanes_.lane_of(value, lane + 1)) + ")");
    const std::string words = "kw_vector<unsigned, " + std::to_string(lanes / 2) + ">";
    line("*(" + words + "*)&" + element + " = " + words + "{{" + join(parts, ", ") + "}};");
  }

  /// Two elements at once, or one half of a register.
  void packed_store(const kernel::Store& s, const Expr& value) {
    const scalar::Elem elem = kernel_.buffers[s.buffer].elem;
    const std::string suffix = elem == scalar::Elem::BF16 ? "bf16" : "f16";
    expr_.need("packed_" + suffix);
    const Expr first = first_of(s.index).front();
    const std::string target = expr_.packed_register(s.buffer, first);
    const auto lane = [&](int64_t n) { return expr_.before_rounding(lanes_.lane_of(value, n)); };
    if (value.type().lanes == 2 && *scalar::constant_of(first) % 2 == 0) {
      line(target + " = kw_pack_" + suffix + "(" + lane(0) + ", " + lane(1) + ");");
      return;
    }
    for (int64_t n = 0; n < value.type().lanes; ++n) {
      const int64_t element = *scalar::constant_of(first) + n;
      const std::string at = expr_.packed_register(s.buffer, scalar::int_lit(element));
      const std::string bits = "kw_pack_" + suffix + "(" + lane(n) + ", " + lane(n) + ")";
      line(at + " = (" + at + (element % 2 == 0 ? " & 0xffff0000u" : " & 0xffffu") + ") | (" +
           bits + (element % 2 == 0 ? " & 0xffffu" : " & 0xffff0000u") + ");");
    }
  }

  /// What warpgroups have to themselves is never in memory: no piece of it has an address.
  bool stays_in_registers(uint32_t buffer) const {
    return has_async_ && kernel_.buffers[buffer].scope == Scope::Private;
  }

  void one(const kernel::Define& s) { set(s.var, s.value, true); }
  void one(const kernel::Assign& s) { set(s.var, s.value, false); }

  void set(uint32_t var, const Expr& given, bool is_new) {
    if (!used_vars_.contains(var))
      return;
    lanes_.forget_loaded();
    load_vectors(given);
    const Expr value = lanes_.without_reductions(given);
    const scalar::Type type = kernel_.variables[var].type;
    note_type(type.elem);
    const std::string name = expr_.names().variables[var];
    if (type.lanes == 1) {
      line((is_new ? expr_.type_of(type) + " " : "") + name + " = " +
           expr_.converted(value, type.elem) + ";");
      return;
    }
    expr_.need("vector");
    if (is_new) {
      line(expr_.type_of(type) + " " + name + " = " + braced(value, type.elem) + ";");
      return;
    }
    for (int64_t lane = 0; lane < type.lanes; ++lane)
      set_lane(var, value, lane);
  }

  void set_lane(uint32_t var, const Expr& value, int64_t lane) {
    line(expr_.names().variables[var] + ".at[" + std::to_string(lane) + "] = " +
         expr_.converted(lanes_.lane_of(value, lane), kernel_.variables[var].type.elem) + ";");
  }

  void updates(const UpdateColumns& columns) {
    lanes_.forget_loaded();
    expr_.need("vector");
    for (const auto& group : columns.groups)
      for (const kernel::Assign* s : group) {
        note_type(kernel_.variables[s->var].type.elem);
        load_vectors(s->value);
      }
    for (std::vector<const kernel::Assign*> group : columns.groups)
      for (int64_t lane = 0; lane < kernel_.variables[group.front()->var].type.lanes; ++lane) {
        for (const kernel::Assign* s : group)
          if (used_vars_.contains(s->var))
            set_lane(s->var, lanes_.without_reductions(s->value), lane);
        std::reverse(group.begin(), group.end());
      }
  }

  /// All lanes of a vector: {{a, b, c, d}}
  std::string braced(const Expr& value, scalar::Elem to) {
    std::vector<std::string> parts;
    for (int64_t lane = 0; lane < value.type().lanes; ++lane)
      parts.push_back(expr_.converted(lanes_.lane_of(value, lane), to));
    return "{{" + join(parts, ", ") + "}}";
  }

  const Kernel& kernel_;
  const Launch& launch_;
  CudaExpr& expr_;
  CudaLaunch& out_;
  Lanes lanes_;
  AsyncWriter async_;
  bool has_async_;
  int64_t barriers_at_ = 0;
  Definitions known_;
  std::set<uint32_t> stored_, loaded_, used_vars_;
  std::map<uint32_t, int64_t> offsets_;
  std::string text_;
  size_t depth_ = 0;
  bool awaits_tails_ = false; ///< the table, after loads
  std::vector<size_t> awaits_at_;
  int vectors_ = 0;
};

} // namespace

std::string cuda_device_function(const Kernel& kernel, const Launch& launch, CudaExpr& expr,
                                 CudaLaunch& out) {
  return DeviceWriter(kernel, launch, expr, out).text();
}

} // namespace kawara::emit
