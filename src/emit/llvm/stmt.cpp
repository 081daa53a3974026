#include "emit/llvm/emitter.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/loads.h"
#include "scalar/match.h"
#include "support/check.h"

#include <llvm/IR/InlineAsm.h>

namespace kawara::emit {

using scalar::BinaryOp;
using scalar::ReduceOp;

namespace {

const scalar::Expr& without_casts(const scalar::Expr& e) {
  const scalar::Expr* at = &e;
  while (const auto* n = scalar::as<scalar::Cast>(*at))
    at = &n->arg;
  return *at;
}

bool can_be_update(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || op == BinaryOp::Min ||
         op == BinaryOp::Max;
}

/// The node that combines the old value with a new one, in `value` = old op x; null when `value`
/// has no such form. `is_old` recognises the old value.
template <class IsOld>
const scalar::Node* update_node(const scalar::Expr& value, const IsOld& is_old) {
  const auto* n = scalar::as<scalar::Binary>(without_casts(value));
  if (n == nullptr || !can_be_update(n->op))
    return nullptr;
  const bool is_left = is_old(without_casts(n->lhs));
  const bool is_right = n->op != BinaryOp::Sub && is_old(without_casts(n->rhs));
  return is_left || is_right ? &without_casts(value).node() : nullptr;
}

bool is_load_of(const scalar::Expr& e, const kernel::Store& store) {
  const auto* load = scalar::as<scalar::Load>(e);
  if (load == nullptr || load->tensor != store.buffer || load->index.size() != store.index.size())
    return false;
  for (size_t d = 0; d < store.index.size(); ++d)
    if (!scalar::equal(load->index[d], store.index[d]))
      return false;
  return true;
}

bool is_variable(const scalar::Expr& e, uint32_t id) {
  const auto* v = scalar::as<scalar::Var>(e);
  return v != nullptr && v->id == id;
}

/// More operations than this pay for a branch, and four copies of them would need more registers
/// than there are.
constexpr int64_t kMostUnrolled = 32;

/// The range of the loop is read, and what it reads is found through an index: a sparse row.
bool reads_sparse_row(const kernel::For& loop) {
  if (scalar::loads_in(loop.lo).empty() && scalar::loads_in(loop.hi).empty())
    return false;
  bool gathers = false;
  kernel::visit_exprs(loop.body, [&](const scalar::Expr& value) {
    for (const scalar::Load* load : scalar::loads_in(value))
      for (const scalar::Expr& index : load->index)
        gathers = gathers || !scalar::loads_in(index).empty();
  });
  return gathers;
}

/// Numbers in the expressions of vectors, each once.
size_t numbers_in(const kernel::Block& block) {
  std::set<double> numbers;
  kernel::visit_exprs(block, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      if (const auto* number = scalar::as<scalar::FloatLit>(e); number && number->value != 0)
        numbers.insert(number->value);
    });
  });
  return numbers.size();
}

std::set<uint32_t> buffers_loaded_in(const kernel::Block& block) {
  std::set<uint32_t> loaded;
  kernel::visit_exprs(block, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        loaded.insert(load->tensor);
    });
  });
  return loaded;
}

/// Registers' worth of values that one iteration stores or assigns, at 16 bytes a register.
int64_t stored_vectors(const kernel::Block& block) {
  int64_t vectors = 0;
  const auto add = [&](const scalar::Expr& value) {
    const scalar::Type type = value.type();
    vectors += std::max<int64_t>(1, type.lanes * scalar::bytes_of(type.elem) / 16);
  };
  kernel::visit(block, [&](const kernel::Stmt& s) {
    if (const auto* store = std::get_if<kernel::Store>(&s))
      add(store->value);
    else if (const auto* assign = std::get_if<kernel::Assign>(&s))
      add(assign->value);
  });
  return vectors;
}

/// Instructions on registers of 16 bytes that the float arithmetic of one iteration takes.
int64_t float_operations(const kernel::Block& block) {
  int64_t count = 0;
  kernel::visit_exprs(block, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      const bool computes = scalar::as<scalar::Unary>(e) != nullptr ||
                            scalar::as<scalar::Binary>(e) != nullptr ||
                            scalar::as<scalar::Fma>(e) != nullptr;
      const scalar::Type type = e.type();
      if (computes && scalar::is_float(type.elem))
        count += std::max<int64_t>(1, type.lanes * scalar::bytes_of(type.elem) / 16);
    });
  });
  return count;
}

/// Distinct node of the form `!{self, hints...}` that LLVM wants at a loop's backward branch.
llvm::MDNode* loop_node(llvm::LLVMContext& context, const std::vector<llvm::Metadata*>& hints) {
  std::vector<llvm::Metadata*> operands{nullptr};
  operands.insert(operands.end(), hints.begin(), hints.end());
  llvm::MDNode* node = llvm::MDNode::getDistinct(context, operands);
  node->replaceOperandWith(0, node);
  return node;
}

} // namespace

