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

/// Elements of a vector that statements ask for: those of a loop over lanes, or one.
struct AskedLanes {
  std::string lane;  ///< the loop; empty: none
  std::int64_t count = 1;
};

/// Elements that a vectorized loop asks for, and what it does with each: a condition inside may leave the
/// last ones out. Nothing for other loops.
std::optional<AskedLanes> asked_of(const ir::For& loop, const ir::Stmt*& body);

/// A loop over rows, and what it stores of one, where that is a vector, behind conditions or none.
struct EachRow {
  const ir::For* loop = nullptr;
  const ir::Store* store = nullptr;
  std::string lane;   ///< the loop over a row's elements; empty: none
  ir::Expr elements;  ///< how many of the first ones are stored: more than all, or less than none, too
};

/// A block of rows whose sums are zero first, and then what a function adds up. Its second argument is where
/// the first row's go, its third one has a bit for each element of a row that is stored: results leave from
/// the registers where they are the sums as they are.
struct CodedBlock {
  ir::Stmt sums;    ///< conditions that choose, of what is summed, one of several runs
  std::string row;  ///< the loop over rows
  std::int64_t begin = 0, rows = 0;
  ir::Stmt zero_of_row;  ///< stores zero where the function stores the sums of `row`, where it is one
  ir::BufferRef stored;  ///< the results or, where more is done with them, the array of the sums
  ir::Expr place;        ///< offset of the element that the second argument points to
  std::int64_t between_stored = 0, between_sums = 0;  ///< elements from row to row
  ir::Expr elements;                                  ///< those of a row that are stored, as in EachRow
  ir::Stmt results;  ///< what is done with the sums; undefined where they are stored as results
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
  /// Whether the allocation is such a block, all of whose runs are functions.
  std::optional<CodedBlock> block(const ir::Allocate& allocation) const;
  /// The function of one of its runs, and the rows that are in none of its products.
  struct Leaf {
    CodedSum sum;
    std::vector<std::int64_t> without;
  };
  Leaf leaf(const CodedBlock& block, const ir::Stmt& run);
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
  std::string text_of(const Sum& sum, const CodedBlock* block) const;
  void name(Sum& sum, const CodedBlock* block);
  bool are_runs(const ir::Stmt& sums, std::int64_t most) const;
  void leave_from_registers(CodedBlock& coded, const ir::Stmt& results) const;

  VectorRegisters registers_;
  std::map<const ir::Buffer*, std::int64_t> used_;  ///< elements of a row, from the first one
  std::string assembly_;
  std::map<std::string, std::string> by_text_;  ///< names of functions that are alike
};

}  // namespace weft::llvm_backend
