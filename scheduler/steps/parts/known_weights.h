// Expressions over the arrays of bound weights, computed while a schedule is made.
#pragma once

#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::steps {

/// The arrays of the sparse operand of a program, with their contents.
class KnownWeights {
 public:
  /// Values of loops, by name.
  using Variables = std::map<std::string, std::int64_t>;

  /// `operand` is the name of the sparse operand.
  KnownWeights(const ir::Program& program, const std::string& operand, const SparseTensor& weights);

  /// True when the program has none of the arrays: no operand is sparse, or its values are constants already.
  bool empty() const { return arrays_.empty(); }
  bool holds(const ir::BufferRef& buffer) const { return arrays_.count(buffer.get()) != 0; }
  /// True of the array that says which row is stored first, second, …
  bool is_row_order(const ir::BufferRef& buffer) const;
  /// True where values of entries are read.
  bool are_read_by(const ir::Stmt& stmt) const;
  /// The numbers of an index array that the program has as a buffer.
  std::vector<std::int32_t> numbers_of(const ir::BufferRef& buffer) const;

  /// The expression with the variables and every element of the arrays, and of constants of the program, that
  /// becomes known as numbers. Nothing
  /// is rounded: a value keeps its bits, and is widened to the type of its cast.
  ir::Expr fold(const ir::Expr& expr, const Variables& variables) const;
  /// The same as a number, or nothing where it does not become one.
  std::optional<std::int64_t> integer(const ir::Expr& expr, const Variables& variables) const;

  /// The place in `values`, in memory, that the expression reads, or an undefined one where it reads none or
  /// several.
  ir::Expr position(const ir::Expr& expr) const;
  /// The column of the weight that each place holds; -1 for padding.
  const std::vector<std::int64_t>& columns() const { return columns_; }
  /// What is stored there.
  double value(std::int64_t place) const { return values_->get(place); }

 private:
  bool is_value(const ir::Load& load) const;
  ir::Expr element(const ir::Load& load) const;
  /// In memory.
  static ir::Expr place_of(const ir::Load& load);

  std::map<const ir::Buffer*, const Array*> arrays_;
  std::map<const ir::Buffer*, std::vector<std::int32_t>> constants_;
  const Array* values_ = nullptr;
  const Array* row_order_ = nullptr;  ///< null: rows are stored as they come
  std::vector<std::int64_t> columns_;
};

}  // namespace weft::steps