bool has_vectors(const kernel::Block& block) {
  bool found = false;
  kernel::visit_exprs(block, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) { found = found || e.type().lanes > 1; });
  });
  return found;
}

FunctionEmitter::FunctionEmitter(ModuleParts& parts, llvm::Function* function, Frame frame)
    : parts_(parts), context_(parts.module.getContext()), function_(function),
      frame_(std::move(frame)), b_(&function->getEntryBlock()) {
  variables_.resize(parts.kernel.variables.size());
  strides_.resize(parts.kernel.buffers.size());
  // The entry block holds stack slots and strides; code goes to the next block.
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "body", function);
  entry_end_ = b_.CreateBr(body);
  b_.SetInsertPoint(body);
}

void FunctionEmitter::bind(uint32_t variable, llvm::Value* value) {
  variables_.at(variable) = {value, nullptr, nullptr};
}

llvm::BasicBlock* FunctionEmitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

void FunctionEmitter::begin_statement() {
  known_.clear();
  made_.clear();
  safe_loads_.clear();
  update_ = nullptr;
}

namespace {

/// What the statement runs; of a value without an origin, what the first statement after it runs,
/// which is what needs it.
const kernel::Origins* origins_at(const kernel::Block& statements, size_t at) {
  const kernel::Origins* own = kernel::origins_of(statements[at]);
  if ((own != nullptr && !own->empty()) || !std::holds_alternative<kernel::Define>(statements[at]))
    return own;
  for (size_t next = at + 1; next < statements.size(); ++next) {
    const kernel::Origins* found = nullptr;
    kernel::visit(statements[next], [&](const kernel::Stmt& stmt) {
      found = kernel::origins_of(stmt);
      return found != nullptr && !found->empty() ? kernel::WalkResult::Interrupt
                                                 : kernel::WalkResult::Advance;
    });
    if (found != nullptr && !found->empty())
      return found;
  }
  return own;
}

} // namespace

void FunctionEmitter::block(const kernel::Block& statements) {
  std::vector<Square> around = std::exchange(squares_, squares_of(statements));
  std::vector<MaskedLanes> masked = std::exchange(masked_, {});
  tiles_.clear();
  for (size_t s = 0; s < statements.size(); ++s) {
    begin_statement();
    for (Square& square : squares_)
      if (square.statement == s)
        load_square(square);
    if (const size_t stored = store_in_turns(statements, s)) {
      masked_.clear();
      s += stored - 1;
      continue;
    }
    origins_ = origins_at(statements, s);
    std::visit([&](const auto& kind) { stmt(kind); }, statements[s]);
    forget_tiles(statements[s]);
    forget_masked(statements[s]);
  }
  squares_ = std::move(around);
  masked_ = std::move(masked);
}

void FunctionEmitter::unless_prepared(const kernel::Block& statements) {
  Value* slot = b_.CreateConstGEP1_64(b_.getInt64Ty(), frame_.runtime, 2);
  Value* is_prepared = b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), slot), b_.getInt64(0));
  llvm::BasicBlock* first = new_block("prepare");
  llvm::BasicBlock* rest = new_block("prepared");
  b_.CreateCondBr(is_prepared, rest, first);
  b_.SetInsertPoint(first);
  block(statements);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
}

// Loops

void FunctionEmitter::stmt(const kernel::For& loop) {
  KAWARA_CHECK(loop.step > 0, "loop step " + std::to_string(loop.step));
  Value* lo = emit(loop.lo);
  Value* hi = emit(loop.hi);
  if (loop.marks.is_parallel && !frame_.in_parallel)
    parallel_loop(loop, lo, hi);
  else
    serial_loop(loop, lo, hi);
}

/// The same value, of which LLVM knows nothing. Sparse rows are short, and how long the first
/// iteration takes to begin counts: strength reduction would first make an address of each operand.
llvm::Value* FunctionEmitter::opaque(llvm::Value* index) {
  auto* type = llvm::FunctionType::get(index->getType(), {index->getType()}, false);
  return b_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/false), {index});
}

