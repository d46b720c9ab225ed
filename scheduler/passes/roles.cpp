#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/element_gather.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/roles.h>

#include <algorithm>
#include <bit>

namespace weft::passes {
namespace {

constexpr std::int64_t threads_of_group = 128;

/// A bulk copy moves a multiple of 16 bytes between places that are multiples of 16 bytes, and nobody clears
/// what lies beyond the source.
bool is_block(const ir::Copy& copy) {
  if (copy.source->swizzle != copy.destination->swizzle) return false;
  const std::size_t more = copy.destination_begin.size() - copy.extents.size();
  const std::int64_t bytes = ir::element_bytes(*copy.source);
  std::int64_t elements = 1;
  bool whole = true;
  for (std::size_t i = copy.extents.size(); i-- > 0;) {
    const std::int64_t* extent = ir::integer_value(copy.extents[i]);
    const std::int64_t* in_source = ir::integer_value(copy.source->shape[i]);
    const std::int64_t* in_tile = ir::integer_value(copy.destination->shape[i + more]);
    const std::int64_t* stride = ir::integer_value(copy.source->strides[i]);
    if (extent == nullptr || in_tile == nullptr || stride == nullptr || *extent != *in_tile) return false;
    whole = whole && in_source != nullptr && *extent == *in_source && *stride == elements;
    if (!whole && (*extent != 1 || *stride * bytes % 16 != 0)) return false;
    elements *= *extent;
  }
  return elements * bytes % 16 == 0;
}

bool is_input(const ir::Program& program, const ir::BufferRef& buffer) {
  return std::ranges::find(program.buffers, buffer) != program.buffers.end();
}

/// What helps where nothing else does.
constexpr const char* or_no_roles = "or leave out .specialize_warps(…): all warps copy then";

/// The producers load the numbers that choose what is copied themselves.
std::optional<Reason> check_given(const ir::Program& program, const ir::Copy& copy) {
  std::optional<Reason> refused;
  const Expr data = data_of(copy);
  ir::each<ir::Load>(data, [&](const ir::Load& load) {
    if (refused || is_input(program, load.buffer)) return;
    refused = Reason{
        8, fmt::format("{} is read from {}", ir::print(data), ir::name_of(load.buffer->scope)),
        fmt::format("numbers that the program is given in memory: no .stage of these, {}", or_no_roles),
        copy.destination->name};
  });
  return refused;
}

/// One number for each row, or one for all.
std::optional<Reason> check_numbers(const ir::Program& program, const ir::Copy& copy, std::int64_t rows,
                                    std::int64_t lanes) {
  std::optional<Reason> refused;
  const Expr data = data_of(copy);
  if (!data.defined()) return refused;
  const auto refuse = [&](const std::string& found, std::string accepted) {
    if (!refused) refused = Reason{8, found, std::move(accepted), copy.destination->name};
  };
  if (rows > lanes && ir::uses(data, copy.coordinates.front()))
    refuse(fmt::format("a thread copies {} rows of {}, whose numbers {} lanes load", rows,
                       copy.destination->name, lanes),
           fmt::format("at most {} rows in {}: split the loop that they come from by that number, {}",
                       threads_of_group, copy.destination->name, or_no_roles));
  for (std::size_t i = 1; i < copy.coordinates.size(); ++i) {
    if (ir::uses(data, copy.coordinates[i]))
      refuse(fmt::format("{} depends on {}", ir::print(data), copy.coordinates[i]),
             fmt::format("one number for each row: .stage(\"{}\", shared, …) in place of .stitch, {}",
                         copy.source->name, or_no_roles));
  }
  return refused ? refused : check_given(program, copy);
}

/// Precondition 8 of elements that numbers choose one by one.
std::optional<Reason> check_elements(const ir::Program& program, const ir::Copy& copy, std::int64_t buffers) {
  const auto refused = ElementGather::why_not(copy, buffers, threads_of_group / lanes_of_warp);
  if (!refused) return check_given(program, copy);
  const std::string& tile = copy.destination->name;
  return Reason{8, fmt::format("{}, in {}", refused->found, tile),
                fmt::format("{}, {}", refused->accepted, or_no_roles), tile};
}

/// A last dimension of the copied operand whose elements can be moved two at a time.
std::string even_columns(const ir::Copy& copy) {
  const Expr& columns = copy.source->shape.back();
  if (const std::int64_t* number = ir::integer_value(columns))
    return fmt::format("{} columns in place of {}", *number + *number % 2, *number);
  const std::string size = ir::print(columns);
  return fmt::format("an even number of columns, Extent::any(\"{}\", 2)", size);
}

/// A tile of about as many runs and rows that 128 threads share evenly.
std::string shared_evenly(std::int64_t rows, std::int64_t runs) {
  const auto in_row = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(runs)));
  const std::int64_t rows_at_once = threads_of_group / std::min(in_row, lanes_of_warp);
  const std::int64_t fitting = std::max(rows_at_once, rows / rows_at_once * rows_at_once);
  return fmt::format(
      "{} rows of {} runs: a multiple of {} rows, and a power of two of runs, by the numbers of .split, {}",
      fitting, in_row, rows_at_once, or_no_roles);
}

