#include <weft/scheduler/ir/entry_table.h>

#include <algorithm>

namespace weft::ir {

void EntryTable::Extremes::take(std::int64_t number) {
  least = std::min(least, number);
  largest = std::max(largest, number);
}

void EntryTable::begin_column(std::span<const std::int64_t> place) {
  begins_.push_back(entries_.size());
  places_.insert(places_.end(), place.begin(), place.end());
  for (std::size_t i = 0; i < place.size(); ++i) extremes_[i].take(place[i]);
}

void EntryTable::add(Entry entry) {
  entries_.push_back(entry);
  rows_.take(entry.row);
}

std::span<const std::int64_t> EntryTable::place(std::size_t column) const {
  return std::span(places_).subspan(column * extremes_.size(), extremes_.size());
}

std::span<const EntryTable::Entry> EntryTable::entries(std::size_t column) const {
  const std::size_t end = column + 1 < begins_.size() ? begins_[column + 1] : entries_.size();
  return std::span(entries_).subspan(begins_[column], end - begins_[column]);
}

}  // namespace weft::ir
