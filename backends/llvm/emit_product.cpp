// Products with the entries of a table where they are no assembly of their own: loops over arrays of
// constants.
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <weft/backends/llvm/emit.h>
#include <weft/scheduler/ir/sparse_product.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <iterator>

namespace weft::llvm_backend {
namespace {

llvm::GlobalVariable* constant_array(llvm::Module& module, llvm::Constant* numbers) {
  return new llvm::GlobalVariable(module, numbers->getType(), true, llvm::GlobalValue::InternalLinkage,
                                  numbers, "entries");
}

}  // namespace

/// Places column by column, the first entry of each column and the end, rows, values.
const Emitter::TableArrays& Emitter::arrays_of(const ir::EntryTable& table, std::size_t coordinates) {
  const auto [known, fresh] = tables_.try_emplace(&table);
  if (!fresh) return known->second;
  std::vector<std::uint32_t> places, begins, rows;
  std::vector<float> values;
  for (std::size_t column = 0; column < table.columns(); ++column) {
    begins.push_back(static_cast<std::uint32_t>(rows.size()));
    std::ranges::transform(table.place(column), std::back_inserter(places),
                           [](std::int64_t at) { return static_cast<std::uint32_t>(at); });
    for (const ir::EntryTable::Entry& entry : table.entries(column)) {
      rows.push_back(static_cast<std::uint32_t>(entry.row));
      values.push_back(entry.value);
    }
  }
  begins.push_back(static_cast<std::uint32_t>(rows.size()));
  const auto array = [&](const auto& numbers) {
    return constant_array(module_, llvm::ConstantDataArray::get(context_, llvm::ArrayRef(numbers)));
  };
  known->second = {coordinates == 0 ? nullptr : array(places), array(begins), array(rows), array(values)};
  return known->second;
}

/// Numbers of 32 bits as indices.
llvm::Value* Emitter::element(llvm::GlobalVariable* array, llvm::Value* place) {
  llvm::Type* type = array->getValueType()->getArrayElementType();
  llvm::Value* read = builder_.CreateLoad(type, builder_.CreateInBoundsGEP(type, array, place));
  return type->isFloatTy() ? read : builder_.CreateSExtOrTrunc(read, index_type_);
}

void Emitter::of(const ir::SparseProduct& s) {
  // Few entries are shorter than loops over them.
  constexpr std::size_t few_entries = 64;
  if (s.table->entries().size() <= few_entries) {
    ir::Program part;
    part.body = ir::written_out(ir::sparse_product(s));
    return statement(passes::fuse_multiply_add(std::move(part)).body);
  }
  const std::size_t coordinates = s.coordinates.size();
  const TableArrays& arrays = arrays_of(*s.table, coordinates);
  const auto number = [&](std::size_t count) { return llvm::ConstantInt::get(index_type_, count); };
  const auto range = [](const ir::EntryTable::Extremes& extremes) {
    return ir::Range{extremes.least, extremes.largest};
  };
  const ir::Expr read = ir::variable(s.row + ".read", DType::f32);
  const ir::Expr factor = ir::variable(s.row + ".factor", DType::f32);
  const auto bind = [&](const ir::Expr& variable, llvm::Value* bound, const std::function<void()>& body) {
    with_variable(variable.as<ir::Variable>()->name, bound, {}, {}, body);
  };
  const auto update = [&](llvm::Value* entry) {
    with_variable(s.row, element(arrays.rows, entry), range(s.table->rows()), {}, [&] {
      bind(factor, element(arrays.values, entry), [&] {
        statement(ir::store(s.sums, s.of_sums,
                            ir::call("fma_f32", DType::f32, {factor, read, ir::load(s.sums, s.of_sums)})));
      });
    });
  };
  const auto in_place = [&](llvm::Value* column, const std::function<void()>& body) {
    std::function<void(std::size_t)> next = [&](std::size_t i) {
      if (i == coordinates) return body();
      llvm::Value* place =
          builder_.CreateNSWAdd(builder_.CreateNSWMul(column, number(coordinates)), number(i));
      with_variable(s.coordinates[i], element(arrays.places, place), range(s.table->coordinate(i)), {},
                    [&] { next(i + 1); });
    };
    next(0);
  };
  counted(number(0), number(s.table->columns()), false, [&](llvm::Value* column) {
    in_place(column, [&] {
      llvm::Value* vector = value(ir::cast(DType::f32, ir::load(s.dense, s.of_dense)));
      if (lanes_) lanes_->varying.insert(read.as<ir::Variable>()->name);
      bind(read, vector, [&] {
        llvm::Value* end = element(arrays.begins, builder_.CreateNSWAdd(column, number(1)));
        counted(element(arrays.begins, column), end, false, update);
      });
      if (lanes_) lanes_->varying.erase(read.as<ir::Variable>()->name);
    });
  });
}

}  // namespace weft::llvm_backend
