// What nobody wrote: which registers hold it, which of their bits, and when it is told. Compilers compute
// ahead of the condition under which they use a result, and put bytes together in words of which they use a
// part. So it is told where it decides something or leaves the thread.
#include <fmt/format.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <optional>

namespace weft::simulator {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

bool can_be_ahead(const Operation& operation) {
  switch (operation.pipe) {
    case Pipe::none:
    case Pipe::integer:
    case Pipe::single:
    case Pipe::half:
    case Pipe::wide:
    case Pipe::convert:
    case Pipe::special: return operation.results > 0;
    case Pipe::tensor:
    case Pipe::memory:
    case Pipe::extension:
    case Pipe::control: return false;
  }
  return false;
}

std::uint64_t ones_of_bytes(std::size_t bytes) {
  return bytes >= sizeof all_bits ? all_bits : (std::uint64_t{1} << 8 * bytes) - 1;
}

}  // namespace

void Warp::check_sources(const Operation& operation) {
  // A wgmma checks accumulators itself: it may add to what is in flight, and need not read them.
  const bool is_asynchronous = operation.pipe == Pipe::tensor && operation.reads_result;
  const std::size_t from = operation.reads_result && !is_asynchronous ? 0 : operation.results;
  bool copies_undefined = false;
  for (std::size_t i = from; i < operation.count; ++i) {
    const Row row = operand(operation, i);
    Mask missing = unwritten_lanes(row);
    if (missing == 0) continue;
    if (in_flight_[row] != 0) {
      if (is_asynchronous) continue;
      report(
          operation, "register in flight",
          fmt::format("reads {} while a wgmma that was not waited for owns it", code_->register_names[row]));
    } else if (operation.keeps_undefined) {
      copies_undefined = true;
      carry_unwritten(operation, row, missing);
    } else if (can_be_ahead(operation)) {
      carried_unwritten_ |= missing;
      carry_unwritten(operation, row, missing);
    } else {
      if ((operation.flags & stores_lanes) != 0 && i > 0)
        missing &= lanes_without(row, ones_of_bytes(ptx::size_of(operation.type)));
      if (missing == 0) continue;
      report_unwritten(operation, row, missing,
                       fmt::format("reads {}, which nobody wrote", code_->register_names[row]));
    }
  }
  if (carried_unwritten_ == 0 && !copies_undefined) return;
  if (operation.moved_sources > 0) find_moved_bits(operation);
  carried_unwritten_ &= ~decided_results(operation);
}

Mask Warp::unwritten_lanes(Row row) const {
  return (row & constant_row) != 0 || row == no_row ? 0 : active_ & ~written_[row];
}

LaneBits Warp::undefined_bits(Row row) const {
  LaneBits bits{};
  const auto known = undefined_bits_.find(row);
  for (const std::size_t lane : lanes_of(unwritten_lanes(row)))
    bits[lane] = known == undefined_bits_.end() ? all_bits : known->second[lane];
  return bits;
}

Mask Warp::lanes_without(Row row, std::uint64_t wanted) const {
  const LaneBits bits = undefined_bits(row);
  return lanes_where([&](std::size_t lane) { return (bits[lane] & wanted) != 0; });
}

/// Lanes for which one predicate that somebody wrote, or a sign that somebody wrote, says what the result is.
Mask Warp::decided_results(const Operation& operation) const {
  if ((operation.flags & asks_sign) != 0)
    return ~lanes_without(operand(operation, operation.results), std::uint64_t{1} << 31);
  if ((operation.flags & (decided_by_false | decided_by_true)) == 0) return 0;
  Mask decided = 0;
  for (std::size_t i = operation.results; i < operation.count; ++i) {
    if (operation.lane_bytes[i] != 1) continue;
    const Mask value = mask(operation, i);
    decided |=
        ((operation.flags & decided_by_true) != 0 ? value : ~value) & ~unwritten_lanes(operand(operation, i));
  }
  return decided;
}

