// Products with constant entries as assembly of their own: 13,000 entries took LLVM 14 s.
#pragma once

#include <weft/scheduler/hardware/vector_registers.h>
#include <weft/scheduler/ir/simplify.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::llvm_backend {

/// What a function does: sums[…] += constant * dense[…], for vectors of the dense operand.
struct CodedSum {
  std::string name;  ///< the function's, which is `void(const void* dense, void* sums)`
  ir::BufferRef dense, sums;
  ir::Expr of_dense;  ///< offset of the element that its first argument points to; its second one is all sums
  std::int64_t ahead =
      0;  ///< bytes behind it that a call fetches, from as many times a number on that it is given
  ir::Expr fetched = {};  ///< offset in the dense operand from where on a call fetches; undefined: nothing
};

/// Rows of the dense operand that calls fetch for the next group of columns.
struct FetchedColumns {
  ir::Expr first;                                   ///< offset of the first row's columns in the next group
  ir::Expr call;                                    ///< number of the vector
  std::int64_t vectors = 0, rows = 0, between = 0;  ///< vectors of a group, rows, elements from row to row
  std::int64_t last = 0;                            ///< offset from where on a call's rows are all inside
  std::int64_t calls = 0;                           ///< those of a group
  std::map<const ir::EntryTable*, std::int64_t> before;  ///< calls of a group ahead of a run's
  std::int64_t rows_of_call() const { return (rows + calls - 1) / calls; }
};

/// Elements of a vector that statements ask for: those of a loop over lanes, or one.
struct AskedLanes {
  std::string lane;  ///< the loop; empty: none
  std::int64_t count = 1;
  std::int64_t whole = 1;  ///< those of the loop, asked for or not
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
  ir::Expr guard;     ///< the condition that the last ones do not meet; undefined: none
};

/// A block of rows whose sums are zero first, and then what functions add up. Their second argument is where
/// the first row's go, their third one has a bit for each element of a row that is stored: results leave from
/// the registers, and what is done with sums before is done where they went.
struct CodedBlock {
  ir::Stmt sums;    ///< conditions that choose, of what is summed, one of several runs
  std::string row;  ///< the loop over rows
  std::int64_t begin = 0, rows = 0;
  ir::Stmt zero_of_row;  ///< stores zero where the function stores the sums of `row`, where it is one
  ir::BufferRef stored;  ///< where sums go: the results or, where those are others, the sums' array
  ir::Expr place;        ///< offset of the element that the second argument points to
  std::int64_t between_stored = 0, between_sums = 0;  ///< elements from row to row
  ir::Expr elements;                                  ///< those of a row that are stored, as in EachRow
  std::int64_t lanes = 0;                             ///< elements of a vector
  /// How often each function is called, where the code is more than caches hold: then one fetches the next.
  std::int64_t calls = 0;
  bool short_pieces = false;  ///< there is more of code or vectors than caches hold
  ir::Stmt results;           ///< what is done with them there, after all functions; undefined: nothing
  std::optional<FetchedColumns> fetched = {};
  /// Where the function finds that element of the sums.
  std::int64_t place_of(std::int64_t element) const { return element / between_sums * between_stored; }
  bool is_array() const { return stored->scope != ir::Scope::global; }
};

/// Loops around such a block, which all go through the same code: it may be cut into pieces that stay in the
/// first cache while the loops go through one, then the next.
struct CodedNest {
  struct Loop {
    const ir::For* loop = nullptr;
    ir::Expr guard = {};  ///< what iterations meet that do anything: the last ones may not; undefined: all do
  };
  std::vector<Loop> loops;  ///< outermost first
  CodedBlock block;
  ir::BufferRef own =
      {};  ///< an array to allocate, where the sums of all iterations are until results are made
};

/// Makes a function of each product with entries: a vector of the dense operand is
/// loaded once and multiplied with the constant of every row that has one, whose sums stay in registers. With
/// AVX-512 a multiplication reads its constant itself, from values that lie in the order of their use, and
/// every displacement is a byte, so that an entry takes 7 bytes of code.
class SumCoder {
 public:
  explicit SumCoder(VectorRegisters registers) : registers_(registers) {}