/// Preconditions 7 and 8.
std::optional<Reason> check_gather(const ir::Program& program, const ir::Copy& copy, std::int64_t buffers) {
  constexpr std::int64_t least_bytes = 4;
  const std::string& tile = copy.destination->name;
  if (is_by_elements(copy)) return check_elements(program, copy, buffers);
  const std::int64_t length = gather_runs(copy, {}).length;
  const std::int64_t bytes = length * ir::element_bytes(*copy.source);
  if (bytes < least_bytes)
    return Reason{7, fmt::format("rows of {} are copied {} bytes at a time", tile, bytes),
                  fmt::format("runs of at least {} bytes: {} with {}, {}", least_bytes, copy.source->name,
                              even_columns(copy), or_no_roles),
                  tile};
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < copy.extents.size(); ++i) columns *= *ir::integer_value(copy.extents[i]);
  const std::int64_t rows = *ir::integer_value(copy.extents.front());
  const std::int64_t runs = columns / length;
  const std::int64_t lanes = std::min(runs, lanes_of_warp);
  if (runs % lanes != 0 || threads_of_group % lanes != 0 || rows % (threads_of_group / lanes) != 0)
    return Reason{8,
                  fmt::format("{} rows of {} runs for {} threads, in {}", rows, runs, threads_of_group, tile),
                  shared_evenly(rows, runs), tile};
  return check_numbers(program, copy, rows * lanes / threads_of_group, lanes);
}

/// What is done instead of staging a part of a block: rows of weights are taken into the loop, those of an
/// operand are copied one by one.
std::string whole_block(const ir::Copy& copy, const std::string& loop, std::int64_t buffers) {
  std::vector<std::string> choosing;
  for (std::size_t i = 1; i < copy.source_begin.size(); ++i)
    ir::each<ir::Variable>(copy.source_begin[i], [&](const ir::Variable& v) { choosing.push_back(v.name); });
  if (copy.source->name == copy.source->tensor || choosing.empty())
    return fmt::format(".stitch(\"{}\", shared, at = {}, depth = {}) copies row by row", copy.source->name,
                       loop_text(loop), buffers);
  return fmt::format(".reorder(\"{}\", \"{}\") before .stage, so that a tile has all that {} choose{} of",
                     loop, fmt::join(choosing, "\", \""), fmt::join(choosing, " and "),
                     choosing.size() == 1 ? "s" : "");
}