/// Rotated: tested once before and then at the end of each iteration.
void FunctionEmitter::serial_loop(const kernel::For& loop, Value* lo, Value* hi) {
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* exit = new_block("done");
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), body, exit);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.SetInsertPoint(body);
  llvm::PHINode* iv = b_.CreatePHI(lo->getType(), 2, parts_.kernel.variables.at(loop.var).name);
  iv->addIncoming(lo, before);
  Value* index = reads_sparse_row(loop) ? opaque(iv) : iv;
  bind(loop.var, index);
  intervals_.enter(loop);
  steps_[loop.var] = loop.step;
  std::set<uint32_t> stored = std::exchange(stored_, kernel::buffers_stored_in(loop.body));
  std::set<uint32_t> loaded = std::exchange(loaded_, buffers_loaded_in(loop.body));
  const bool were_kept = constants_.keep(numbers_in(loop.body) <= LoadedConstants::kFew);
  block(loop.body);
  stored_ = std::move(stored);
  loaded_ = std::move(loaded);
  constants_.keep(were_kept);
  Value* next = b_.CreateNSWAdd(index, b_.getInt64(static_cast<uint64_t>(loop.step)));
  iv->addIncoming(next, b_.GetInsertBlock());
  llvm::BranchInst* back = b_.CreateCondBr(b_.CreateICmpSLT(next, hi), body, exit);
  if (llvm::MDNode* hints = loop_hints(loop))
    back->setMetadata(llvm::LLVMContext::MD_loop, hints);
  b_.SetInsertPoint(exit);
}

llvm::MDNode* FunctionEmitter::loop_hints(const kernel::For& loop) {
  std::vector<llvm::Metadata*> hints;
  const auto hint = [&](const char* name, llvm::Constant* value) {
    std::vector<llvm::Metadata*> parts{llvm::MDString::get(context_, name)};
    if (value != nullptr)
      parts.push_back(llvm::ConstantAsMetadata::get(value));
    hints.push_back(llvm::MDNode::get(context_, parts));
  };
  const auto number = [&](int64_t n) { return b_.getInt32(static_cast<uint32_t>(n)); };
  const poly::Marks& marks = loop.marks;
  const bool is_vector_code = has_vectors(loop.body);
  if (marks.unroll == 1) {
    hint("llvm.loop.unroll.disable", nullptr);
    hint("llvm.loop.vectorize.width", number(1));
    hint("llvm.loop.interleave.count", number(1));
  } else if (marks.unroll == poly::kFullUnroll)
    hint("llvm.loop.unroll.full", nullptr);
  else if (marks.unroll > 1)
    hint("llvm.loop.unroll.count", number(marks.unroll));
  else if (is_vector_code && !kernel::has<kernel::For>(loop.body) &&
           stored_vectors(loop.body) <= 2 && float_operations(loop.body) <= kMostUnrolled)
    hint("llvm.loop.unroll.count", number(4)); // too little work to pay for the branch
  else if (is_vector_code || kernel::has<kernel::For>(loop.body))
    hint("llvm.loop.unroll.disable", nullptr); // its shape is already chosen
  if (marks.vector_width > 1 && !is_vector_code) {
    hint("llvm.loop.vectorize.width", number(marks.vector_width));
    hint("llvm.loop.vectorize.enable", b_.getTrue());
  }
  return hints.empty() ? nullptr : loop_node(context_, hints);
}

void FunctionEmitter::stmt(const kernel::If& n) {
  Value* cond = emit(n.cond);
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* otherwise = n.otherwise.empty() ? nullptr : new_block("else");
  llvm::BasicBlock* join = new_block("join");
  b_.CreateCondBr(cond, then, otherwise != nullptr ? otherwise : join);
  b_.SetInsertPoint(then);
  block(n.then);
  b_.CreateBr(join);
  if (otherwise != nullptr) {
    b_.SetInsertPoint(otherwise);
    block(n.otherwise);
    b_.CreateBr(join);
  }
  b_.SetInsertPoint(join);
}

// Memory

void FunctionEmitter::stmt(const kernel::Allocate& n) {
  Value* outer = frame_.buffers.at(n.buffer);
  frame_.buffers[n.buffer] = private_memory(n.buffer);
  block(n.body);
  frame_.buffers[n.buffer] = outer;
}

/// A place on the stack, or the buffer's part of the thread's scratch block: the parts lie one
/// after the other in the order of the signature, as `layout_of` says.
llvm::Value* FunctionEmitter::private_memory(uint32_t buffer) {
  const kernel::Buffer& b = parts_.kernel.buffers.at(buffer);
  Value* offset = b_.getInt64(0);
  for (const BufferInfo& info : parts_.signature.scratch) {
    if (info.id == buffer) {
      auto* type = llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
      Value* slot = b_.CreateConstGEP1_64(b_.getPtrTy(), frame_.runtime, 1);
      Value* function = b_.CreateLoad(b_.getPtrTy(), slot);
      llvm::CallInst* block = b_.CreateCall(type, function, {frame_.runtime, frame_.thread});
      block->addRetAttr(llvm::Attribute::NoAlias);
      block->addRetAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(kBufferAlignment)));
      return b_.CreateGEP(b_.getInt8Ty(), block, offset);
    }
    Value* bytes =
        b_.CreateNSWAdd(byte_size(info.id), b_.getInt64(kSlackBytes + kBufferAlignment - 1));
    offset = b_.CreateNSWAdd(offset, b_.CreateAnd(bytes, b_.getInt64(-kBufferAlignment)));
  }
  const int64_t bytes = *bytes_of({buffer, b.name, b.elem, b.shape, b.role}, {});
  const llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_end_);
  llvm::Type* element = memory_type(context_, {b.elem, 1});
  const auto elements = static_cast<uint64_t>((bytes + kSlackBytes) / scalar::bytes_of(b.elem));
  llvm::AllocaInst* place =
      b_.CreateAlloca(llvm::ArrayType::get(element, elements), nullptr, b.name);
  place->setAlignment(llvm::Align(kBufferAlignment));
  return place;
}

