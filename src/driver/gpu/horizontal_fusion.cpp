#include "driver/gpu/horizontal_fusion.h"

#include "program/rewrites/repeated.h"
#include "support/check.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace kawara::driver {
namespace {

/// Steps between two siblings, at most.
constexpr size_t kFarthestSibling = 12;
constexpr int64_t kSiblingAlignment = 256;

struct KernelArgument {
  uint32_t tensor = 0; ///< of the program
  int64_t bytes = 0;
  bool is_input = true;
};

/// Bytes of the tape's block.
struct Stretch {
  int64_t begin = 0, end = 0;
  bool meets(const Stretch& other) const { return begin < other.end && other.begin < end; }
  bool contains(int64_t at) const { return begin <= at && at < end; }
  bool contains(const Stretch& other) const { return begin <= other.begin && other.end <= end; }
};

class SiblingJoiner {
public:
  explicit SiblingJoiner(Tape tape) : tape_(std::move(tape)) {}

  Tape joined() {
    is_gone_.assign(tape_.steps.size(), false);
    for (size_t k = 0; k < tape_.steps.size(); ++k)
      if (const TapeKernel* kernel = kernel_at(k);
          kernel != nullptr && arguments_of(kernel->program).size() != kernel->arguments.size())
        return std::move(tape_); // who writes what is not known
    for (size_t k = 0; k < tape_.steps.size(); ++k)
      if (const std::vector<size_t> all = siblings_of(k); all.size() > 1)
        join(all);
    std::vector<TapeStep> left;
    for (size_t k = 0; k < tape_.steps.size(); ++k)
      if (!is_gone_[k])
        left.push_back(std::move(tape_.steps[k]));
    tape_.steps = std::move(left);
    return std::move(tape_);
  }

private:
  const TapeKernel* kernel_at(size_t step) const {
    return is_gone_[step] ? nullptr : std::get_if<TapeKernel>(&tape_.steps[step]);
  }

  const std::optional<program::Program>& program_of(const std::string& text) {
    auto found = programs_.find(text);
    if (found == programs_.end()) {
      const auto parsed = program::parse(make_source("sibling.kw", text));
      found = programs_.emplace(text, parsed ? std::optional(*parsed) : std::nullopt).first;
    }
    return found->second;
  }

  /// Empty where the program has sizes that are not constants, or changes what it is given.
  const std::vector<KernelArgument>& arguments_of(const std::string& text) {
    const auto known = arguments_.find(text);
    if (known != arguments_.end())
      return known->second;
    std::vector<KernelArgument> found;
    const std::optional<program::Program>& program = program_of(text);
    for (uint32_t t = 0; program && t < program->tensors.size(); ++t) {
      const program::Tensor& tensor = program->tensors[t];
      if (tensor.role == program::Role::Temp)
        continue;
      KernelArgument argument{t, scalar::bytes_of(tensor.elem),
                              tensor.role == program::Role::Input};
      for (const scalar::Expr& extent : tensor.shape)
        argument.bytes *= scalar::constant_of(scalar::simplify(extent)).value_or(0);
      if (argument.bytes == 0 || tensor.role == program::Role::Inout) {
        found.clear();
        break;
      }
      found.push_back(argument);
    }
    return arguments_.emplace(text, std::move(found)).first->second;
  }

  static bool is_same(const Slot& a, const Slot& b) { return a.where == b.where && a.at == b.at; }

  /// `step` and the kernels behind it that can run together with it.
  std::vector<size_t> siblings_of(size_t step) {
    const TapeKernel* first = kernel_at(step);
    if (first == nullptr || first->program.empty() || !first->params.empty())
      return {};
    const std::vector<KernelArgument>& arguments = arguments_of(first->program);
    if (arguments.size() != first->arguments.size() || has_copies(*program_of(first->program)))
      return {};
    if (!has_results_alone(step))
      return {};
    std::vector<size_t> all = {step};
    const size_t end = std::min(tape_.steps.size(), step + kFarthestSibling);
    for (size_t k = step + 1; k < end; ++k)
      if (const TapeKernel* other = kernel_at(k);
          other != nullptr && other->program == first->program &&
          is_sibling(*first, *other, arguments) && keeps_inputs(step, k) && has_results_alone(k))
        all.push_back(k);
    return all;
  }

