#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/timing/model.h>

#include <algorithm>

namespace weft::simulator {
namespace {

struct Interval {
  std::int32_t first = -1, last = -1;
};

}  // namespace

int estimate_registers(const Code& code) {
  std::vector<Interval> intervals(code.rows);
  std::vector<std::uint8_t> words(code.rows, 1);
  const auto count = static_cast<std::int32_t>(code.operations.size());
  for (std::int32_t i = 0; i < count; ++i) {
    const Operation& operation = code.operations[i];
    const auto touch = [&](Row row, std::size_t bytes) {
      if (row == no_row || (row & constant_row) != 0) return;
      Interval& interval = intervals[row];
      if (interval.first < 0) interval.first = i;
      interval.last = i;
      words[row] = static_cast<std::uint8_t>(bytes == 1 ? 0 : (bytes + 3) / 4);
    };
    for (std::size_t k = 0; k < operation.count; ++k)
      touch(code.operands[operation.first + k], code.operand_bytes[operation.first + k]);
    touch(operation.guard, 1);
  }
  // What a loop reads from before it lives until its end.
  for (std::int32_t i = count - 1; i >= 0; --i) {
    const Operation& operation = code.operations[i];
    if (flow_of(operation) != Flow::branch || operation.immediate > i) continue;
    const auto start = static_cast<std::int32_t>(operation.immediate);
    for (Interval& interval : intervals) {
      if (interval.first >= 0 && interval.first < start && interval.last >= start)
        interval.last = std::max(interval.last, i);
    }
  }
  std::vector<int> change(static_cast<std::size_t>(count) + 2, 0);
  for (std::size_t row = 0; row < intervals.size(); ++row) {
    if (intervals[row].first < 0) continue;
    change[intervals[row].first] += words[row];
    change[intervals[row].last] -= words[row];
  }
  int live = 0, most = 0;
  for (const int step : change) most = std::max(most, live += step);
  constexpr int overhead = 8, limit = 255;
  return std::min(limit, most + overhead);
}

}  // namespace weft::simulator