namespace {

/// Elements that are stored as they were loaded: what converts them back and forth changes nothing.
const scalar::Cast* copy_of(const kernel::Store& n, scalar::Elem elem) {
  const auto* cast = scalar::as<scalar::Cast>(n.value);
  const bool is_same = cast != nullptr && n.op == ReduceOp::None && scalar::is_float(elem) &&
                       cast->arg.type().elem == elem &&
                       scalar::holds_all_of(n.value.type().elem, elem) &&
                       scalar::as<scalar::Load>(cast->arg) != nullptr;
  return is_same ? cast : nullptr;
}

} // namespace

void FunctionEmitter::stmt(const kernel::Store& n) {
  if (store_under_mask(n))
    return;
  store_elements(n.buffer, n.index, stored_value(n), n.value.type().lanes);
}

llvm::Value* FunctionEmitter::stored_value(const kernel::Store& n) {
  const scalar::Elem elem = parts_.kernel.buffers.at(n.buffer).elem;
  const scalar::Type type = n.value.type();
  if (const scalar::Cast* cast = copy_of(n, elem))
    return emit(cast->arg);
  update_ = update_node(n.value, [&](const Expr& e) { return is_load_of(e, n); });
  Value* value = emit(n.value);
  if (n.op != ReduceOp::None) {
    Value* old = convert(load_elements(n.buffer, n.index, type.lanes), elem, type.elem);
    value = combine(n.op, type.elem, old, value);
  }
  return convert(value, type.elem, elem);
}

void FunctionEmitter::stmt(const kernel::Zero& n) {
  const bool is_argument = parts_.kernel.buffers.at(n.buffer).scope == kernel::Scope::Argument;
  const llvm::Align align = is_argument ? element_align(n.buffer) : llvm::Align(kBufferAlignment);
  b_.CreateMemSet(frame_.buffers.at(n.buffer), b_.getInt8(0), byte_size(n.buffer), align);
}

void FunctionEmitter::stmt(const kernel::Prefetch& n) {
  std::vector<Index> index;
  for (const Expr& e : n.index)
    index.push_back({e, nullptr});
  Value* pointer = address(n.buffer, index, false);
  // A packed panel, or a block that another loop will copy, is asked for while the one before it is
  // in use: the L1 has no room for both.
  constexpr int kRead = 0, kNear = 3, kSecond = 2, kData = 1;
  const bool is_far = parts_.kernel.buffers.at(n.buffer).is_packed ||
                      (loaded_.count(n.buffer) == 0 && stored_.count(n.buffer) == 0);
  const int cache = is_far ? kSecond : kNear;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                     {pointer, b_.getInt32(kRead), b_.getInt32(cache), b_.getInt32(kData)});
}

// Variables

void FunctionEmitter::stmt(const kernel::Define& n) {
  if (parts_.assigned.count(n.var) == 0)
    intervals_.define(n.var, n.value);
  store_variable(n.var, with_zero_tile(emit(n.value)));
  Binding& binding = variables_.at(n.var);
  if (parts_.extremes.count(n.var) == 0)
    return;
  Value* none = no_nans(binding.slot->getAllocatedType());
  if (binding.nans == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_end_);
    binding.nans = b_.CreateAlloca(none->getType(), nullptr, "nans");
  }
  b_.CreateStore(none, binding.nans);
}

void FunctionEmitter::stmt(const kernel::Assign& n) {
  if (parts_.extremes.count(n.var) != 0)
    return update_extreme(n);
  update_ = update_node(n.value, [&](const Expr& e) { return is_variable(e, n.var); });
  store_variable(n.var, emit(n.value));
}

void FunctionEmitter::store_variable(uint32_t variable, Value* value) {
  Binding& binding = variables_.at(variable);
  if (parts_.assigned.count(variable) == 0) {
    binding.value = value;
    return;
  }
  if (binding.slot == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_end_);
    binding.slot =
        b_.CreateAlloca(value->getType(), nullptr, parts_.kernel.variables.at(variable).name);
  }
  b_.CreateStore(value, binding.slot);
}

} // namespace kawara::emit
