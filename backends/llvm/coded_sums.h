// Long sums of products with constants as assembly of their own: 13,000 baked entries took LLVM 14 s.
#pragma once

#include <weft/scheduler/hardware/vector_registers.h>
#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weft::llvm_backend {

/// Statements that a function does: sums[…] += constant * dense[…], for vectors of the dense operand.
struct CodedSum {
  std::string name;            ///< the function's, which is `void(const void* dense, void* sums)`
  std::size_t statements = 0;  ///< that it does, from the first of those it was asked for
  ir::BufferRef dense, sums;
  ir::Expr of_dense;  ///< offset of the element that its first argument points to; its second one is all sums
};

/// Makes a function of each run of statements as bake_values leaves them: a vector of the dense operand is
/// loaded once and multiplied with the constant of every row that has one, whose sums stay in registers. With
/// AVX-512 a multiplication reads its constant itself, from values that lie in the order of their use, and
/// every displacement is a byte, so that an entry takes 7 bytes of code.
class SumCoder {
 public:
  explicit SumCoder(VectorRegisters registers) : registers_(registers) {}

  /// Whoever has the array is inside of it: which elements of its rows there are is asked once.
  void allocated(const ir::Allocate& allocation);
  /// Those that begin the list; nothing where they are too few, or other statements, or of more rows than
  /// there are registers.
  std::optional<CodedSum> coded(std::span<const ir::Stmt> statements);
  /// All functions made so far, for a module.
  const std::string& assembly() const { return assembly_; }

 private:
  struct Update {
    std::int64_t sum = 0;  ///< element of the sums
    float factor = 0;
  };
  /// One vector of the dense operand, and the sums that it goes into.
  struct Column {
    std::int64_t place = 0;  ///< element of the dense operand, from the first one
    std::vector<Update> updates;
  };
  struct Sum {
    CodedSum what;
    ir::Linear first;  ///< where the first vector lies
    std::vector<Column> columns;
    std::set<std::int64_t> rows;  ///< elements of the sums
  };

  std::optional<Sum> sum_of(std::span<const ir::Stmt> statements) const;
  bool add(Sum& sum, const ir::Stmt& statement) const;
  bool is_nobody_behind(const ir::Buffer& sums, std::int64_t asked) const;
  std::string text_of(const Sum& sum) const;

  VectorRegisters registers_;
  std::map<const ir::Buffer*, std::int64_t> used_;  ///< elements of a row, from the first one
  std::string assembly_;
  std::map<std::string, std::string> by_text_;  ///< names of functions that are alike
};

}  // namespace weft::llvm_backend
