// bake_values: the stored entries of a block of rows, written out as constants.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/clamped_read.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/baked_limits.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/baked_entry.h>
#include <weft/scheduler/steps/parts/baked_nest.h>
#include <weft/scheduler/steps/parts/baked_product.h>
#include <weft/scheduler/steps/parts/chunks.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/padded_tile.h>
#include <weft/scheduler/steps/parts/parameters.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::steps {
namespace {

constexpr std::int64_t most_places = 1 << 23;  ///< that loops reach, whether they hold an entry or not
/// Of a multiplication or a load.
constexpr std::int64_t bytes_of_instruction_of_gpu = 16, bytes_of_instruction_of_cpu = 8;

/// What the step was told about the code; 0: nothing.
struct Limits {
  std::int64_t code_bytes = 0;  ///< bytes of a block's code, at most
  std::int64_t chunk = 0;       ///< columns of the weights in a piece of the code
};

class Baking {
 public:
  Baking(const ir::Program& program, const KnownWeights& weights, const StepContext& context,
         std::string loop, const Limits& limits)
      : program_(program), weights_(weights), context_(context), loop_(std::move(loop)), limits_(limits) {}

  StepResult operator()() {
    auto found = baked_nest(program_, weights_, context_, loop_);
    if (auto* refused = std::get_if<Reason>(&found)) return *refused;
    nest_ = std::get<BakedNest>(std::move(found));
    if (nest_.groups) {
      nest_.selectors.push_back(nest_.groups->group);
      if (nest_.groups->parts != nullptr) wider_parts_ = with_rows(nest_.groups->parts, 1);
      if (nest_.groups->arrival.defined()) total_ = nest_.result.as<ir::Allocate>()->buffer;
      if (total_ != nullptr) wider_total_ = with_rows(total_, 0);
    }
    if (limits_.chunk > 0) {
      if (auto refused = cut_into_chunks()) return *refused;
    }
    wider_ = with_rows(nest_.sum, 0);
    conditions_ = needed_conditions(program_, Coordinates(context_), nest_.conditions, nest_.value);
    is_of_column_ = differ_in_values(nest_, weights_, conditions_.needed);
    KnownWeights::Variables block;
    const Stmt tree = select(0, block);
    if (refused_) return *refused_;
    ir::Program result = program_;
    result.body = change_loops(program_.body, loop_, [&](const ir::For&) { return written_out(tree); });
    for (const ir::BufferRef& buffer : result.buffers) {
      const bool is_list = buffer->dtype == DType::i32 && buffer->shape.size() == 1;
      if (weights_.holds(buffer) && !is_list && ir::uses(result.body, buffer))
        return Reason{4, fmt::format("{} is read beside the sum too, as for a staged copy", buffer->name),
                      "reads of it inside the sum alone: leave out the step that copies what it is read for",
                      loop_};
    }
    std::erase_if(result.buffers, [&](const ir::BufferRef& buffer) {
      if (!weights_.holds(buffer)) return false;
      // Which rows of the output a block has, where rows are stored in an order of their own.
      if (ir::uses(result.body, buffer)) result.constants.push_back({buffer, weights_.numbers_of(buffer)});
      return true;
    });
    return result;
  }

 private:
  Reason other_shape(const std::string& found) const { return other_shape_than_baked(found, loop_); }

  /// The buffer with a dimension for the rows in front of dimension `place`. Its last dimensions, those of
  /// the sums, hold what loops reach: conditions that kept them inside of fewer elements may go.
  ir::BufferRef with_rows(const ir::BufferRef& buffer, std::ptrdiff_t place) const {
    std::vector<Expr> shape = buffer->shape;
    const ir::Ranges ranges = ir::loop_ranges(program_.body);
    const std::size_t before = shape.size() - std::min(shape.size(), nest_.place.size());
    for (std::size_t i = 0; before + i < shape.size(); ++i) {
      const auto most = ir::range_of(nest_.place[i], ranges).maximum;
      const std::int64_t* extent = ir::integer_value(shape[before + i]);
      if (most && extent != nullptr && *most >= *extent) shape[before + i] = *most + 1;
    }
    shape.insert(shape.begin() + place, nest_.extent);
    return ir::make_buffer(buffer->name, buffer->dtype, buffer->scope, buffer->access, std::move(shape));
  }

