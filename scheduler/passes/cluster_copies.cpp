#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/cluster_copies.h>
#include <weft/scheduler/passes/ring.h>

#include <algorithm>
#include <set>
#include <string>

namespace weft::passes {
namespace {

constexpr std::int64_t least_bytes = 16;  ///< bytes of the smallest bulk copy
constexpr std::int64_t line_bytes = 128;

/// Precondition 3.
std::optional<Reason> check_loop(const ir::Program& program, const Target& target) {
  const std::string& name = program.cluster->loop;
  const ir::For* loop = ir::find_loop(program.body, name);
  if (loop == nullptr || !ir::is_block(loop->kind))
    return Reason{3, name + " is not bound to blocks",
                  fmt::format("block_x, block_y or block_z: .bind({}, block_x) first", loop_text(name)),
                  name};
  const std::int64_t* extent = ir::integer_value(loop->extent);
  if (extent == nullptr || *extent < 2 || *extent > target.cluster_blocks)
    return Reason{3, fmt::format("{} has {} iterations", name, ir::print(loop->extent)),
                  fmt::format("2 to {}, the blocks of a cluster: {}, and the blocks of {}.inner",
                              target.cluster_blocks, split_text(name, 2), name),
                  name};
  return std::nullopt;
}

/// What stands between the begin of a program and the copies of its ring.
class WayToCopies {
 public:
  WayToCopies(const ir::Program& program, const ir::For& ring) : program_(program), ring_(ring) {
    of_block_.insert(program.cluster->loop);
  }

  /// Preconditions 6 to 8.
  std::optional<Reason> operator()(const Stmt& stmt) {
    if (const auto* let = stmt.as<ir::Let>()) {
      if (differs(let->value)) of_block_.insert(let->name);
      return (*this)(let->body);
    }
    if (const auto* allocation = stmt.as<ir::Allocate>()) return (*this)(allocation->body);
    if (const auto* block = stmt.as<ir::Sequence>())
      return (*this)(*std::ranges::find_if(block->statements, [&](const Stmt& s) { return holds_ring(s); }));
    if (const auto* condition = stmt.as<ir::If>()) {
      if (differs(condition->condition)) return other_turns(ir::print(condition->condition));
      return (*this)(holds_ring(condition->then) ? condition->then : condition->otherwise);
    }
    const auto* loop = stmt.as<ir::For>();
    if (differs(loop->begin) || differs(loop->extent))
      return other_turns(fmt::format("the range of {}", loop->name));
    return loop->name == ring_.name ? check_copies() : (*this)(loop->body);
  }

 private:
  bool holds_ring(const Stmt& stmt) const { return ir::find_loop(stmt, ring_.name) != nullptr; }

  /// From one block of the cluster to another.
  bool differs(const Expr& expr) const { return ir::uses_any(expr, of_block_); }

  Reason other_turns(const std::string& found) const {
    return {
        7, fmt::format("{} depends on {}", found, program_.cluster->loop),
        fmt::format("blocks of a cluster that go through the same iterations: {}, or leave out .multicast(…)",
                    other_cluster()),
        program_.cluster->loop};
  }

  /// Another loop bound to blocks, on which nothing that is copied here depends so far.
  std::string other_cluster() const {
    const std::string& own = program_.cluster->loop;
    const auto others = ir::find_all<ir::For>(
        program_.body, [&](const ir::For& loop) { return ir::is_block(loop.kind) && loop.name != own; });
    return others.empty() ? std::string("a loop over the other operand bound to blocks")
                          : fmt::format("the loop {} in place of {}", others.front()->name, own);
  }

  /// The fewest blocks, or another layout, that would do.
  std::string shareable(const ir::Copy& copy) const {
    for (std::int64_t blocks = program_.cluster->blocks - 1; blocks >= 2; --blocks) {
      ir::Cluster smaller = *program_.cluster;
      smaller.blocks = blocks;
      if (share_of(copy, smaller))
        return fmt::format(
            "a tile whose rows can be shared out in whole lines: {} blocks in {}, by the number "
            "of its .split",
            blocks, smaller.loop);
    }
    return fmt::format(
        "a tile whose rows can be shared out in whole lines: a larger one, or leave out "
        ".multicast(\"{}\", …)",
        copy.source->name);
  }