  /// A temp into which elements of an input are copied: the windows of a convolution, of which each
  /// sibling would have its own.
  static bool has_copies(const program::Program& program) {
    return std::any_of(program.statements.begin(), program.statements.end(),
                       [&](const program::Statement& s) {
                         scalar::Expr value = s.value;
                         while (const auto* cast = scalar::as<scalar::Cast>(value))
                           value = cast->arg;
                         const auto* load = scalar::as<scalar::Load>(value);
                         return s.op == scalar::ReduceOp::None && load != nullptr &&
                                program.tensors[s.tensor].role == program::Role::Temp &&
                                program.tensors[load->tensor].role == program::Role::Input;
                       });
  }

  /// What the kernel at `step` reads is still there at step `other`: memory is used again and
  /// again.
  bool keeps_inputs(size_t step, size_t other) {
    const TapeKernel& first = *kernel_at(step);
    const std::vector<KernelArgument>& arguments = arguments_of(first.program);
    for (size_t n = 0; n < arguments.size(); ++n) {
      const Slot& slot = first.arguments[n];
      if (!arguments[n].is_input || slot.where != Slot::Where::Block)
        continue;
      for (size_t k = step; k < other; ++k)
        if (!is_gone_[k] && overwrites(tape_.steps[k], {slot.at, slot.at + arguments[n].bytes}))
          return false;
    }
    return true;
  }

  /// Whoever reads results of the kernel reads nothing beside them: results that are parts of a
  /// larger tensor (the inputs of a Concat, which write where its result lies) have to stay where
  /// they are.
  bool has_results_alone(size_t step) {
    const TapeKernel& writer = *kernel_at(step);
    const std::vector<KernelArgument>& arguments = arguments_of(writer.program);
    for (size_t n = 0; n < arguments.size(); ++n) {
      const Slot& slot = writer.arguments[n];
      if (arguments[n].is_input || slot.where != Slot::Where::Block)
        continue;
      const Stretch result{slot.at, slot.at + arguments[n].bytes};
      for (size_t k = step + 1; k < tape_.steps.size(); ++k) {
        if (is_gone_[k])
          continue;
        for (const Stretch& read : reads_of(tape_.steps[k]))
          if (read.meets(result) && !result.contains(read))
            return false;
        if (overwrites(tape_.steps[k], result))
          break;
      }
    }
    return true;
  }

  /// What of the block a step reads.
  std::vector<Stretch> reads_of(const TapeStep& step) {
    std::vector<Stretch> reads;
    const auto add = [&](const Slot& slot, int64_t bytes) {
      if (slot.where == Slot::Where::Block)
        reads.push_back({slot.at, slot.at + bytes});
    };
    if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
      const std::vector<KernelArgument>& arguments = arguments_of(kernel->program);
      for (size_t n = 0; n < arguments.size(); ++n)
        if (arguments[n].is_input)
          add(kernel->arguments[n], arguments[n].bytes);
    } else if (const auto* call = std::get_if<TapeCall>(&step)) {
      for (const auto& input : call->inputs)
        if (input)
          add(input->slot,
              graph::elements_of(input->shape).value_or(0) * graph::bytes_of(input->type));
    } else if (const auto* copy = std::get_if<TapeCopy>(&step))
      add(copy->from, copy->bytes);
    else {
      const auto& guard = std::get<TapeGuard>(step);
      add(guard.slot, static_cast<int64_t>(guard.elements.size()));
    }
    return reads;
  }

  bool is_sibling(const TapeKernel& first, const TapeKernel& other,
                  const std::vector<KernelArgument>& arguments) const {
    bool shares = false, differs = false;
    for (size_t n = 0; n < arguments.size(); ++n) {
      const Slot &a = first.arguments[n], &b = other.arguments[n];
      if (!arguments[n].is_input) {
        if (a.where != Slot::Where::Block || b.where != Slot::Where::Block ||
            arguments[n].bytes % kSiblingAlignment != 0)
          return false;
      } else if (is_same(a, b))
        shares |= a.where != Slot::Where::Constant;
      else if (a.where == Slot::Where::Constant && b.where == Slot::Where::Constant)
        differs = true;
      else
        return false;
    }
    return shares && differs;
  }

  void join(const std::vector<size_t>& all) {
    const auto times = static_cast<int64_t>(all.size());
    const TapeKernel first = std::get<TapeKernel>(tape_.steps[all[0]]);
    const std::vector<KernelArgument> arguments = arguments_of(first.program);
    TapeKernel whole = first;
    std::set<uint32_t> own;
    for (size_t n = 0; n < arguments.size(); ++n) {
      std::vector<Slot> slots;
      for (const size_t k : all)
        slots.push_back(std::get<TapeKernel>(tape_.steps[k]).arguments[n]);
      const bool is_shared =
          arguments[n].is_input && std::all_of(slots.begin(), slots.end(),
                                               [&](const Slot& s) { return is_same(s, slots[0]); });
      if (is_shared)
        continue;
      own.insert(arguments[n].tensor);
      whole.arguments[n] = arguments[n].is_input ? constant_of(slots)
                                                 : results_of_all(all, slots, arguments[n].bytes);
    }
    whole.program = program::print(program::repeated(*program_of(first.program), times, own));
    whole.name += "_times_" + std::to_string(times);
    for (const size_t k : all)
      is_gone_[k] = true;
    tape_.steps[all[0]] = std::move(whole);
    is_gone_[all[0]] = false;
  }

