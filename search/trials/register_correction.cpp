#include <weft/search/trials/register_correction.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t fewest_records = 8;
constexpr std::int64_t most_registers_more = 64;
constexpr std::int64_t bytes_of_a_register = 8;  ///< that is put aside: one store and one load

bool is_point_of(const Space& space, const KnobValues& config) {
  return config.size() == space.knobs().size() &&
         std::ranges::all_of(space.knobs(), [&](const ir::Knob& knob) { return config.contains(knob.name); });
}

}  // namespace

std::int64_t register_correction(const Space& space, const std::vector<StoredRecord>& records) {
  const auto expected =
      std::ranges::find(space.preferences(), std::string("expected registers"), &Constraint::name);
  if (expected == space.preferences().end()) return 0;
  std::vector<std::int64_t> off;
  for (const StoredRecord& stored : records) {
    const Record& record = stored.record;
    if (record.recipe != space.recipe() || record.target.name != space.target() || !record.registers ||
        !is_point_of(space, record.config))
      continue;
    const std::int64_t aside = record.spill_bytes.value_or(0) / bytes_of_a_register;
    off.push_back(*record.registers + aside - evaluate(expected->left, record.config));
  }
  if (off.size() < fewest_records) return 0;
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::ranges::nth_element(off, middle);
  return std::clamp(*middle, -most_registers_more, most_registers_more);
}

}  // namespace weft