  std::optional<Reason> check_copies() const {
    Ring ring;
    ring_of(ring_.body, ring);
    for (const ir::Copy& copy : ring.copies) {
      if (!goes_to_cluster(program_, copy)) continue;
      const std::string& tile = copy.destination->name;
      if (std::ranges::any_of(copy.source_begin, [&](const Expr& index) { return differs(index); }))
        return Reason{6, fmt::format("the place of {} depends on {}", tile, program_.cluster->loop),
                      fmt::format("a tile that all blocks of the cluster read: {}, or leave out "
                                  ".multicast(\"{}\", …)",
                                  other_cluster(), copy.source->name),
                      tile};
      if (!share_of(copy, *program_.cluster))
        return Reason{8, fmt::format("{} for {} blocks", tile, program_.cluster->blocks), shareable(copy),
                      tile};
    }
    return std::nullopt;
  }

  const ir::Program& program_;
  const ir::For& ring_;
  std::set<std::string> of_block_;  ///< variables whose values differ from block to block
};

/// The step for what the blocks of the cluster could copy to one another; or how something comes to be
/// staged.
std::string staged_there(const Ring& ring, const ir::For& loop) {
  for (const ir::Copy& copy : ring.copies) {
    if (copy.coordinates.empty()) return fmt::format(".multicast(\"{}\", …)", copy.source->name);
  }
  return fmt::format(".stage(…, shared, at = {}, depth = 2) of an array first", loop_text(loop.name));
}

/// Precondition 5.
std::optional<Reason> check_arrays(const ir::Program& program, const ir::For& loop) {
  Ring ring;
  ring_of(loop.body, ring);
  for (const std::string& array : program.cluster->arrays) {
    const auto copy =
        std::ranges::find_if(ring.copies, [&](const ir::Copy& each) { return each.source->name == array; });
    if (copy == ring.copies.end())
      return Reason{5, fmt::format("no copy of {} runs ahead at {}", array, loop.name),
                    fmt::format("what is staged there: {}", staged_there(ring, loop)), loop.name};
    if (!copy->coordinates.empty())
      return Reason{
          5, fmt::format("{} is copied row by row", copy->destination->name),
          fmt::format("what is staged, and lies in memory as one piece: {}", staged_there(ring, loop)),
          copy->destination->name};
  }
  return std::nullopt;
}

}  // namespace

bool goes_to_cluster(const ir::Program& program, const ir::Copy& copy) {
  return program.cluster &&
         std::ranges::find(program.cluster->arrays, copy.source->name) != program.cluster->arrays.end();
}

std::optional<ir::Copy> share_of(const ir::Copy& copy, const ir::Cluster& cluster) {
  ir::Copy share = copy;
  const std::size_t more = copy.destination_begin.size() - copy.extents.size();
  const auto elements = ir::product_of(copy.extents);
  if (!elements) return std::nullopt;
  const auto rows =
      std::ranges::find_if(copy.extents, [](const Expr& extent) { return *ir::integer_value(extent) != 1; });
  const std::int64_t line = copy.source->swizzle > 0 ? line_bytes << copy.source->swizzle : least_bytes;
  if (rows == copy.extents.end() || *ir::integer_value(*rows) % cluster.blocks != 0 ||
      *elements * ir::element_bytes(*copy.source) / cluster.blocks % line != 0)
    return std::nullopt;
  const auto dimension = static_cast<std::size_t>(rows - copy.extents.begin());
  const Expr own = *ir::integer_value(*rows) / cluster.blocks;
  const Expr first = ir::variable(cluster.loop) * own;
  share.extents[dimension] = own;
  share.source_begin[dimension] = share.source_begin[dimension] + first;
  share.destination_begin[more + dimension] = share.destination_begin[more + dimension] + first;
  return share;
}

std::int64_t mask_of(const ir::Cluster& cluster) {
  return (std::int64_t{1} << cluster.blocks) - 1;
}

std::optional<Reason> why_no_cluster(const ir::Program& program, const Target& target) {
  if (auto refused = check_loop(program, target)) return refused;
  if (!program.roles)
    return Reason{4,
                  "all warps copy",
                  ".specialize_warps(producers = 4) first: its bulk copies are what a cluster can share",
                  {}};
  const ir::For& ring = *ring_loops(program.body).front();
  if (auto refused = check_arrays(program, ring)) return refused;
  return WayToCopies(program, ring)(program.body);
}

}  // namespace weft::passes