  /// The constants one behind the other.
  Slot constant_of(const std::vector<Slot>& slots) {
    const auto at = [&](const Slot& s) -> const Tensor& {
      return tape_.constants[static_cast<size_t>(s.at)];
    };
    Shape shape = at(slots[0]).shape();
    shape.insert(shape.begin(), static_cast<int64_t>(slots.size()));
    Tensor all(at(slots[0]).type(), shape);
    const int64_t bytes = at(slots[0]).bytes();
    for (size_t n = 0; n < slots.size(); ++n) {
      KAWARA_CHECK(at(slots[n]).bytes() == bytes, "constants of one size");
      std::memcpy(all.data() + static_cast<int64_t>(n) * bytes, at(slots[n]).data(),
                  static_cast<size_t>(bytes));
    }
    tape_.constants.push_back(std::move(all));
    return {Slot::Where::Constant, static_cast<int64_t>(tape_.constants.size()) - 1};
  }

  /// Results one behind the other; whoever read one where it was reads it there.
  Slot results_of_all(const std::vector<size_t>& all, const std::vector<Slot>& slots,
                      int64_t bytes) {
    const int64_t place =
        (tape_.block_bytes + kSiblingAlignment - 1) / kSiblingAlignment * kSiblingAlignment;
    tape_.block_bytes = place + static_cast<int64_t>(all.size()) * bytes;
    for (size_t n = 0; n < all.size(); ++n)
      move_readers(all[n], {slots[n].at, slots[n].at + bytes},
                   place + static_cast<int64_t>(n) * bytes);
    return {Slot::Where::Block, place};
  }

  void move_readers(size_t writer, const Stretch& old, int64_t place) {
    const auto read = [&](Slot& slot) {
      if (slot.where == Slot::Where::Block && old.contains(slot.at))
        slot.at += place - old.begin;
    };
    for (size_t k = writer + 1; k < tape_.steps.size(); ++k) {
      if (is_gone_[k])
        continue;
      TapeStep& step = tape_.steps[k];
      const bool is_over = overwrites(step, old);
      if (auto* kernel = std::get_if<TapeKernel>(&step)) {
        const std::vector<KernelArgument>& arguments = arguments_of(kernel->program);
        for (size_t n = 0; n < kernel->arguments.size(); ++n)
          if (n >= arguments.size() || arguments[n].is_input)
            read(kernel->arguments[n]);
      } else if (auto* call = std::get_if<TapeCall>(&step)) {
        for (auto& input : call->inputs)
          if (input)
            read(input->slot);
      } else if (auto* copy = std::get_if<TapeCopy>(&step))
        read(copy->from);
      else
        read(std::get<TapeGuard>(step).slot);
      if (is_over)
        return;
    }
  }

  bool overwrites(const TapeStep& step, const Stretch& elements) {
    const auto writes = [&](const Slot& slot, int64_t bytes) {
      return slot.where == Slot::Where::Block && elements.meets({slot.at, slot.at + bytes});
    };
    if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
      const std::vector<KernelArgument>& arguments = arguments_of(kernel->program);
      for (size_t n = 0; n < arguments.size(); ++n)
        if (!arguments[n].is_input && writes(kernel->arguments[n], arguments[n].bytes))
          return true;
      return false;
    }
    if (const auto* call = std::get_if<TapeCall>(&step))
      return std::any_of(call->outputs.begin(), call->outputs.end(), [&](const auto& output) {
        return output && writes(output->slot, graph::elements_of(output->shape).value_or(0) *
                                                  graph::bytes_of(output->type));
      });
    const auto* copy = std::get_if<TapeCopy>(&step);
    return copy != nullptr && writes(copy->to, copy->bytes);
  }

  Tape tape_;
  std::vector<bool> is_gone_;
  std::map<std::string, std::optional<program::Program>> programs_;
  std::map<std::string, std::vector<KernelArgument>> arguments_;
};

} // namespace

Tape horizontally_fused(Tape tape) { return SiblingJoiner(std::move(tape)).joined(); }

} // namespace kawara::driver