  /// The number of the chunk chooses among the code of a block like that of a group.
  std::optional<Reason> cut_into_chunks() {
    if (nest_.groups)
      return Reason{
          8, "the sum is shared by groups, each with entries of all columns",
          "chunks of a sum that no groups share; without chunk, " + steps::written("bake_values", {loop_}),
          loop_};
    auto made = chunks_of(program_, context_, loop_, limits_.chunk);
    if (auto* refused = std::get_if<Reason>(&made)) return *refused;
    chunks_ = std::get<Chunks>(std::move(made));
    nest_.selectors.push_back(chunks_->loop);
    return std::nullopt;
  }

  /// A balanced tree of conditions on the numbers of the block, its leaves the blocks' entries.
  Stmt select(std::size_t next, KnownWeights::Variables& block) {
    if (next == nest_.selectors.size()) return leaf(block);
    const std::int64_t begin = *ir::integer_value(nest_.selectors[next].begin);
    return select(next, begin, begin + *ir::integer_value(nest_.selectors[next].extent), block);
  }

  Stmt select(std::size_t next, std::int64_t begin, std::int64_t end, KnownWeights::Variables& block) {
    if (refused_ || begin >= end) return {};
    const std::string& name = nest_.selectors[next].name;
    if (begin + 1 == end) {
      block[name] = begin;
      Stmt chosen = select(next + 1, block);
      block.erase(name);
      return chosen;
    }
    const std::int64_t middle = begin + (end - begin) / 2;
    const Stmt low = select(next, begin, middle, block);
    const Stmt high = select(next, middle, end, block);
    const Expr variable = ir::variable(name);
    if (!low.defined()) return ir::if_then(middle <= variable, high);
    return ir::if_then(variable < middle, low, high);
  }

  Stmt leaf(const KnownWeights::Variables& block) {
    if (!nest_.groups && !chunks_) return written(entries_of(block));
    const std::string& name = chunks_ ? chunks_->loop.name : nest_.groups->group.name;
    const std::int64_t group = block.at(name);
    KnownWeights::Variables rows = block;
    rows.erase(name);
    // The groups or chunks of a block follow one another.
    if (!of_block_ || of_block_->first != rows) of_block_.emplace(rows, entries_of(rows));
    const std::vector<BakedEntry>& all = of_block_->second;
    if (chunks_) {
      const auto before = [&](std::int64_t column) {
        return std::ranges::lower_bound(all, column, {}, &BakedEntry::column);
      };
      return written({before(group * limits_.chunk), before((group + 1) * limits_.chunk)});
    }
    const std::int64_t* groups = ir::integer_value(nest_.groups->group.extent);
    const auto count = static_cast<std::int64_t>(all.size());
    const std::int64_t share = ceil_divide(count, *groups);
    const auto begin = all.begin() + std::min(count, group * share);
    return written({begin, all.begin() + std::min(count, (group + 1) * share)});
  }

  /// The entries of a block of rows, in order of their columns.
  std::vector<BakedEntry> entries_of(const KnownWeights::Variables& block) {
    std::vector<BakedEntry> entries;
    KnownWeights::Variables variables = block;
    const std::int64_t groups = nest_.groups ? *ir::integer_value(nest_.groups->group.extent) : 1;
    for (std::int64_t row = 0; row < nest_.extent && !refused_; ++row) {
      variables[loop_] = nest_.begin + row;
      std::vector<Expr> conditions;
      if (!hold(nest_.of_row, variables, conditions)) continue;
      for (std::int64_t group = 0; group < groups; ++group) {
        if (nest_.groups) variables[nest_.groups->group.name] = group;
        collect(0, row, conditions, variables, entries);
      }
    }
    std::ranges::stable_sort(entries,
                             [](const BakedEntry& a, const BakedEntry& b) { return a.column < b.column; });
    std::int64_t loads = 0;
    for (std::size_t i = 0; i < entries.size(); ++i)
      loads += i == 0 || entries[i].column != entries[i - 1].column ? 1 : 0;
    check_size(static_cast<std::int64_t>(entries.size()), loads, block);
    return entries;
  }

