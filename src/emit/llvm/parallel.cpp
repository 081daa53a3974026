#include "emit/llvm/emitter.h"
#include "emit/runtime_api.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"
#include "support/check.h"

#include <set>

namespace kawara::emit {
namespace {

/// Whether iterations may differ much in work: an inner loop whose length, or a condition which,
/// follows the loop's variable.
Partition partition_of(const kernel::For& loop) {
  bool is_uneven = false;
  kernel::VarSet follow{loop.var}; // with what is defined from it, as ends of inner loops may be
  kernel::visit(loop.body, [&](const kernel::Stmt& s) {
    if (const auto* inner = std::get_if<kernel::For>(&s)) {
      const auto length =
          scalar::difference(scalar::affine_sum(inner->hi), scalar::affine_sum(inner->lo));
      is_uneven = is_uneven || kernel::mentions_any(scalar::expr_of(length), follow);
    } else if (const auto* choice = std::get_if<kernel::If>(&s)) {
      is_uneven = is_uneven || kernel::mentions_any(choice->cond, follow);
    } else if (const auto* define = std::get_if<kernel::Define>(&s)) {
      if (kernel::mentions_any(define->value, follow))
        follow.insert(define->var);
    }
  });
  return is_uneven ? Partition::Dynamic : Partition::Static;
}

} // namespace

/// Variables used in the body that come from outside: not defined in it. One with a binding may
/// still be local, when the same number was used in an earlier block.
std::vector<uint32_t> FunctionEmitter::captured_variables(const kernel::For& loop) const {
  std::set<uint32_t> local{loop.var};
  kernel::visit(loop.body, [&](const kernel::OneOf<kernel::For, kernel::Define> auto& s) {
    local.insert(s.var);
  });
  std::set<uint32_t> used;
  kernel::visit_exprs(loop.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      if (const auto* v = scalar::as<scalar::Var>(e))
        used.insert(v->id);
    });
  });
  std::vector<uint32_t> captured;
  for (const uint32_t id : used) {
    const Binding& binding = variables_.at(id);
    if (local.count(id) == 0 && (binding.value != nullptr || binding.slot != nullptr))
      captured.push_back(id);
  }
  return captured;
}

/// The body becomes two functions. `body(env, begin, end, thread)` is what the run time calls: it
/// unpacks the environment and calls `range`, whose buffer arguments are noalias, so that its loops
/// are optimised as well as serial code.
void FunctionEmitter::parallel_loop(const kernel::For& loop, Value* lo, Value* hi) {
  Capture capture;
  capture.variables = captured_variables(loop);
  std::vector<Value*> packed;
  for (uint32_t id = 0; id < frame_.buffers.size(); ++id)
    if (frame_.buffers[id] != nullptr) {
      capture.buffers.push_back(id);
      packed.push_back(frame_.buffers[id]);
    }
  packed.insert(packed.end(), frame_.params.begin(), frame_.params.end());
  for (const uint32_t id : capture.variables)
    packed.push_back(variable(id));
  packed.push_back(frame_.runtime);
  std::vector<llvm::Type*> types;
  for (Value* value : packed)
    types.push_back(value->getType());
  capture.env = llvm::StructType::get(context_, types);
  capture.name = parts_.kernel.name + ".parallel" + std::to_string(parts_.bodies++);
  llvm::Function* body = unpacking_body(capture, range_function(loop, capture));

  llvm::AllocaInst* env = nullptr;
  {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_end_);
    env = b_.CreateAlloca(capture.env, nullptr, "env");
  }
  for (unsigned i = 0; i < packed.size(); ++i)
    b_.CreateStore(packed[i], b_.CreateStructGEP(capture.env, env, i));
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* ptr = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, i64, i64, ptr, ptr}, false);
  Value* function = b_.CreateLoad(ptr, frame_.runtime);
  b_.CreateCall(type, function,
                {frame_.runtime, lo, hi, b_.getInt64(static_cast<uint64_t>(loop.step)),
                 b_.getInt64(static_cast<uint64_t>(partition_of(loop))), body, env});
  leave_if_outside(loop.body);
}

/// `range(members of env..., begin, end, thread)`: the loop itself.
llvm::Function* FunctionEmitter::range_function(const kernel::For& loop, const Capture& capture) {
  llvm::Type* i64 = b_.getInt64Ty();
  std::vector<llvm::Type*> types(capture.env->element_begin(), capture.env->element_end());
  types.insert(types.end(), {i64, i64, i64});
  auto* range = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::InternalLinkage, capture.name + ".range",
                                       parts_.module);
  for (unsigned i = 0; i < capture.buffers.size(); ++i)
    range->addParamAttr(i, llvm::Attribute::NoAlias);
  range->addFnAttr(llvm::Attribute::NoInline);
  llvm::BasicBlock::Create(context_, "entry", range);

  Frame inner;
  inner.buffers.resize(frame_.buffers.size());
  unsigned next = 0;
  for (const uint32_t id : capture.buffers)
    inner.buffers[id] = range->getArg(next++);
  for (size_t p = 0; p < frame_.params.size(); ++p)
    inner.params.push_back(range->getArg(next++));
  const unsigned first_variable = next;
  next += static_cast<unsigned>(capture.variables.size());
  inner.runtime = range->getArg(next);
  inner.thread = range->getArg(next + 3);
  inner.in_parallel = true;
  FunctionEmitter emitter(parts_, range, std::move(inner));
  emitter.intervals_ = intervals_;
  for (unsigned i = 0; i < capture.variables.size(); ++i)
    emitter.bind(capture.variables[i], range->getArg(first_variable + i));
  emitter.serial_loop(loop, range->getArg(next + 1), range->getArg(next + 2));
  emitter.finish();
  return range;
}

llvm::Function* FunctionEmitter::unpacking_body(const Capture& capture, llvm::Function* range) {
  llvm::Type* i64 = b_.getInt64Ty();
  auto* body = llvm::Function::Create(
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64, i64}, false),
      llvm::Function::InternalLinkage, capture.name, parts_.module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context_, "entry", body));
  std::vector<Value*> arguments;
  for (unsigned i = 0; i < capture.env->getNumElements(); ++i)
    arguments.push_back(b.CreateLoad(capture.env->getElementType(i),
                                     b.CreateStructGEP(capture.env, body->getArg(0), i)));
  for (unsigned i = 1; i < 4; ++i)
    arguments.push_back(body->getArg(i));
  b.CreateCall(range, arguments);
  b.CreateRetVoid();
  return body;
}

} // namespace kawara::emit