/// Lanes whose copy is of something that somebody wrote: a copy of what nobody wrote is still that, and one
/// part that somebody wrote makes a whole: compilers pack pairs to use one of them.
Mask Warp::defined_copies(const Operation& operation) const {
  Mask parts = 0;
  for (std::size_t i = operation.results; i < operation.count; ++i)
    parts |= ~unwritten_lanes(operand(operation, i));
  return active_ & parts;
}

namespace {

/// The lanes of a register of at most 8 bytes.
LaneBits lanes_of_row(const std::uint32_t* row, std::size_t bytes) {
  LaneBits values;
  if (bytes == 8)
    std::copy_n(reinterpret_cast<const std::uint64_t*>(row), lanes, values.begin());
  else
    std::copy_n(row, lanes, values.begin());
  return values;
}

void set_lanes_of_row(std::uint32_t* row, std::size_t bytes, const LaneBits& values) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (bytes == 8)
      reinterpret_cast<std::uint64_t*>(row)[lane] = values[lane];
    else
      row[lane] = static_cast<std::uint32_t>(values[lane]);
  }
}

}  // namespace

/// A bit of a result is what somebody wrote where it is the same whatever stands for what nobody wrote. Each
/// comes from one bit at most of a source, so zeros and ones for all of its bits are enough.
void Warp::find_moved_bits(const Operation& operation) {
  struct Register {
    Row row = no_row;
    std::size_t bytes = 0;
    LaneBits value{}, undefined{};
  };
  const auto register_of = [&](std::size_t which) {
    const Row at = operand(operation, which);
    const std::size_t bytes = operand_bytes(operation, which);
    return Register{at, bytes, lanes_of_row(row(at), bytes), undefined_bits(at)};
  };
  std::vector<Register> sources, results;
  Mask unknown = 0;
  for (std::size_t i = operation.results; i < operation.count; ++i) {
    const Mask missing = unwritten_lanes(operand(operation, i));
    if (i - operation.results >= operation.moved_sources)
      unknown |= missing;
    else if (missing != 0 &&
             std::ranges::find(sources, operand(operation, i), &Register::row) == sources.end())
      sources.push_back(register_of(i));
  }
  for (std::size_t i = 0; i < operation.results; ++i)
    results.push_back(is_sink(operation, i) ? Register{} : register_of(i));
  const auto restore = [&](const std::vector<Register>& registers) {
    for (const Register& one : registers)
      if (one.row != no_row) set_lanes_of_row(row(one.row), one.bytes, one.value);
  };
  std::vector<LaneBits> first(results.size());
  for (std::size_t ones = 0; ones < std::size_t{1} << sources.size(); ++ones) {
    restore(results);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      LaneBits value = sources[i].value;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::uint64_t undefined = sources[i].undefined[lane];
        value[lane] = (ones >> i & 1) != 0 ? value[lane] | undefined : value[lane] & ~undefined;
      }
      set_lanes_of_row(row(sources[i].row), sources[i].bytes, value);
    }
    operation.execute(*this, operation);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].row == no_row) continue;
      const LaneBits found = lanes_of_row(row(results[i].row), results[i].bytes);
      if (ones == 0) first[i] = found;
      for (const std::size_t lane : lanes_of(active_)) undefined_[i][lane] |= first[i][lane] ^ found[lane];
    }
  }
  restore(results);
  restore(sources);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const std::size_t lane : lanes_of(unknown)) undefined_[i][lane] = all_bits;
  knows_undefined_ = true;
}