  /// On a CPU as one statement, where conditions need nothing of each entry.
  Stmt as_product(const std::vector<BakedEntry>& entries) const {
    if (context_.target.is_gpu()) return {};
    auto product = baked_product(entries, wider_, nest_.place, loop_);
    if (!product) return {};
    const std::vector<Expr>& conditions = entries.front().conditions;
    const bool are_of_columns = std::ranges::any_of(conditions, [&](const Expr& condition) {
      Expr read = entries.front().shared;
      return without_condition(condition, read, nest_.columns) || clamp_reads(condition, read);
    });
    if (are_of_columns) return {};
    return rebuild(ir::Chain{nest_.columns, conditions, ir::sparse_product(*std::move(product))});
  }

  Stmt written(const std::vector<BakedEntry>& entries) const {
    if (Stmt product = as_product(entries); product.defined()) return product;
    std::vector<Stmt> statements;
    for (std::size_t i = 0; i < entries.size();) {
      std::size_t end = i;
      while (end < entries.size() && entries[end].column == entries[i].column) ++end;
      const auto of_column = together_alike({entries.begin() + static_cast<std::ptrdiff_t>(i),
                                             entries.begin() + static_cast<std::ptrdiff_t>(end)});
      for (const std::vector<BakedEntry>& group : of_column) statements.push_back(together(group));
      i = end;
    }
    return ir::block(std::move(statements));
  }

  /// Precondition 7.
  void check_size(std::int64_t entries, std::int64_t loads, const KnownWeights::Variables& block) {
    entries_ += entries;
    const std::int64_t of_one =
        context_.target.is_gpu() ? bytes_of_instruction_of_gpu : bytes_of_instruction_of_cpu;
    const std::int64_t bytes = (entries + loads) * nest_.copies * of_one;
    if (refused_ || (limits_.code_bytes <= 0 || bytes <= limits_.code_bytes)) return;
    std::string place;
    for (const auto& [name, value] : block) place += fmt::format(" {} = {}", name, value);
    refused_ = Reason{
        7,
        fmt::format(
            "the block{} has {} entries and {} loads, each for {} columns of a thread: {} bytes of code",
            place, entries, loads, nest_.copies, bytes),
        fmt::format(
            "at most {} bytes: fewer rows in a block, or fewer columns of a thread; or code_bytes = {}, "
            "a number of bytes",
            limits_.code_bytes, std::max(bytes, limits_.code_bytes < 1024 ? limits_.code_bytes * 1024 : 0)),
        loop_};
  }

  /// Whether the conditions can hold; those that the launch decides are added to `open`.
  bool hold(const std::vector<Expr>& conditions, const KnownWeights::Variables& variables,
            std::vector<Expr>& open) const {
    for (const Expr& condition : conditions) {
      Expr folded = weights_.fold(condition, variables);
      const std::int64_t* value = ir::integer_value(folded);
      if (value != nullptr && *value == 0) return false;
      if (value == nullptr) open.push_back(std::move(folded));
    }
    return true;
  }

  /// Without its row; nothing where its conditions cannot hold.
  std::optional<BakedEntry> entry_at(std::int64_t position, const KnownWeights::Variables& variables) {
    BakedEntry entry;
    entry.column = weights_.columns()[position];
    const double number = weights_.value(position);
    const bool alike = is_of_column_ && std::isfinite(number);
    if (const auto known = alike ? of_column_.find(entry.column) : of_column_.end();
        known != of_column_.end()) {
      entry = known->second;
      entry.value = ir::constant(entry.value.dtype(), number);
      return entry;
    }
    if (!hold(conditions_.needed, variables, entry.conditions)) return std::nullopt;
    const Expr value = weights_.fold(nest_.value, variables);
    entry.take(chunks_ ? chunks_->placed(value, entry.column) : value);
    // Zero times what is not finite is not zero.
    if (!entry.has_finite_value() && !hold(conditions_.of_padding, variables, entry.conditions))
      return std::nullopt;
    if (alike && entry.shared.defined()) of_column_.emplace(entry.column, entry);
    return entry;
  }

