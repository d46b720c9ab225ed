#include <weft/scheduler/ir/whole_runs.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t run_bytes = 8;

std::int64_t multiple_below(std::int64_t place, std::int64_t length) {
  return place - (place % length + length) % length;
}

}  // namespace

std::int64_t run_of_tile(std::int64_t bytes_of_element) {
  return std::max<std::int64_t>(1, run_bytes / bytes_of_element);
}

Stretch in_whole_runs(const Stretch& tile, std::int64_t whole, std::int64_t bytes_of_element) {
  const std::int64_t end = tile.begin + tile.extent, length = run_of_tile(bytes_of_element);
  if (tile.begin >= 0 && end <= whole) return tile;
  const std::int64_t begin = multiple_below(tile.begin, length);
  const std::int64_t extent = multiple_below(end + length - 1, length) - begin;
  const bool fits = whole % length == 0 && 4 * extent <= 5 * tile.extent;
  return fits ? Stretch{begin, extent} : tile;
}

}  // namespace weft
