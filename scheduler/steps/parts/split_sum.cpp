#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/register_sum.h>
#include <weft/scheduler/steps/parts/split_sum.h>

#include <algorithm>
#include <iterator>
#include <ranges>

namespace weft::steps {
namespace {

constexpr std::int64_t few_parts = 16;

class Splitting {
 public:
  Splitting(const ir::Program& program, std::string loop, SumShares shares, Reduction reduction, int step)
      : program_(program),
        loop_(std::move(loop)),
        shares_(std::move(shares)),
        reduction_(reduction),
        step_(step) {}

  StepResult operator()() {
    auto found = find_register_sum(program_.body, loop_, 4);
    if (auto* refused = std::get_if<Reason>(&found)) return *refused;
    sum_ = std::get<RegisterSum>(std::move(found));
    std::int64_t places = 0;
    ir::each<ir::Allocate>(program_.body,
                           [&](const ir::Allocate& sum) { places += sum.buffer == sum_.buffer ? 1 : 0; });
    if (places > 1)
      return Reason{2, fmt::format("the sum of {} stands in {} places", loop_, places),
                    "one place: split_k before peel", loop_};
    if (auto refused = find_around()) return *refused;
    if (auto refused = require_common_conditions()) return *refused;
    if (auto refused = require_common_lengths()) return *refused;
    if (auto refused = require_launch_sizes()) return *refused;
    if (reduction_ != Reduction::shared) make_workspaces();
    ir::Program result = program_;
    for (const ir::BufferRef& buffer : {between_, arrivals_}) {
      if (buffer != nullptr) result.workspaces.push_back(buffer);
    }
    if (outermost_.empty()) {
      result.body = ir::rewrite<ir::Allocate>(program_.body, [&](const ir::Allocate&, const Stmt& s) {
        return is_sum(s) ? split({{}, {}, s}) : s;
      });
    } else {
      result.body = change_loops(program_.body, outermost_, [&](const ir::For& loop) {
        ir::Chain chain = chain_of(ir::for_loop(loop));
        return is_sum(chain.core) ? split(std::move(chain)) : ir::for_loop(loop);
      });
    }
    return result;
  }

 private:
  bool is_sum(const Stmt& stmt) const {
    const auto* allocation = stmt.as<ir::Allocate>();
    return allocation != nullptr && allocation->buffer == sum_.buffer;
  }

  /// Which loops stand around the sum, and the outermost of those that hold nothing else. Preconditions 5, 6.
  std::optional<Reason> find_around() {
    std::optional<Reason> refused;
    walk(program_.body, refused);
    return refused;
  }

  bool walk(const Stmt& stmt, std::optional<Reason>& refused) {
    if (is_sum(stmt)) return true;
    if (!any_child(stmt, [&](const Stmt& child) { return walk(child, refused); })) return false;
    if (const auto* loop = stmt.as<ir::For>()) {
      if (loop->kind == LoopKind::vectorized)
        refused = Reason{5, fmt::format("{} around the sum is vectorized", loop->name),
                         "split_k before that loop is vectorized, or the loop inside the sum", loop->name};
      (ir::is_within_block(loop->kind) ? threads_ : others_).push_back(*loop);
      around_tile_ = around_tile_ || loop->name == shares_.tile;
      if (!around_tile_ && is_sum(chain_of(stmt).core)) outermost_ = loop->name;
    }
    const auto* condition = stmt.as<ir::If>();
    if (condition != nullptr && !is_sum(chain_of(stmt).core))
      conditions_around_.push_back(condition->condition);
    return true;
  }

  /// Precondition 6, once the loops around are known.
  std::optional<Reason> require_common_conditions() const {
    for (const Expr& condition : conditions_around_) {
      if (!ir::uses_any(condition, threads_)) continue;
      return Reason{6, fmt::format("only threads with {} reach the sum", ir::print(condition)),
                    "a sum that all threads of the block reach: stage into registers after split_k", loop_};
    }
    return std::nullopt;
  }