  void collect(std::size_t next, std::int64_t row, const std::vector<Expr>& around,
               KnownWeights::Variables& variables, std::vector<BakedEntry>& entries) {
    if (refused_) return;
    if (next < nest_.entries.size()) {
      const ir::For& loop = nest_.entries[next];
      const auto begin = weights_.integer(loop.begin, variables);
      const auto extent = weights_.integer(loop.extent, variables);
      if (!begin || !extent) {
        refused_ = other_shape(fmt::format("the range of {} is not known from the weights", loop.name));
        return;
      }
      for (std::int64_t i = 0; i < *extent; ++i) {
        variables[loop.name] = *begin + i;
        collect(next + 1, row, around, variables, entries);
      }
      variables.erase(loop.name);
      return;
    }
    if (++places_ > most_places) {
      refused_ = Reason{7, fmt::format("loops that reach more than {} places of the weights", most_places),
                        "loops over stored places that are not split beyond what rows have", loop_};
      return;
    }
    const auto position = weights_.integer(nest_.position, variables);
    if (!position || *position < 0 || static_cast<std::size_t>(*position) >= weights_.columns().size()) {
      std::vector<Expr> open;
      if (hold(conditions_.needed, variables, open))
        refused_ = other_shape("the position of an entry is not known from the weights");
      return;
    }
    auto entry = entry_at(*position, variables);
    if (!entry) return;
    entry->row = row;
    entry->conditions.insert(entry->conditions.begin(), around.begin(), around.end());
    entries.push_back(*std::move(entry));
    const auto all = (entries_ + static_cast<std::int64_t>(entries.size())) * nest_.copies;
    const bool of_gpu = context_.target.is_gpu();
    const std::int64_t most = of_gpu ? most_baked_entries_of_gpu : most_baked_entries_of_cpu;
    if (all <= most) return;
    refused_ = Reason{7,
                      fmt::format("more than {} entries to write out, each for {} {}", most / nest_.copies,
                                  nest_.copies, of_gpu ? "columns of a thread" : "vectors"),
                      fmt::format("at most {} together: compilers take minutes for more", most), loop_};
  }

  /// Of entries that are alike.
  Stmt together(const std::vector<BakedEntry>& entries) const {
    const BakedEntry& first = entries.front();
    Expr shared = first.shared;
    const std::string name = nest_.sum->name + ".factor";
    std::vector<Stmt> updates;
    for (const BakedEntry& entry : entries) {
      std::vector<Expr> place{entry.row};
      place.insert(place.end(), nest_.place.begin(), nest_.place.end());
      const Expr value = shared.defined() ? entry.value * ir::variable(name, shared.dtype()) : entry.value;
      updates.push_back(ir::store(wider_, place, value, true));
    }
    const bool finite = std::ranges::all_of(entries, &BakedEntry::has_finite_value);
    Expr counts;
    ir::Chain chain{nest_.columns, {}, {}};
    for (const Expr& condition : first.conditions) {
      if (shared.defined() && without_condition(condition, shared, nest_.columns)) continue;
      if (shared.defined() && finite && clamp_reads(condition, shared))
        counts = counts.defined() ? counts && condition : condition;
      else
        chain.conditions.push_back(condition);
    }
    const Stmt body = ir::block(std::move(updates));
    if (!counts.defined()) {
      chain.core = shared.defined() ? ir::let(name, shared, body) : body;
    } else {
      // Zero outside of the image changes no sum, and a branch for each column would cost more than selecting
      // it.
      const std::string read = nest_.sum->name + ".read";
      const Expr chosen =
          ir::select(counts, ir::variable(read, shared.dtype()), ir::constant(shared.dtype(), 0));
      chain.core = ir::let(read, shared, ir::let(name, chosen, body));
    }
    return rebuild(std::move(chain));
  }

