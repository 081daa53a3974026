#include "emit/llvm/lookup.h"

#include <llvm/IR/Module.h>

#include <array>
#include <vector>

namespace kawara::emit {
namespace {

using llvm::Value;

constexpr unsigned kColumns = scalar::kTableColumns;

llvm::GlobalVariable* table_in(llvm::Module& module, scalar::Table table) {
  const std::string name = "kw_" + scalar::name_of({table, 0});
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name))
    return known;
  std::vector<uint32_t> elements;
  for (const auto& row : scalar::rows_of(table))
    for (const float element : row)
      elements.push_back(std::bit_cast<uint32_t>(element));
  llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), elements);
  // The module owns it.
  auto* global = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, data, name);
  global->setAlignment(llvm::Align(64));
  return global;
}

/// Each lane's row as an i64, out of vector registers two lanes at a time where they come in twos.
std::vector<Value*> row_numbers(llvm::IRBuilder<>& b, Value* row, unsigned lanes, uint64_t rows) {
  std::vector<Value*> numbers;
  const auto add = [&](Value* bits) { numbers.push_back(b.CreateAnd(bits, b.getInt64(rows - 1))); };
  if (lanes % 2 == 0) {
    Value* pairs = b.CreateBitCast(row, llvm::FixedVectorType::get(b.getInt64Ty(), lanes / 2));
    for (unsigned pair = 0; pair < lanes / 2; ++pair) {
      Value* two = b.CreateExtractElement(pairs, pair);
      add(two);
      add(b.CreateLShr(two, 32));
    }
  } else {
    for (unsigned lane = 0; lane < lanes; ++lane)
      add(b.CreateZExt(lanes == 1 ? row : b.CreateExtractElement(row, lane), b.getInt64Ty()));
  }
  return numbers;
}

/// One column of the rows of all lanes. Rows of lanes 0, 4, ... stand in one vector, those of 1, 5,
/// ... in the next, so that four lanes are transposed where they are in a wider register.
Value* column_of_rows(llvm::IRBuilder<>& b, const std::vector<Value*>& rows, size_t column) {
  const auto lanes = static_cast<unsigned>(rows.size());
  llvm::Type* whole = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  std::array<Value*, kColumns> places{};
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value*& place = places[lane % kColumns];
    if (lane < kColumns)
      place = lanes == kColumns ? rows[lane] : llvm::PoisonValue::get(whole);
    if (lanes > kColumns)
      place =
          b.CreateInsertVector(whole, place, rows[lane], b.getInt64(lane / kColumns * kColumns));
  }
  // Two of each four elements of x and y, in turns.
  const auto zip = [&](Value* x, Value* y, size_t from) {
    std::vector<int> order;
    for (size_t four = 0; four < lanes; four += kColumns)
      for (size_t k = four + from; k < four + from + 2; ++k) {
        order.push_back(static_cast<int>(k));
        order.push_back(static_cast<int>(k + lanes));
      }
    return b.CreateShuffleVector(x, y, order);
  };
  const size_t pair = column / 2 * 2;
  return zip(zip(places[0], places[2], pair), zip(places[1], places[3], pair), column % 2 * 2);
}

} // namespace

Value* look_up(llvm::IRBuilder<>& b, const scalar::Column& column, Value* row) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(row->getType());
  const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
  llvm::GlobalVariable* table = table_in(*b.GetInsertBlock()->getModule(), column.table);
  const std::vector<Value*> numbers =
      row_numbers(b, row, lanes, scalar::rows_of(column.table).size());
  llvm::Type* elements = llvm::FixedVectorType::get(b.getInt32Ty(), kColumns);
  if (lanes % kColumns == 0) {
    std::vector<Value*> rows;
    for (Value* number : numbers)
      rows.push_back(b.CreateAlignedLoad(elements, b.CreateInBoundsGEP(elements, table, {number}),
                                         llvm::Align(16)));
    return column_of_rows(b, rows, column.number);
  }
  Value* result = llvm::PoisonValue::get(row->getType());
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value* element = b.CreateLoad(
        b.getInt32Ty(),
        b.CreateInBoundsGEP(elements, table, {numbers[lane], b.getInt64(column.number)}));
    result = lanes == 1 ? element : b.CreateInsertElement(result, element, lane);
  }
  return result;
}

} // namespace kawara::emit
