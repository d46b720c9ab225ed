// How a tile that stitch gathers lies in shared memory.
#pragma once

#include <weft/scheduler/ir/node.h>
#include <weft/scheduler/ir/visit.h>

#include <cstdint>
#include <vector>

namespace weft::steps {

/// The elements that loops over rows and over columns read, each begun at 0 and of constant extent. They are
/// stored in lines of 128 bytes where they fill such: then eight rows of 16 bytes each, one below the other,
/// lie in different banks once the chunks are swizzled. Lines go along the columns, or along the rows where
/// these are neighbours in memory, as in X [n, k] of weights that keep their columns where they are.
class StitchedTile {
 public:
  void add_row(const ir::For& loop, std::int64_t extent);
  void add_column(const ir::For& loop, std::int64_t extent);
  bool is_whole() const { return !rows_.loops.empty() && !columns_.loops.empty(); }
  bool has(const std::string& loop) const;

  /// When all loops are known: which way lines go, by the indices of what is read, and how long they are.
  /// Rows that are looked up one by one lie apart, but nearer than columns do where memory goes along them;
  /// those behind a number that is looked up are neighbours. Bytes lie along rows that are looked up wherever
  /// memory goes, because tensor cores read them so alone.
  void lay_out(const std::vector<ir::Expr>& indices, std::int64_t element_bytes);

  int swizzle() const { return swizzle_; }
  /// Panels of lines, behind so many buffers where there are several.
  std::vector<ir::Expr> shape(std::int64_t buffers) const;
  /// Where the element lies that loops named otherwise read; `buffer` where there are several.
  std::vector<ir::Expr> place(const ir::Substitution& names, const ir::Expr& buffer,
                              std::int64_t buffers) const;
  /// Gives the copy a coordinate for each loop, and says what loops are called by it. Lines that go along the
  /// rows have one number for all loops over columns, by which threads share them out.
  ir::Substitution add_coordinates(ir::Copy& copy) const;

 private:
  struct Side {
    std::vector<ir::For> loops;
    std::int64_t extent = 1;

    void add(const ir::For& loop, std::int64_t iterations);
    bool is_used_by(const ir::Expr& index) const;
    ir::Expr number(const ir::Substitution& names) const;
  };
  const Side& along() const { return along_rows_ ? rows_ : columns_; }
  const Side& across() const { return along_rows_ ? columns_ : rows_; }

  Side rows_, columns_;
  bool along_rows_ = false;
  std::int64_t line_ = 1;  ///< elements of a line
  int swizzle_ = 0;
};

}  // namespace weft::steps
