// split_k: the iterations of a sum are dealt to groups, each with sums of its own.
#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/grouped_sum.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/register_sum.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>

namespace weft::steps {
namespace {

constexpr std::int64_t most_groups = 1024;
constexpr std::int64_t few_groups = 16;

/// Where groups leave their parts, and who adds them up.
enum class Reduction : std::uint8_t {
  shared,       ///< in shared memory; the first group
  second_pass,  ///< in a workspace; the last block to arrive, in the order of the groups
  atomic,       ///< added together in a workspace, in the order in which they come
};

class Splitting {
 public:
  Splitting(const ir::Program& program, std::string loop, Expr groups, Reduction reduction, int step)
      : program_(program),
        loop_(std::move(loop)),
        groups_(std::move(groups)),
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
      if (is_sum(chain_of(stmt).core)) outermost_ = loop->name;
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
    arrivals_ = workspace(sum_.buffer->name + ".arrivals", DType::i32, tiles, true);
    std::vector<Expr> shape = tiles;
    if (reduction_ == Reduction::second_pass) shape.insert(shape.begin(), groups_);
    // Where every group has a place of its own, each stores there before the last one reads.
    between_ = workspace(sum_.buffer->name + ".parts", sum_.buffer->dtype, with_sum_and_threads(shape),
                         reduction_ == Reduction::atomic);
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
    grouped.group = {group_loop(loop_), 0, groups_, LoopKind::serial, step_, {}, ir::LoopRole::groups};
    if (reduction_ == Reduction::shared)
      grouped.parts = ir::make_buffer(sum_.buffer->name + ".parts", sum_.buffer->dtype, ir::Scope::shared,
                                      ir::Access::read_write, with_sum_and_threads({groups_}));
    else
      grouped.arrival = ir::call(std::string(last_arrival), DType::boolean,
                                 {ir::load(arrivals_, numbers_of(others_)), groups_});
    grouped.own = ir::if_all(of_threads, own_sum(grouped));
    grouped.result = ir::if_all(of_threads, total(grouped));
    chain.core = statement_of(grouped);
    return rebuild(std::move(chain));
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
    const Expr group = ir::variable(grouped.group.name);
    std::vector<Stmt> statements = sum_.first;
    statements.push_back(change_loops(sum_.update, loop_, [&](const ir::For& loop) {
      // Equal shares, the last group gets what is left.
      const Expr share = ir::ceil_divide(loop.extent, groups_);
      const Expr skipped = ir::minimum(loop.extent, group * share);
      ir::For part = loop;
      part.begin = loop.begin + skipped;
      part.extent = ir::minimum(share, loop.extent - skipped);
      return ir::for_loop(std::move(part));
    }));
    statements.push_back(ir::block(each_element(sum_, [&](const std::vector<Expr>& indices) {
      return ir::store(parts_of(grouped), place(group, indices), ir::load(sum_.buffer, indices),
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
        return ir::store(parts, place({}, indices), ir::constant(parts->dtype, 0));
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
    const std::int64_t* count = ir::integer_value(groups_);
    const bool few = count != nullptr && *count <= few_groups;
    const std::int64_t together = few ? parts_together(*count) : 1;
    const Expr part = ir::variable(loop_ + ".part"), turn = ir::variable(loop_ + ".turn");
    const auto kind = few ? LoopKind::unrolled : LoopKind::serial;
    const auto first_value = [&](const std::vector<Expr>& indices) {
      return ir::store(all, indices, ir::constant(all->dtype, 0));
    };
    const auto add = [&](const Expr& before, const Expr& of_turn, const std::vector<Expr>& indices) {
      const Expr value = ir::load(parts, place(before + part, indices));
      return ir::for_range(part, of_turn, kind, step_, ir::store(all, indices, value, true));
    };
    if (!few || together == *count)
      return each_element(sum_, [&](const std::vector<Expr>& indices) {
        return ir::block({first_value(indices), add(0, groups_, indices)});
      });
    std::vector<Stmt> statements = each_element(sum_, first_value);
    const Stmt added = ir::block(each_element(
        sum_, [&](const std::vector<Expr>& indices) { return add(turn * together, together, indices); }));
    statements.push_back(ir::for_range(turn, *count / together, LoopKind::serial, step_, added));
    return statements;
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
  Expr groups_;
  Reduction reduction_;
  int step_;
  RegisterSum sum_;
  std::string outermost_;         ///< loop of the chain that ends in the sum; empty: no loop
  std::vector<ir::For> threads_;  ///< warp, lane and thread loops around the sum, innermost first
  std::vector<ir::For> others_;   ///< the other loops around it
  ir::BufferRef between_;         ///< between blocks: the parts
  ir::BufferRef arrivals_;        ///< and how many groups of each tile have left theirs
  std::vector<Expr> conditions_around_;
};

/// A sum in a workspace comes from weights that are not stored by rows: another packing gives one in
/// registers.
Reason with_rows_of_weights(Reason refused, const ir::Program& program, const StepContext& context) {
  if (refused.precondition == 4 && !program.workspaces.empty() && context.weights != nullptr)
    refused.accepted += fmt::format(", as weights give that are packed in formats::csr() in place of {}",
                                    context.weights->format().text());
  return refused;
}

/// What a copy that runs ahead brings for the last group to arrive: it would count arrivals too. Empty
/// without.
std::string copied_ahead_of_arrivals(const Stmt& stmt) {
  std::string found;
  ir::each<ir::If>(stmt, [&](const ir::If& branch) {
    if (!is_last_arrival(branch.condition)) return;
    ir::each<ir::Copy>(branch.then, [&](const ir::Copy& copy) {
      if (copy.asynchronous) found = copy.source->name;
    });
  });
  return found;
}

StepResult apply_split_k(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context) {
  const std::string loop = arguments.text("loop"), word = arguments.text("reduce");
  const Reduction reduction = word == "shared"   ? Reduction::shared
                              : word == "atomic" ? Reduction::atomic
                                                 : Reduction::second_pass;
  if (auto missing = require_loop(program, loop)) return *missing;
  if (const ir::LoopRole role = ir::role_of(program.body, loop);
      ir::is_over_output(role) || role == ir::LoopRole::groups)
    return Reason{3, fmt::format("iterations of {} give different results", loop),
                  fmt::format("a loop over what is summed ({}); of other loops, {} makes such groups",
                              fmt::join(serial_loops(program, false), ", "), split_text(loop, 8)),
                  loop};
  const auto loops = find_loops(program.body, loop);
  if (loops.size() > 1)
    return Reason{2, fmt::format("{} stands in {} places", loop, loops.size()), "one place", loop};
  if (loops.front()->kind != LoopKind::serial)
    return Reason{2, fmt::format("{} is {}", loop, ir::name_of(loops.front()->kind)),
                  "a loop that is still serial", loop};
  for (const std::string& name : loop_names(program.body)) {
    if (ir::role_of(program.body, name) == ir::LoopRole::groups)
      return Reason{2, fmt::format("the sum is split to {} already", name), "a sum that is not split", name};
  }
  StepResult result = Splitting(program, loop, arguments.symbol("groups"), reduction, context.step)();
  if (const auto* refused = std::get_if<Reason>(&result))
    return with_rows_of_weights(*refused, program, context);
  if (const std::string ahead = copied_ahead_of_arrivals(std::get<ir::Program>(result).body); !ahead.empty())
    return Reason{9, fmt::format("{} is copied ahead, for the results alone", ahead),
                  "that stage with depth = 1, or after split_k, or reduce = shared", ahead};
  if (const std::string again = blocks_that_count_again(std::get<ir::Program>(result).body); !again.empty()) {
    return Reason{
        5,
        fmt::format("{} inside the sum is bound to blocks, which would all count a group's arrival", again),
        fmt::format("{} around {} when it is bound, or reduce = shared", again, loop), again};
  }
  return result;
}

std::vector<std::string> loop_of_groups(const StepArguments& arguments, const Algorithm&) {
  return {group_loop(arguments.text("loop"))};
}

constexpr std::array<std::string_view, 3> reductions{"shared", "atomic", "second_pass"};
constexpr Parameter groups = [] {
  Parameter result = number_parameter("groups", "8", "groups that share the sum", 7, most_groups);
  result.symbolic = true;
  return result;
}();
constexpr Parameter parameters[]{loop_parameter("loop", "k", "the loop over what is summed"),
                                 groups,
                                 {.name = "reduce",
                                  .kind = ParameterKind::word,
                                  .example = "shared",
                                  .sentence = "where the parts of the groups meet",
                                  .precondition = 7,
                                  .required = false,
                                  .named = true,
                                  .words = reductions}};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it stands in one place and is serial, and the sum is not split yet"},
    {3, "it is summed over"},
    {4, "its sum is in registers that start as zero"},
    {5,
     "no loop around the sum is vectorized, and none inside is bound to blocks where the groups are blocks"},
    {6,
     "all threads of a block reach the sum as often: conditions on threads stand directly around it, and "
     "no loop around is longer for one thread than for another"},
    {7, "the number of groups is 1 to 1024, and `reduce` one of the three"},
    {8, "between blocks, the loops around the sum have sizes that the launch knows"},
    {9, "between blocks, no copy for the results alone runs ahead"}};

}  // namespace

constinit const StepKind split_k{
    .name = "split_k",
    .sentence =
        "The iterations of a sum are dealt to groups, each with sums of its own, which are added up at the "
        "end.",
    .more =
        "All groups but the last get equal shares, in order; a loop over the groups, \"k.group\", appears. "
        "With `reduce = shared`, bind it to warps: each group leaves its registers in shared memory, then "
        "the first group adds the parts of all groups in order and goes on with the result. Where weights "
        "are baked afterwards, bake_values deals the entries of a block of rows by columns, and all groups "
        "share the rows of the result. With `second_pass`, bind it to block_x, block_y or block_z: each "
        "block leaves its part in a workspace and counts itself; the last of a tile to come adds up all "
        "parts in the order of the groups, so the result is the same every time. With `atomic`, parts are "
        "added together as they come, which takes a workspace of one part instead of all and gives sums "
        "whose last bits may differ from launch to launch. Nobody waits for others, and results are made "
        "once.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_split_k,
    .loops = loop_of_groups};

}  // namespace weft::steps