  /// Precondition 6 of loops around: with lengths of their own, threads would meet at barriers that others of
  /// the block never come to.
  std::optional<Reason> require_common_lengths() const {
    for (const ir::For& loop : others_) {
      const auto decides = std::ranges::find_if(threads_, [&](const ir::For& of_threads) {
        return ir::uses(loop.begin, of_threads.name) || ir::uses(loop.extent, of_threads.name);
      });
      if (decides == threads_.end()) continue;
      return Reason{
          6,
          fmt::format("{} around the sum runs over {} .. {}, which differs between the iterations of "
                      "{}, bound to {}",
                      loop.name, ir::print(loop.begin), ir::print(loop.begin + loop.extent), decides->name,
                      ir::name_of(decides->kind)),
          fmt::format("loops around that are as long for all threads of a block: {}",
                      written("bind", {decides->name, "block_x"})),
          decides->name};
    }
    return std::nullopt;
  }

  /// Precondition 8: workspaces are as large as the loops around are long.
  std::optional<Reason> require_launch_sizes() const {
    if (reduction_ == Reduction::shared) return std::nullopt;
    for (const ir::For& loop : others_) {
      const auto is_known = [&](const Expr& bound) {
        return !ir::any<ir::Load>(bound) && !ir::uses_any(bound, others_);
      };
      if (is_known(loop.begin) && is_known(loop.extent)) continue;
      return Reason{8, fmt::format("{} around the sum has {} iterations", loop.name, ir::print(loop.extent)),
                    "loops of sizes that the launch knows, or reduce = shared", loop.name};
    }
    return std::nullopt;
  }

  void make_workspaces() {
    const auto workspace = [](const std::string& name, DType dtype, std::vector<Expr> shape, bool zero) {
      auto buffer = std::make_shared<ir::Buffer>(
          *ir::make_buffer(name, dtype, ir::Scope::global, ir::Access::read_write, std::move(shape)));
      buffer->between_blocks = true;
      buffer->begins_as_zero = zero;
      return buffer;
    };
    const std::vector<Expr> tiles = extents_of(others_);
    std::vector<Expr> counted = tiles;
    if (counts_threads()) std::ranges::copy(extents_of(threads_), std::back_inserter(counted));
    arrivals_ = workspace(sum_.buffer->name + ".arrivals", DType::i32, counted, true);
    std::vector<Expr> shape = tiles;
    if (reduction_ == Reduction::second_pass) shape.insert(shape.begin(), shares_.most);
    // Where every group has a place of its own, each stores there before the last one reads.
    between_ = workspace(sum_.buffer->name + ".parts", sum_.buffer->dtype, with_sum_and_threads(shape),
                         reduction_ == Reduction::atomic);
  }

  /// A CPU goes through the threads of a block one after the other, each of which arrives by itself.
  bool counts_threads() const { return !shares_.tile.empty(); }
  std::vector<Expr> arrival_place() const {
    std::vector<Expr> place = numbers_of(others_);
    if (counts_threads()) std::ranges::copy(numbers_of(threads_), std::back_inserter(place));
    return place;
  }

  static std::vector<Expr> extents_of(const std::vector<ir::For>& loops) {
    std::vector<Expr> extents;
    for (const ir::For& loop : std::views::reverse(loops)) extents.push_back(loop.extent);
    return extents;
  }
  static std::vector<Expr> numbers_of(const std::vector<ir::For>& loops) {
    std::vector<Expr> numbers;
    for (const ir::For& loop : std::views::reverse(loops))
      numbers.push_back(ir::variable(loop.name) - loop.begin);
    return numbers;
  }

  /// The shape of what each thread keeps of the sum, for each place of the shape.
  std::vector<Expr> with_sum_and_threads(std::vector<Expr> shape) const {
    shape.insert(shape.end(), sum_.buffer->shape.begin(), sum_.buffer->shape.end());
    std::ranges::copy(extents_of(threads_), std::back_inserter(shape));
    return shape;
  }