  /// The product that the statement is; nothing where its entries are too few, or it is another statement, or
  /// one of more rows than there are registers.
  std::optional<CodedSum> coded(const ir::Stmt& statement);
  /// The block that the allocation is, all of whose runs are functions; nothing where it is none. Asked
  /// before its body is: whoever has the array is inside of it.
  std::optional<CodedBlock> block(const ir::Allocate& allocation);
  /// Loops around one.
  std::optional<CodedNest> nest(const ir::Stmt& stmt);
  /// The functions of one of its runs, to be called in their order, and the rows that none of them stores.
  struct Leaf {
    std::vector<CodedSum> pieces;
    std::vector<std::int64_t> without;
  };
  Leaf leaf(const CodedBlock& block, const ir::Stmt& run);
  /// All functions made so far, for a module.
  const std::string& assembly() const { return assembly_; }

 private:
  /// Columns of a table from `begin` to `end`.
  struct Sum {
    CodedSum what;
    VectorRegisters vectors;
    ir::Linear first;  ///< where the first column of the table lies in the dense operand
    std::shared_ptr<const ir::EntryTable> table;
    std::shared_ptr<const std::vector<std::int64_t>>
        places;  ///< where each column lies, in elements from `first`
    std::size_t begin = 0, end = 0;
    std::int64_t first_row = 0, between_rows = 0;  ///< elements of the sums
    std::set<std::int64_t> rows;                   ///< elements of the sums that are added to
    std::int64_t bytes_of_dense = 4;               ///< an element's
    std::vector<std::int64_t> fetched = {};        ///< bytes from where on it fetches to each line
    std::int64_t element_of(std::int64_t row) const { return first_row + row * between_rows; }
    /// The register of each element of the sums that is added to.
    std::map<std::int64_t, std::int64_t> registers() const;
  };

  /// What the sums are when a function begins.
  enum class Begin : std::uint8_t { in_array, zero, stored };

  /// A function, and where its text is in the assembly.
  struct CodedText {
    std::string name;
    std::size_t begin = 0, length = 0;
  };

  void allocated(const ir::Allocate& allocation);
  /// `guard`: a condition without which the elements of a sum are not even zero at first. What is added up of
  /// others nobody asks for, so the product may be done without it.
  Sum sum_of(const ir::Stmt& statement, const ir::Expr& guard = {}) const;
  VectorRegisters registers_of(const ir::Buffer& sums, const AskedLanes& asked) const;
  const Sum& run(const ir::Stmt& stmt, const ir::Expr& guard = {});
  bool is_nobody_behind(const ir::Buffer& sums, std::int64_t asked, std::int64_t lanes) const;
  void name(Sum& sum, const CodedBlock* block, Begin begin);
  bool are_runs(const ir::Stmt& sums, std::int64_t most, const ir::Expr& guard);
  const Sum& first_run(const ir::Stmt& sums);
  bool are_alike(const ir::Stmt& a, const ir::Stmt& b);
  std::optional<CodedBlock> either(const ir::If& choice);
  std::vector<Sum> pieces_of(const Sum& sum, std::int64_t most) const;
  static std::int64_t bytes_of_code(const Sum& sum);
  std::int64_t bytes_of_all(const ir::Stmt& sums);
  std::int64_t bytes_of_vectors(const ir::Stmt& sums);
  bool reads_apart(const std::vector<CodedNest::Loop>& loops, const ir::Stmt& sums);
  static std::int64_t most_bytes_of(const CodedBlock& block);
  // coded_fetch.cpp
  std::optional<FetchedColumns> fetched_ahead(const CodedNest& nest);
  static void fetch(const FetchedColumns& fetched, const Sum& run, std::int64_t number, Sum& piece);
  void each_run(const ir::Stmt& sums, const std::function<void(const Sum&)>& visit);
  // sum_text.cpp
  std::string text_of(const Sum& sum, const CodedBlock* block, Begin begin) const;
  void write_products(const Sum& sum, const std::map<std::int64_t, std::int64_t>& register_of,
                      std::string& text, std::string& values) const;
  // sum_text_neon.cpp
  std::string neon_text_of(const Sum& sum, const CodedBlock* block, Begin begin) const;

  VectorRegisters registers_;
  std::map<const ir::Buffer*, std::int64_t> used_;        ///< elements of a row, from the first one
  std::map<const void*, std::pair<ir::Stmt, Sum>> runs_;  ///< by the statement's identity
  std::string assembly_;
  std::unordered_multimap<std::size_t, CodedText>
      texts_;  ///< by their hash: functions that are alike are one
};

}  // namespace weft::llvm_backend
