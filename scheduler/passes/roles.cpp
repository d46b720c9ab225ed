#include <fmt/format.h>
#include <weft/scheduler/instructions.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/roles.h>

#include <algorithm>
#include <vector>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

constexpr std::int64_t warp_size = 32, threads_of_group = 128;

/// A bulk copy moves a multiple of 16 bytes between places that are multiples of 16 bytes, and nobody clears
/// what lies beyond the source.
bool is_block(const ir::Copy& copy) {
  if (copy.source->swizzle != copy.destination->swizzle) return false;
  const std::size_t more = copy.destination_begin.size() - copy.extents.size();
  auto bytes = static_cast<std::int64_t>(size_of(copy.source->dtype));
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

/// The producers load the numbers that choose rows themselves, one for each row.
std::optional<Reason> check_numbers(const ir::Program& program, const ir::Copy& copy, std::int64_t rows,
                                    std::int64_t lanes) {
  std::optional<Reason> refused;
  const Expr data = data_of(copy);
  if (!data.defined()) return refused;
  const auto refuse = [&](const std::string& found, const char* accepted) {
    if (!refused) refused = Reason{8, found, accepted, copy.destination->name};
  };
  if (rows > lanes)
    refuse(fmt::format("a thread copies {} rows of {}, whose numbers {} lanes load", rows,
                       copy.destination->name, lanes),
           "wider tiles, or fewer rows");
  for (std::size_t i = 1; i < copy.coordinates.size(); ++i) {
    if (ir::uses(data, copy.coordinates[i]))
      refuse(fmt::format("{} depends on {}", ir::print(data), copy.coordinates[i]),
             "one number for each row: one loop over the rows of the tile");
  }
  ir::visit(data, [&](const Expr& e) {
    const auto* load = e.as<ir::Load>();
    if (load != nullptr && !is_input(program, load->buffer))
      refuse(fmt::format("{} is read from {}", ir::print(data), ir::name_of(load->buffer->scope)),
             "numbers of rows in the memory that the program is given");
  });
  return refused;
}

/// Preconditions 7 and 8.
std::optional<Reason> check_gather(const ir::Program& program, const ir::Copy& copy) {
  constexpr std::int64_t least_bytes = 4;
  const std::string& tile = copy.destination->name;
  const std::int64_t length = gather_runs(copy, {}).length;
  const std::int64_t bytes = length * static_cast<std::int64_t>(size_of(copy.source->dtype));
  if (bytes < least_bytes)
    return Reason{7, fmt::format("rows of {} are copied {} bytes at a time", tile, bytes),
                  fmt::format("runs of at least {} bytes: a number of columns of {} that is known, and even",
                              least_bytes, copy.source->name),
                  tile};
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < copy.extents.size(); ++i) columns *= *ir::integer_value(copy.extents[i]);
  const std::int64_t rows = *ir::integer_value(copy.extents.front());
  const std::int64_t runs = columns / length;
  const std::int64_t lanes = std::min(runs, warp_size);
  if (runs % lanes != 0 || threads_of_group % lanes != 0 || rows % (threads_of_group / lanes) != 0)
    return Reason{8,
                  fmt::format("{} rows of {} runs for {} threads, in {}", rows, runs, threads_of_group, tile),
                  "a power of two of runs in a row, and rows that the threads share evenly", tile};
  return check_numbers(program, copy, rows * lanes / threads_of_group, lanes);
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
      return Reason{6, fmt::format("{} is copied where {}", tile, ir::print(ring.conditions_of[i].front())),
                    "copies in every iteration", tile};
    if (copy.coordinates.empty() && !is_block(copy))
      return Reason{6, fmt::format("{} is no whole block of {}", tile, copy.source->name),
                    "a tile that lies in memory as one piece, of a multiple of 16 bytes", tile};
    if (copy.coordinates.empty()) continue;
    if (auto refused = check_gather(program, copy)) return refused;
  }
  return std::nullopt;
}

/// Precondition 11: all threads of a block ask who came last, and producers are elsewhere.
std::optional<Reason> check_arrivals(const ir::Program& program) {
  bool asks = false;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* condition = s.as<ir::If>();
    asks = asks || (condition != nullptr && is_last_arrival(condition->condition));
  });
  if (!asks) return std::nullopt;
  return Reason{11,
                "blocks share a sum, which all their threads hand over together",
                "a sum that is not split between blocks",
                {}};
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
                  fmt::format("producer_registers of at most {}, with which threads begin", first),
                  {}};
  if (others <= each) return std::nullopt;
  const std::int64_t needed = (own > 0 ? own : each) * threads_of_group + others * consumers;
  if (needed <= each * threads) return std::nullopt;
  return Reason{10,
                fmt::format("{} registers for {} threads", needed, threads),
                fmt::format("at most {}: each thread begins with {}, and what the {} consumers get beyond "
                            "those the {} producers give up",
                            each * threads, each, consumers, threads_of_group),
                {}};
}

}  // namespace

std::optional<Reason> why_no_roles(const ir::Program& program, const ir::WarpRoles& roles,
                                   std::int64_t consumers, const Target& target) {
  if (auto refused = check_ring(program)) return refused;
  if (auto refused = check_arrivals(program)) return refused;
  if (consumers == 0) return std::nullopt;
  const bool set = roles.producer_registers > 0 || roles.consumer_registers > 0;
  const std::int64_t together = set ? threads_of_group : warp_size;
  if (consumers % together != 0)
    return Reason{9,
                  fmt::format("{} threads compute", consumers),
                  fmt::format("a multiple of {}: bind loops to {}", together,
                              set ? "warps, or set no registers" : "warps and lanes first"),
                  {}};
  return check_registers(roles, consumers, target);
}

}  // namespace weft::passes