void Warp::note_results(const Operation& operation) {
  const bool knows = std::exchange(knows_undefined_, false);
  const Mask carried = std::exchange(carried_unwritten_, 0);
  const Mask defined = operation.keeps_undefined ? defined_copies(operation) : active_ & ~carried;
  for (std::size_t i = 0; i < operation.results; ++i) {
    const Row row = operand(operation, i);
    if (row == no_row) continue;
    const Mask wrote =
        knows ? active_ & lanes_where([&](std::size_t lane) { return undefined_[i][lane] == 0; }) : defined;
    written_[row] = (written_[row] & ~active_) | wrote;
    if (wrote == active_) continue;
    const auto [known, is_new] = undefined_bits_.try_emplace(row);
    LaneBits& bits = known->second;
    if (is_new) bits.fill(all_bits);
    for (const std::size_t lane : lanes_of(active_ & ~wrote))
      bits[lane] = knows ? undefined_[i][lane] : all_bits;
  }
  if (knows)
    for (LaneBits& bits : undefined_) bits.fill(0);
}

void Warp::report_unwritten(const Operation& operation, Row row, Mask missing, std::string text) {
  const int lane = std::countr_zero(missing);
  const auto load = unwritten_values_.find(row);
  if (load != unwritten_values_.end() && (load->second.lanes & missing) != 0)
    machine_->add_finding(load->second.finding);
  else
    report(operation, "unwritten register", std::move(text), lane);
  written_[row] |= missing;
}

void Warp::carry_unwritten(const Operation& operation, Row row, Mask missing) {
  std::optional<Finding> first;
  const auto source = unwritten_values_.find(row);
  if (source != unwritten_values_.end() && (source->second.lanes & missing) != 0)
    first = source->second.finding;
  else if (!operation.keeps_undefined)
    first = finding(operation, "unwritten register",
                    fmt::format("reads {}, which nobody wrote", code_->register_names[row]),
                    std::countr_zero(missing));
  for (std::size_t i = 0; i < operation.results && first; ++i) {
    const Row result = operand(operation, i);
    if (result != no_row) unwritten_values_[result] = {missing, *first};
  }
}

void Warp::note_unwritten_bytes(const Operation& operation, const Region& region, std::size_t offset,
                                std::uint32_t bytes, std::size_t lane) {
  const std::size_t width = bytes / operation.elements;
  const std::uint32_t used = code_->instructions[operation.instruction]->used_bytes;
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    const bool is_used = byte >= 32 || (used >> byte & 1U) != 0;
    if (!is_used || region.first_unwritten(offset + byte, 1) != 0) continue;
    const std::size_t place = byte % width;
    // Above the last byte stands its sign.
    const std::uint64_t bits = place + 1 == width ? all_bits : 0xFFU;
    undefined_[byte / width][lane] |= bits << 8 * place;
  }
  knows_undefined_ = true;
}

bool Warp::note_unwritten_load(const Operation& operation, ptx::Space space, const Region& region,
                               std::size_t offset, std::uint64_t address, std::uint32_t bytes,
                               std::size_t lane) {
  const std::size_t elements = operation.elements;
  if ((operation.flags & loads_lanes) == 0 || operation.results != elements || elements > undefined_.size())
    return false;
  note_unwritten_bytes(operation, region, offset, bytes, lane);
  const auto is_missing = [&](const LaneBits& element) { return element[lane] != 0; };
  const std::span<LaneBits> loaded = std::span(undefined_).first(elements);
  if (!std::ranges::all_of(loaded, is_missing)) return true;
  const ptx::Space where = space == ptx::Space::none ? space_of(address) : space;
  if (where != ptx::Space::shared && where != ptx::Space::local) {
    for (LaneBits& element : loaded) element[lane] = 0;
    return false;
  }
  for (std::size_t element = 0; element < elements; ++element) {
    const Row row = operand(operation, element);
    if (row == no_row) continue;
    UnwrittenValue& load = unwritten_values_[row];
    const ptx::Instruction& instruction = *code_->instructions[operation.instruction];
    if (load.lanes == 0 || load.finding.line != instruction.line)
      load = {0, finding_of_access(operation, "unwritten memory",
                                   fmt::format("{} bytes that nobody wrote", bytes), &region, address,
                                   static_cast<int>(lane))};
    load.lanes |= Mask{1} << lane;
  }
  return true;
}

}  // namespace weft::simulator
