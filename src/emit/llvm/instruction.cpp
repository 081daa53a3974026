#include "emit/llvm/emitter.h"
#include "emit/llvm/lookup.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "support/check.h"
#include "target/intrinsic.h"

#include <algorithm>

namespace kawara::emit {
namespace {

using scalar::Elem;

constexpr uint16_t kTileRowBytes = 64;
/// Of bytes that are no tile: of as many as a register has, computed with as i32.
constexpr uint64_t kLongestVector = 256;

/// A vector's bits as words: the type in which tiles come and go.
llvm::FixedVectorType* words_of(llvm::IRBuilder<>& b, llvm::Type* type) {
  const auto bits = type->getPrimitiveSizeInBits().getFixedValue();
  return llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(bits / 32));
}

/// The type that LLVM's function has for a register: bf16 is a type of its own there.
llvm::Type* register_type(llvm::LLVMContext& context, const target::Register& held) {
  const Elem elem = *scalar::elem_from_name(held.elem);
  if (elem == Elem::BF16)
    return llvm::FixedVectorType::get(llvm::Type::getBFloatTy(context), held.lanes);
  return value_type(context, {elem, held.lanes});
}

/// Operands come in the order of the program's text: a, b, ..., and c last.
size_t position_of(char operand, size_t count) {
  return operand == 'c' ? count - 1 : static_cast<size_t>(operand - 'a');
}

} // namespace

llvm::Value* FunctionEmitter::repeated(Value* value, unsigned lanes) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr)
    return b_.CreateVectorSplat(lanes, value);
  // As one wide integer that is broadcast: processors have an instruction for that.
  const unsigned bits = vector->getPrimitiveSizeInBits().getFixedValue();
  const unsigned times = lanes / vector->getNumElements();
  Value* whole = b_.CreateVectorSplat(times, b_.CreateBitCast(value, b_.getIntNTy(bits)));
  return b_.CreateBitCast(whole, llvm::FixedVectorType::get(vector->getElementType(), lanes));
}

bool FunctionEmitter::has_tiles() const {
  bool found = false;
  kernel::visit_exprs(parts_.kernel.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* n = scalar::as<scalar::Instruction>(e);
      found = found || (n != nullptr && target::find_intrinsic(n->name)->is_tile);
    });
  });
  return found;
}

llvm::Value* FunctionEmitter::from_tile(Value* tile, llvm::Type* type) {
  auto* elements = words_of(b_, type);
  const llvm::FunctionCallee cast = parts_.module.getOrInsertFunction(
      "llvm.x86.cast.tile.to.vector.v" + std::to_string(elements->getNumElements()) + "i32",
      llvm::FunctionType::get(elements, {llvm::Type::getX86_AMXTy(context_)}, false));
  return b_.CreateBitCast(b_.CreateCall(cast, {tile}), type);
}

/// Rows of 64 bytes, one behind the other or `Runs` apart.
llvm::Value* FunctionEmitter::load_tile(uint32_t buffer, const std::vector<Expr>& index,
                                        scalar::Type type) {
  for (const LoadedTile& loaded : tiles_)
    if (loaded.buffer == buffer && std::equal(index.begin(), index.end(), loaded.index.begin(),
                                              loaded.index.end(), scalar::equal))
      return loaded.value;
  std::vector<Index> first;
  for (const Expr& e : index)
    first.push_back({e, nullptr});
  const auto* rows = scalar::as<scalar::Runs>(index.back());
  first.back().expr = rows != nullptr ? rows->base : scalar::as<scalar::Ramp>(index.back())->base;
  const int64_t bytes = scalar::bytes_of(type.elem);
  const int64_t apart = rows != nullptr ? rows->stride * bytes : kTileRowBytes;
  Value* pointer = address(buffer, first);
  llvm::Type* tile = llvm::Type::getX86_AMXTy(context_);
  const llvm::FunctionCallee load = parts_.module.getOrInsertFunction(
      "llvm.x86.tileloadd64.internal",
      llvm::FunctionType::get(
          tile, {b_.getInt16Ty(), b_.getInt16Ty(), b_.getPtrTy(), b_.getInt64Ty()}, false));
  const auto count = static_cast<uint16_t>(type.lanes * bytes / kTileRowBytes);
  Value* value = from_tile(b_.CreateCall(load, {b_.getInt16(count), b_.getInt16(kTileRowBytes),
                                                pointer, b_.getInt64(apart)}),
                           memory_type(context_, type));
  tiles_.push_back({buffer, index, value});
  return value;
}

/// An operand that is loaded comes as a tile, however few rows it has.
llvm::Value* FunctionEmitter::tile_operand(const Expr& e) {
  const auto* load = scalar::as<scalar::Load>(e);
  if (load == nullptr || load->index.empty() || mask_ != nullptr)
    return with_zero_tile(emit(e));
  const auto* ramp = scalar::as<scalar::Ramp>(load->index.back());
  const auto* rows = scalar::as<scalar::Runs>(load->index.back());
  const bool is_tile =
      (ramp != nullptr && ramp->stride == 1) ||
      (rows != nullptr && rows->length * scalar::bytes_of(e.type().elem) == int64_t{kTileRowBytes});
  return is_tile ? load_tile(load->tensor, load->index, e.type()) : emit(e);
}

