// Entries of weights as numbers of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::ir {

/// Entries column by column. A column has a place, of as many coordinates as the table was made for; an entry
/// has a row and a value.
class EntryTable {
 public:
  struct Entry {
    std::int64_t row = 0;
    float value = 0;
  };
  /// From the least to the largest, which are the same where there is one.
  struct Extremes {
    std::int64_t least = INT64_MAX, largest = INT64_MIN;
    void take(std::int64_t number);
  };

  explicit EntryTable(std::size_t coordinates) : extremes_(coordinates) {}

  /// Begins a column, to which the entries then belong.
  void begin_column(std::span<const std::int64_t> place);
  void add(Entry entry);

  std::size_t columns() const { return begins_.size(); }
  std::span<const std::int64_t> place(std::size_t column) const;
  std::span<const Entry> entries(std::size_t column) const;
  std::span<const Entry> entries() const { return entries_; }
  const Extremes& rows() const { return rows_; }
  const Extremes& coordinate(std::size_t number) const { return extremes_[number]; }

 private:
  std::vector<std::int64_t> places_;
  std::vector<std::size_t> begins_;  ///< the first entry of each column
  std::vector<Entry> entries_;
  std::vector<Extremes> extremes_;  ///< those of each coordinate
  Extremes rows_;
};

}  // namespace weft::ir