  Stmt split(ir::Chain chain) const {
    std::vector<Expr> of_threads;
    std::erase_if(chain.conditions, [&](const Expr& condition) {
      if (!ir::uses_any(condition, threads_)) return false;
      of_threads.push_back(condition);
      return true;
    });
    GroupedSum grouped;
    if (shares_.tile.empty())
      grouped.group = {group_loop(loop_), 0, shares_.most, LoopKind::serial, step_, {}, ir::LoopRole::groups};
    if (reduction_ == Reduction::shared)
      grouped.parts = ir::make_buffer(sum_.buffer->name + ".parts", sum_.buffer->dtype, ir::Scope::shared,
                                      ir::Access::read_write, with_sum_and_threads({shares_.most}));
    else
      grouped.arrival = arrival_of_block(ir::load(arrivals_, arrival_place()), shares_.count);
    grouped.own = ir::if_all(of_threads, own_sum(grouped));
    grouped.result = ir::if_all(of_threads, total(grouped));
    if (shares_.tile.empty()) {
      chain.core = statement_of(grouped);
      return rebuild(std::move(chain));
    }
    ir::Chain last = chain;
    chain.core = grouped.own;
    last.core = ir::if_then(grouped.arrival, grouped.result);
    return ir::block({rebuild(std::move(chain)), rebuild(std::move(last))});
  }

  /// Where a thread keeps the part of a sum that a group has: lanes beside one another.
  std::vector<Expr> place(const Expr& group, const std::vector<Expr>& indices) const {
    std::vector<Expr> result;
    if (reduction_ != Reduction::atomic) result.push_back(group);
    if (reduction_ != Reduction::shared) std::ranges::copy(numbers_of(others_), std::back_inserter(result));
    result.insert(result.end(), indices.begin(), indices.end());
    std::ranges::copy(numbers_of(threads_), std::back_inserter(result));
    return result;
  }

  Stmt own_sum(const GroupedSum& grouped) const {
    std::vector<Stmt> statements = sum_.first;
    statements.push_back(change_loops(sum_.update, loop_, [&](const ir::For& loop) {
      const auto [skipped, taken] = shares_.of(loop.extent);
      ir::For part = loop;
      part.begin = loop.begin + skipped;
      part.extent = taken;
      return ir::for_loop(std::move(part));
    }));
    statements.push_back(ir::block(each_element(sum_, [&](const std::vector<Expr>& indices) {
      return ir::store(parts_of(grouped), place(shares_.part, indices), ir::load(sum_.buffer, indices),
                       reduction_ == Reduction::atomic);
    })));
    return ir::allocate(sum_.buffer, ir::block(std::move(statements)));
  }

  Stmt total(const GroupedSum& grouped) const {
    const auto all = ir::make_buffer(sum_.buffer->name + ".all", sum_.buffer->dtype, ir::Scope::registers,
                                     ir::Access::read_write, sum_.buffer->shape);
    const ir::BufferRef& parts = parts_of(grouped);
    std::vector<Stmt> statements;
    if (reduction_ == Reduction::atomic) {
      statements = each_element(sum_, [&](const std::vector<Expr>& indices) {
        return ir::store(all, indices, ir::load(parts, place({}, indices)));
      });
      statements.push_back(ir::block(each_element(sum_, [&](const std::vector<Expr>& indices) {
        return ir::store(parts, place({}, indices), ir::zero_of(parts->dtype));
      })));
    } else {
      statements = added_parts(all, parts);
    }
    for (const Stmt& stmt : sum_.last) statements.push_back(ir::replace_buffer(stmt, sum_.buffer, all));
    return ir::allocate(all, ir::block(std::move(statements)));
  }