/// Of those that were loaded, what the statement may change or may not have run through.
void FunctionEmitter::forget_tiles(const kernel::Stmt& stmt) {
  if (const auto* store = std::get_if<kernel::Store>(&stmt))
    std::erase_if(tiles_, [&](const LoadedTile& tile) { return tile.buffer == store->buffer; });
  else if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
    std::erase_if(tiles_, [&](const LoadedTile& tile) {
      return std::any_of(tile.index.begin(), tile.index.end(),
                         [&](const Expr& e) { return e && kernel::mentions(e, assign->var); });
    });
  else if (std::get_if<kernel::Define>(&stmt) == nullptr)
    tiles_.clear();
}

/// LLVM would store zeros that go into a tile and load them.
llvm::Value* FunctionEmitter::with_zero_tile(Value* value) {
  const auto* zero = llvm::dyn_cast<llvm::Constant>(value);
  const auto bytes = value->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (zero == nullptr || !zero->isNullValue() || bytes <= kLongestVector || bytes > kTileBytes ||
      bytes % kTileRowBytes != 0 || !has_tiles())
    return value;
  const llvm::FunctionCallee make = parts_.module.getOrInsertFunction(
      "llvm.x86.tilezero.internal",
      llvm::FunctionType::get(llvm::Type::getX86_AMXTy(context_),
                              {b_.getInt16Ty(), b_.getInt16Ty()}, false));
  const auto rows = static_cast<uint16_t>(bytes / kTileRowBytes);
  return from_tile(b_.CreateCall(make, {b_.getInt16(rows), b_.getInt16(kTileRowBytes)}),
                   value->getType());
}

llvm::Value* FunctionEmitter::emit_tile_instruction(const scalar::Instruction& n,
                                                    const target::Intrinsic& data,
                                                    llvm::Type* result) {
  llvm::Type* tile = llvm::Type::getX86_AMXTy(context_);
  const auto rows =
      static_cast<uint16_t>(words_of(b_, result)->getNumElements() * 4 / kTileRowBytes);
  std::vector<llvm::Type*> types(3, b_.getInt16Ty());
  std::vector<Value*> arguments{b_.getInt16(rows), b_.getInt16(kTileRowBytes),
                                b_.getInt16(kTileRowBytes)};
  for (const target::Register& held : data.arguments) {
    Value* value = tile_operand(n.args.at(position_of(held.operand, n.args.size())));
    auto* elements = words_of(b_, value->getType());
    const llvm::FunctionCallee cast = parts_.module.getOrInsertFunction(
        "llvm.x86.cast.vector.to.tile.v" + std::to_string(elements->getNumElements()) + "i32",
        llvm::FunctionType::get(tile, {elements}, false));
    types.push_back(tile);
    arguments.push_back(b_.CreateCall(cast, {b_.CreateBitCast(value, elements)}));
  }
  const llvm::FunctionCallee function =
      parts_.module.getOrInsertFunction(data.llvm, llvm::FunctionType::get(tile, types, false));
  return from_tile(b_.CreateCall(function, arguments), result);
}

llvm::Value* FunctionEmitter::emit_instruction(const scalar::Instruction& n, scalar::Type type) {
  if (const auto column = scalar::column_from_name(n.name))
    return look_up(b_, *column, emit(n.args.front()));
  const target::Intrinsic* data = target::find_intrinsic(n.name);
  KAWARA_CHECK(data != nullptr, "no instruction " + n.name);
  if (data->is_tile)
    return emit_tile_instruction(n, *data, value_type(context_, type));
  std::vector<llvm::Type*> types;
  std::vector<Value*> arguments;
  for (const target::Register& held : data->arguments) {
    types.push_back(register_type(context_, held));
    Value* value = emit(n.args.at(position_of(held.operand, n.args.size())));
    arguments.push_back(b_.CreateBitCast(value, types.back()));
  }
  llvm::Type* result = value_type(context_, type);
  const llvm::FunctionCallee function =
      parts_.module.getOrInsertFunction(data->llvm, llvm::FunctionType::get(result, types, false));
  Value* value = b_.CreateCall(function, arguments);
  if (!data->is_added)
    return value;
  Value* old = emit(n.args.back());
  return scalar::is_float(type.elem) ? b_.CreateFAdd(old, value) : b_.CreateAdd(old, value);
}

llvm::Value* FunctionEmitter::shifted_onto_number(const scalar::Binary& n) {
  const auto* product = scalar::as<scalar::Binary>(n.lhs);
  if (n.op != scalar::BinaryOp::Add || product == nullptr || product->op != scalar::BinaryOp::Mul ||
      n.lhs.type().elem != scalar::Elem::I32)
    return nullptr;
  const auto number_in = [](const Expr& e) {
    const auto* lanes = scalar::as<scalar::Broadcast>(e);
    return scalar::constant_of(lanes != nullptr ? lanes->arg : e).value_or(0);
  };
  const int64_t factor = number_in(product->rhs);
  return factor > 0 && number_in(n.rhs) > 0
             ? constants_.shifted_onto(emit(n.rhs), emit(product->lhs),
                                       static_cast<uint64_t>(factor))
             : nullptr;
}

} // namespace kawara::emit
