#include "emit/llvm/emitter.h"
#include "emit/runtime_api.h"
#include "scalar/affine_sum.h"
#include "support/check.h"

#include <set>

namespace kawara::emit {
namespace {

bool mentions(const scalar::Expr& e, uint32_t variable) {
  bool found = false;
  scalar::visit(e, [&](const scalar::Expr& x) {
    const auto* v = scalar::as<scalar::Var>(x);
    found = found || (v != nullptr && v->id == variable);
  });
  return found;
}

/// Whether iterations may differ much in work: an inner loop whose length, or a condition which,
/// follows the loop's variable.
Partition partition_of(const kernel::For& loop) {
  bool is_uneven = false;
  kernel::visit(loop.body, [&](const kernel::Stmt& s) {
    if (const auto* inner = std::get_if<kernel::For>(&s)) {
      const auto length =
          scalar::difference(scalar::affine_sum(inner->hi), scalar::affine_sum(inner->lo));
      is_uneven = is_uneven || mentions(scalar::expr_of(length), loop.var);
    } else if (const auto* choice = std::get_if<kernel::If>(&s)) {
      is_uneven = is_uneven || mentions(choice->cond, loop.var);
    }
  });
  return is_uneven ? Partition::Dynamic : Partition::Static;
}

void mark_buffer_arguments(llvm::Function* function, size_t count) {
  for (unsigned i = 0; i < count; ++i)
    function->addParamAttr(i, llvm::Attribute::NoAlias);
}

} // namespace

std::vector<uint32_t> FunctionEmitter::captured_variables(const kernel::For& loop) const {
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
    if (id != loop.var && (binding.value != nullptr || binding.slot != nullptr))
      captured.push_back(id);
  }
  return captured;
}

/// The body becomes two functions. `body(env, begin, end, thread)` is what the run time calls: it
/// unpacks the environment and calls `range`, whose buffer arguments are noalias, so that its loops
/// are optimised as well as serial code.
void FunctionEmitter::parallel_loop(const kernel::For& loop, Value* lo, Value* hi) {
  const std::vector<uint32_t> captured = captured_variables(loop);
  std::vector<uint32_t> buffers;
  std::vector<Value*> packed;
  for (uint32_t id = 0; id < frame_.buffers.size(); ++id)
    if (frame_.buffers[id] != nullptr) {
      buffers.push_back(id);
      packed.push_back(frame_.buffers[id]);
    }
  packed.insert(packed.end(), frame_.params.begin(), frame_.params.end());
  for (const uint32_t id : captured)
    packed.push_back(variable(id));
  packed.push_back(frame_.runtime);

  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Type* ptr = b_.getPtrTy();
  std::vector<llvm::Type*> types;
  for (Value* value : packed)
    types.push_back(value->getType());
  auto* env_type = llvm::StructType::get(context_, types);
  const std::string name = parts_.kernel.name + ".parallel" + std::to_string(parts_.bodies++);

  std::vector<llvm::Type*> range_types = types;
  range_types.insert(range_types.end(), {i64, i64, i64});
  auto* range =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), range_types, false),
                             llvm::Function::InternalLinkage, name + ".range", parts_.module);
  mark_buffer_arguments(range, buffers.size());
  range->addFnAttr(llvm::Attribute::NoInline);
  auto* body =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, i64}, false),
                             llvm::Function::InternalLinkage, name, parts_.module);

  {
    llvm::IRBuilder<> unpack(llvm::BasicBlock::Create(context_, "entry", body));
    std::vector<Value*> arguments;
    for (unsigned i = 0; i < types.size(); ++i)
      arguments.push_back(
          unpack.CreateLoad(types[i], unpack.CreateStructGEP(env_type, body->getArg(0), i)));
    for (unsigned i = 1; i < 4; ++i)
      arguments.push_back(body->getArg(i));
    unpack.CreateCall(range, arguments);
    unpack.CreateRetVoid();
  }
  {
    llvm::BasicBlock::Create(context_, "entry", range);
    Frame inner;
    inner.buffers.resize(frame_.buffers.size());
    unsigned next = 0;
    for (const uint32_t id : buffers)
      inner.buffers[id] = range->getArg(next++);
    for (size_t p = 0; p < frame_.params.size(); ++p)
      inner.params.push_back(range->getArg(next++));
    const unsigned first_captured = next;
    next += static_cast<unsigned>(captured.size());
    inner.runtime = range->getArg(next);
    inner.thread = range->getArg(next + 3);
    inner.in_parallel = true;
    FunctionEmitter emitter(parts_, range, std::move(inner));
    for (unsigned i = 0; i < captured.size(); ++i)
      emitter.bind(captured[i], range->getArg(first_captured + i));
    emitter.serial_loop(loop, range->getArg(next + 1), range->getArg(next + 2));
    emitter.builder().CreateRetVoid();
  }

  llvm::AllocaInst* env = nullptr;
  {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_end_);
    env = b_.CreateAlloca(env_type, nullptr, "env");
  }
  for (unsigned i = 0; i < packed.size(); ++i)
    b_.CreateStore(packed[i], b_.CreateStructGEP(env_type, env, i));
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, i64, i64, ptr, ptr}, false);
  Value* function = b_.CreateLoad(ptr, frame_.runtime);
  b_.CreateCall(type, function,
                {frame_.runtime, lo, hi, b_.getInt64(static_cast<uint64_t>(loop.step)),
                 b_.getInt64(static_cast<uint64_t>(partition_of(loop))), body, env});
}

} // namespace kawara::emit