/// Preconditions 2 and 6 to 8.
std::optional<Reason> check_ring(const ir::Program& program) {
  const auto loops = ring_loops(program.body);
  if (loops.size() != 1)
    return Reason{2,
                  fmt::format("{} loops have copies that run ahead", loops.size()),
                  "one: .stage(…, shared, at = …, depth = 2) or .stitch with a depth at one loop first",
                  {}};
  Ring ring;
  ring_of(loops.front()->body, ring);
  for (std::size_t i = 0; i < ring.copies.size(); ++i) {
    const ir::Copy& copy = ring.copies[i];
    const std::string& tile = copy.destination->name;
    if (!ring.conditions_of[i].empty())
      return Reason{
          6, fmt::format("{} is copied where {}", tile, ir::print(ring.conditions_of[i].front())),
          fmt::format("copies in every iteration: numbers of .split that divide the sizes, {}", or_no_roles),
          tile};
    if (copy.coordinates.empty() && !is_block(copy))
      return Reason{6, fmt::format("{} is no whole block of {}", tile, copy.source->name),
                    fmt::format("a tile that lies in memory as one piece, of a multiple of 16 bytes; {}, {}",
                                whole_block(copy, loops.front()->name, ring.buffers), or_no_roles),
                    tile};
    if (copy.coordinates.empty()) continue;
    if (auto refused = check_gather(program, copy, ring.buffers)) return refused;
  }
  return std::nullopt;
}

/// Precondition 11: a block that goes through tiles has one of the sums that it takes part in at a time.
std::optional<Reason> check_arrivals(const ir::Program& program) {
  const bool again = ir::any<ir::For>(program.body, [](const ir::For& loop) {
    return !ir::is_bound(loop.kind) && ir::any<ir::For>(loop.body, [](const ir::For& group) {
      return group.role == ir::LoopRole::groups && holds_arrival(group.body);
    });
  });
  if (!again) return std::nullopt;
  return Reason{
      11,
      "blocks share the sums of several tiles, and producers are tiles ahead where they meet",
      fmt::format(".persist(…, deal = …) in place of .split_k and .persist, .split_k(…, reduce = shared), {}",
                  or_no_roles),
      {}};
}

/// The largest number that can be set.
std::int64_t whole_registers(std::int64_t registers) {
  constexpr std::int64_t unit = 8;
  return registers / unit * unit;
}

/// Precondition 10. A block begins with as many registers for each thread, as many as the assembler finds
/// room for and no more than the consumers' number; beyond those the consumers wait for what producers give
/// up.
std::optional<Reason> check_registers(const ir::WarpRoles& roles, std::int64_t consumers,
                                      const Target& target) {
  const std::int64_t own = roles.producer_registers, others = roles.consumer_registers;
  if (own == 0 && others == 0) return std::nullopt;
  const std::int64_t threads = consumers + threads_of_group;
  const std::int64_t each =
      std::min(target.registers_per_thread, target.registers_per_multiprocessor / threads / 8 * 8);
  const std::int64_t first = others > 0 ? std::min(each, others) : each;
  if (own > first)
    return Reason{10,
                  fmt::format("producers that keep {} registers of {}", own, first),
                  fmt::format("no more than the {} with which threads begin: producer_registers = {}", first,
                              whole_registers(first)),
                  {}};
  if (others <= each) return std::nullopt;
  const std::int64_t kept = own > 0 ? own : each;
  const std::int64_t needed = kept * threads_of_group + others * consumers;
  if (needed <= each * threads) return std::nullopt;
  return Reason{10,
                fmt::format("{} registers for {} threads", needed, threads),
                fmt::format("at most {}: each thread begins with {}, and what the {} consumers get beyond "
                            "those the {} producers give up: consumer_registers = {}",
                            each * threads, each, consumers, threads_of_group,
                            whole_registers((each * threads - kept * threads_of_group) / consumers)),
                {}};
}

}  // namespace

std::optional<Reason> why_no_roles(const ir::Program& program, const ir::WarpRoles& roles,
                                   std::int64_t consumers, const Target& target) {
  if (auto refused = check_ring(program)) return refused;
  if (auto refused = check_arrivals(program)) return refused;
  if (consumers == 0) return std::nullopt;
  const bool set = roles.producer_registers > 0 || roles.consumer_registers > 0;
  const std::int64_t together = set ? threads_of_group : lanes_of_warp;
  if (consumers % together != 0)
    return Reason{9,
                  fmt::format("{} threads compute", consumers),
                  fmt::format("a multiple of {}: {}", together,
                              set && consumers % lanes_of_warp == 0
                                  ? ".specialize_warps(producers = 4), which sets no registers"
                                  : "loops that make the tiles bound by .bind(…, warp) first"),
                  {}};
  return check_registers(roles, consumers, target);
}

}  // namespace weft::passes