  /// Indices [row, …] of the sums of all rows in place of […] of one row's, and the same of their parts.
  Stmt of_all_rows(Stmt stmt) const {
    const auto widen = [&](const ir::BufferRef& from, const ir::BufferRef& to, std::ptrdiff_t place) {
      if (from == nullptr) return;
      stmt = ir::replace_buffer(stmt, from, to, [&](std::vector<Expr> indices) {
        indices.insert(indices.begin() + place, ir::variable(loop_) - nest_.begin);
        return indices;
      });
    };
    widen(nest_.sum, wider_, 0);
    widen(total_, wider_total_, 0);
    widen(nest_.groups ? nest_.groups->parts : nullptr, wider_parts_, 1);
    return stmt;
  }

  Stmt each_row(const std::vector<Stmt>& statements) const {
    ir::For loop = nest_.rows;
    loop.step = context_.step;
    return ir::for_loop(std::move(loop), ir::if_all(nest_.of_row, of_all_rows(ir::block(statements))));
  }

  Stmt written_out(Stmt tree) const {
    ir::Chain chain{nest_.around, nest_.outside, {}};
    if (chunks_) tree = ir::for_loop(chunks_->loop, std::move(tree));
    chain.core = ir::allocate(wider_, ir::block({each_row(nest_.first), tree, each_row(nest_.last)}));
    if (nest_.groups) chain.core = total_ != nullptr ? between_blocks(chain.core) : in_groups(chain.core);
    return rebuild(std::move(chain));
  }

  /// The last block of a tile makes the results of all rows: what it reads for them is read together.
  Stmt between_blocks(const Stmt& sums) const {
    GroupedSum sum = *nest_.groups;
    sum.arrival = ir::substitute(sum.arrival, {{loop_, nest_.begin}});
    sum.own = ir::if_all(nest_.of_thread, sums);
    std::vector<Stmt> statements;
    const Stmt one_row = nest_.result.as<ir::Allocate>()->body;
    for (const Stmt& stmt : one_row.as<ir::Sequence>()->statements) statements.push_back(each_row({stmt}));
    sum.result = ir::if_all(nest_.of_thread, ir::allocate(wider_total_, ir::block(std::move(statements))));
    return ir::if_all(nest_.of_first_row, statement_of(sum));
  }

  /// Groups take turns with the rows of the result.
  Stmt in_groups(const Stmt& sums) const {
    const ir::For& group = nest_.groups->group;
    const std::int64_t groups = *ir::integer_value(group.extent);
    const Expr share = ir::variable(loop_ + ".share"), row = share * groups + ir::variable(group.name);
    Stmt result = ir::if_all(nest_.of_row, of_all_rows(nest_.result));
    result = ir::substitute(result, {{loop_, row + nest_.begin}});
    if (nest_.extent % groups != 0) result = ir::if_then(row < nest_.extent, result);
    result = ir::for_range(share, ceil_divide(nest_.extent, groups), LoopKind::serial, context_.step, result,
                           nest_.rows.role);
    return ir::allocate(wider_parts_, ir::block({ir::for_loop(group, ir::if_all(nest_.of_thread, sums)),
                                                 ir::for_loop(group, ir::if_all(nest_.of_thread, result))}));
  }