  /// Parts of a few groups are written out, so that they are on their way together: those of all groups, or
  /// where a thread has many sums as many as registers hold, time and again.
  std::vector<Stmt> added_parts(const ir::BufferRef& all, const ir::BufferRef& parts) const {
    const std::int64_t* count = ir::integer_value(shares_.most);
    const bool few = count != nullptr && *count <= few_parts;
    const std::int64_t together = few ? parts_together(*count) : 1;
    const Expr part = ir::variable(loop_ + ".part"), turn = ir::variable(loop_ + ".turn");
    const auto kind = few ? LoopKind::unrolled : LoopKind::serial;
    const auto first_value = [&](const std::vector<Expr>& indices) {
      return ir::store(all, indices, ir::zero_of(all->dtype));
    };
    const auto add = [&](const Expr& before, const Expr& of_turn, const std::vector<Expr>& indices) {
      const Expr value = part_of_sum(parts, before + part, indices);
      return ir::for_range(part, of_turn, kind, step_, ir::store(all, indices, value, true));
    };
    if (!few || together == *count)
      return each_element(sum_, [&](const std::vector<Expr>& indices) {
        return ir::block({first_value(indices), add(0, few ? shares_.most : shares_.count, indices)});
      });
    std::vector<Stmt> statements = each_element(sum_, first_value);
    const Stmt added = ir::block(each_element(
        sum_, [&](const std::vector<Expr>& indices) { return add(turn * together, together, indices); }));
    statements.push_back(ir::for_range(turn, *count / together, LoopKind::serial, step_, added));
    return statements;
  }

  /// What a tile has no part of counts as zero. All are asked for without a branch between, so that they are
  /// on their way together.
  Expr part_of_sum(const ir::BufferRef& parts, const Expr& part, const std::vector<Expr>& indices) const {
    if (ir::same(shares_.most, shares_.count)) return ir::load(parts, place(part, indices));
    const Expr there = ir::load(parts, place(ir::minimum(part, shares_.count - 1), indices));
    return ir::select(part < shares_.count, there, ir::zero_of(parts->dtype));
  }

  /// A divisor of the groups, so that the sums of a thread times it take no more registers than there are to
  /// spare.
  std::int64_t parts_together(std::int64_t groups) const {
    constexpr std::int64_t most_registers = 128;
    const std::int64_t most = std::max<std::int64_t>(1, most_registers / sums_of_thread());
    std::int64_t together = std::min(groups, most);
    while (groups % together != 0) --together;
    return together;
  }

  /// As far as sizes are known.
  std::int64_t sums_of_thread() const {
    std::int64_t sums = 0;
    for (const Stmt& stmt : sum_.first) {
      std::int64_t of_statement = 1;
      for (const ir::For& loop : chain_of(stmt).loops) {
        const std::int64_t* extent = ir::integer_value(loop.extent);
        if (!ir::is_bound(loop.kind) && extent != nullptr) of_statement *= *extent;
      }
      sums += of_statement;
    }
    return std::max<std::int64_t>(1, sums);
  }

  const ir::BufferRef& parts_of(const GroupedSum& grouped) const {
    return reduction_ == Reduction::shared ? grouped.parts : between_;
  }

  const ir::Program& program_;
  std::string loop_;
  SumShares shares_;
  Reduction reduction_;
  int step_;
  RegisterSum sum_;
  std::string outermost_;         ///< loop of the chain that ends in the sum; empty: no loop
  bool around_tile_ = false;      ///< what is looked at stands around a tile
  std::vector<ir::For> threads_;  ///< warp, lane and thread loops around the sum, innermost first
  std::vector<ir::For> others_;   ///< the other loops around it
  ir::BufferRef between_;         ///< between blocks: the parts
  ir::BufferRef arrivals_;        ///< and how many groups of each tile have left theirs
  std::vector<Expr> conditions_around_;
};

}  // namespace

StepResult split_sum(const ir::Program& program, const std::string& loop, const SumShares& shares,
                     Reduction reduction, int step) {
  return Splitting(program, loop, shares, reduction, step)();
}

}  // namespace weft::steps