  const ir::Program& program_;
  const KnownWeights& weights_;
  const StepContext& context_;
  std::string loop_;
  Limits limits_;
  BakedNest nest_;
  NeededConditions conditions_;                   ///< conditions of the nest
  bool is_of_column_ = false;                     ///< entries of a column differ in their values alone
  std::map<std::int64_t, BakedEntry> of_column_;  ///< one of each column, where that says all of the others
  std::optional<Chunks> chunks_;                  ///< where there are any
  std::int64_t entries_ = 0;                      ///< entries of the blocks written out so far
  std::int64_t places_ = 0;                       ///< that loops have reached so far
  ir::BufferRef wider_;                           ///< the sums of all rows
  ir::BufferRef total_, wider_total_;  ///< between blocks: the sums of all groups, of one row and of all
  ir::BufferRef wider_parts_;          ///< parts of a split sum, for all rows
  std::optional<std::pair<KnownWeights::Variables, std::vector<BakedEntry>>>
      of_block_;  ///< entries of the block at hand
  std::optional<Reason> refused_;
};

StepResult apply_bake_values(const ir::Program& program, const StepArguments& arguments,
                             const StepContext& context) {
  const std::string loop = arguments.text("rows");
  const Limits limits{arguments.number("code_bytes"), arguments.number("chunk")};
  const Operand* sparse = context.algorithm.sparse_operand();
  Reason no_weights{3, "the program reads no weights", "an algorithm with weights that are not baked yet",
                    loop};
  if (auto missing = require_loop(program, loop)) return *missing;
  if (sparse == nullptr || context.weights == nullptr) return no_weights;
  if (context.algorithm.takes_any_weights())
    return Reason{3, "the weights are given at launch", "sizes of " + sparse->name + " that are numbers",
                  loop};
  const KnownWeights weights(program, sparse->name, *context.weights);
  if (weights.empty()) return no_weights;
  return Baking(program, weights, context, loop, limits)();
}

std::vector<std::string> loop_of_chunks(const StepArguments& arguments, const Algorithm& algorithm) {
  const auto sum = std::ranges::find_if(algorithm.indices, &IndexVariable::reduction);
  if (!arguments.has("chunk") || sum == algorithm.indices.end()) return {};
  return {sum->name + std::string(chunk_suffix)};
}

constexpr Parameter parameters[]{
    loop_parameter("rows", "m.inner", "the loop over the rows of a block"),
    optional_number("code_bytes", "26624",
                    "a limit of the code of a block, in bytes: an H200 reads code at full speed where a "
                    "multiprocessor runs about 26 KB of it, or the whole chip 100 KB",
                    7, INT64_MAX, 0),
    optional_number("chunk", "16", "columns of the weights after which the code is cut", 8, INT64_MAX, 0)};
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "it stands in one place, is serial or unrolled, has a constant range, and goes over no groups"},
    {3, "the program reads bound weights"},
    {4, "inside it stand first values, the loop over stored entries, and results"},
    {5, "loops that choose the rows have constant ranges"},
    {6, "no vectorized loop stands around the sum"},
    {7,
     "the code of each block is within `code_bytes` where that is given, and all blocks together hold at "
     "most 300,000 entries times columns of a thread, on a CPU 4,000,000 times vectors"},
    {8, "a chunk is at least 1, of a sum over one index that no groups share"}};

}  // namespace

constinit const StepKind bake_values{
    .name = "bake_values",
    .sentence =
        "The loop over stored entries inside the loop over the rows of a block becomes constants of the "
        "program.",
    .more =
        "For each block of rows: for each column of the weight with an entry, in order, what is read of the "
        "dense operand, once, and then the addition to the sum of every row with an entry in that column. "
        "On a CPU these are one statement, a table of numbers, where columns differ in numbers alone. "
        "Sums are registers, one a row and column of a thread. First values and results stay loops over the "
        "rows. Where the sum is split to groups, each gets an equal share of the entries in that order, and "
        "the groups share the rows of the result. A balanced tree of conditions on the number of the block "
        "chooses. With a chunk, a loop of its own, \"k.chunk\", goes through the columns of the weights "
        "that many at a time, the sums around it, at which B can be staged; its iterations are written out "
        "in the end. A row order of the format becomes a constant of the program. Explicit zeros that the "
        "format stores stay; nothing is rounded. Conditions that keep the reads of an image inside of it go "
        "where a staged tile holds zero outside, save around weights that are not finite.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = apply_bake_values,
    .loops = loop_of_chunks};

}  // namespace weft::steps
