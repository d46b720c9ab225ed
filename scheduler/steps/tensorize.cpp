// tensorize: the sums of a tile are made by an instruction that multiplies matrices.
#include <fmt/format.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/block_nest.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/refused_nest.h>
#include <weft/scheduler/steps/parts/stream_nest.h>

#include <algorithm>

namespace weft::steps {
namespace {

/// The nests that add a product of two loads to a sum in registers, innermost loops included.
void find_nests(const Stmt& stmt, std::vector<Stmt>& found) {
  if (!stmt.defined()) return;
  if (stmt.as<ir::For>() != nullptr) {
    const ir::Chain chain = chain_of(stmt);
    const auto* store = chain.core.as<ir::Store>();
    if (store != nullptr && store->accumulate && store->buffer->scope == ir::Scope::registers) {
      found.push_back(stmt);
      return;
    }
    return find_nests(chain.core, found);
  }
  // What an instruction does already is none.
  if (stmt.as<ir::TensorOperation>() != nullptr) return;
  each_child(stmt, [&](const Stmt& child) { find_nests(child, found); });
}

class Tensorize {
 public:
  Tensorize(const ir::Program& program, const StepContext& context, std::string name, bool promotes)
      : program_(program),
        context_(context),
        name_(std::move(name)),
        promotes_(promotes),
        said_(program, context) {}

  StepResult operator()() {
    if (std::ranges::none_of(tensor_instructions(),
                             [&](const Instruction* row) { return row->product->name == name_; }))
      return unknown_name();
    std::vector<Stmt> nests;
    find_nests(program_.body, nests);
    if (nests.empty()) {
      if (auto refused = said_.goes_through_rows()) return *std::move(refused);
    }
    if (nests.size() != 1)
      return Reason{1,
                    fmt::format("{} nests add products to sums in registers", nests.size()),
                    "one: the loops of the tile inside the loop over blocks of k, as .reorder(k.outer, "
                    "m.inner, n.inner, k.inner) puts them",
                    {}};
    const bool of_blocks = is_of_blocks(), of_streams = !of_blocks && are_streams(context_.weights);
    const Stmt nest = of_blocks    ? loops_of_block(nests.front())
                      : of_streams ? loops_of_stream(nests.front())
                                   : nests.front();
    const ir::Chain chain = chain_of(nest);
    const auto& store = *chain.core.as<ir::Store>();
    if (auto refused = of_blocks    ? take_block(chain, store)
                       : of_streams ? take_streams(chain, store)
                                    : take_factors(chain, store))
      return *refused;
    if (auto refused = check_instruction()) return *refused;
    if (auto refused = check_promotion()) return *refused;
    if (auto refused = of_blocks ? std::nullopt : of_streams ? check_streams() : check_loops())
      return *refused;
    return rewritten(chain, store, nest);
  }

 private:
  const TensorProduct& product() const { return *instruction_->product; }

  Reason unknown_name() const {
    std::vector<std::string_view> names;
    for (const Instruction* each : tensor_instructions())
      if (has_instruction(context_.target, *each) && !std::ranges::count(names, each->product->name))
        names.push_back(each->product->name);
    return {
        5,
        fmt::format("no instruction is called {}", name_),
        fmt::format("on {}: {}{}", context_.target.name, fmt::join(names, ", "), did_you_mean(name_, names)),
        {}};
  }

  bool is_of_blocks() const {
    return std::ranges::any_of(tensor_instructions(), [&](const Instruction* row) {
      return row->product->name == name_ && row->product->place == TensorOperands::in_blocks;
    });
  }

  std::optional<Reason> take_block(const ir::Chain& chain, const ir::Store& store) {
    auto nest = block_nest_of(chain, store, context_);
    if (std::holds_alternative<Reason>(nest)) return std::get<Reason>(std::move(nest));
    nest_ = std::get<TensorNest>(std::move(nest));
    return std::nullopt;
  }

  std::optional<Reason> take_streams(const ir::Chain& chain, const ir::Store& store) {
    auto nest = stream_nest_of(chain, store, context_);
    if (std::holds_alternative<Reason>(nest)) return std::get<Reason>(std::move(nest));
    StreamNest found = std::get<StreamNest>(std::move(nest));
    nest_ = std::move(found.tile);
    of_stream_ = {std::move(found.steps), std::move(found.groups)};
    return std::nullopt;
  }

  std::optional<Reason> check_streams() const {
    if (context_.target.has(Capability::asynchronous_copies) &&
        product().place == TensorOperands::in_registers && product().k == 16)
      return std::nullopt;
    return Reason{12,
                  fmt::format("{} on {}", name_, context_.target.name),
                  "mma_m16n8k16 on a target from sm_80 on, whose copies go on by themselves",
                  {}};
  }

  std::optional<Reason> take_factors(const ir::Chain& chain, const ir::Store& store) {
    if (!chain.conditions.empty()) return said_.asks_something(chain, store);
    auto nest = tensor_nest_of(chain.loops, store);
    if (!nest) return said_.other_form(chain, store);
    nest_ = std::move(*nest);
    for (const ir::Load* factor : {&nest_.left, &nest_.right}) {
      if (factor->buffer->scope != ir::Scope::shared) return said_.not_shared(*factor, chain);
    }
    return std::nullopt;
  }

  std::optional<Reason> check_instruction() {
    const DType type = nest_.left.buffer->dtype;
    const bool same = type == nest_.right.buffer->dtype && nest_.sum->dtype == DType::f32;
    instruction_ = same ? find_tensor_instruction(name_, type) : nullptr;
    if (instruction_ == nullptr) return no_such_instruction();
    const Target& target = context_.target;
    if (instruction_->lowest_sm == simulated_only && !is_simulated_only(target))
      return Reason{6,
                    fmt::format("{} has no {}", target.name, name_),
                    "a target that the simulator alone has: sm_70_swmma",
                    {}};
    if (!has_instruction(target, *instruction_))
      return Reason{
          6,
          fmt::format("{} has no {}", target.name, name_),
          fmt::format("a target from sm_{}{} on", instruction_->lowest_sm, instruction_->needs ? "a" : ""),
          {}};
    return check_slots();
  }

  /// Sums of their own, which can be added to others in f32, have tiles of two factors.
  std::optional<Reason> check_promotion() const {
    const bool is_exact = product().sum.type != DType::f32;
    const bool has_parts = product().place != TensorOperands::in_blocks && of_stream_.empty();
    if (!promotes_ || (!is_exact && has_parts)) return std::nullopt;
    return Reason{14,
                  is_exact ? fmt::format("{} sums {} exactly", name_, name_of(product().operands()))
                           : fmt::format("{} of weights in {}", name_, context_.weights->format().text()),
                  written("tensorize", {name_}),
                  {}};
  }

  static bool has_instruction(const Target& target, const Instruction& row) {
    if (row.lowest_sm == simulated_only) return is_simulated_only(target);
    return target.is_gpu() && target.sm >= row.lowest_sm && (!row.needs || target.has(*row.needs));
  }

  /// It has a name that there is, and not for these factors.
  Reason no_such_instruction() const {
    return {5,
            fmt::format("{} of {} and {}", name_, name_of(nest_.left.buffer->dtype),
                        name_of(nest_.right.buffer->dtype)),
            accepted_types(),
            {}};
  }

  /// Which instructions the target has for factors of which types, and where it has none for those that are
  /// there, which target has.
  std::string accepted_types() const {
    const DType type = nest_.left.buffer->dtype;
    std::vector<std::string_view> types, names;
    const Instruction* newer = nullptr;
    for (const Instruction* each : tensor_instructions()) {
      const TensorProduct& product = *each->product;
      if (has_instruction(context_.target, *each)) {
        if (product.name == name_) types.push_back(name_of(product.operands()));
        if (product.operands() == DType::f16) names.push_back(product.name);
      } else if (product.operands() == type && each->lowest_sm != simulated_only &&
                 (newer == nullptr || each->lowest_sm < newer->lowest_sm)) {
        newer = each;
      }
    }
    const auto operands_of = [](std::string_view of) {
      return fmt::format(": Tensor<{0}, 2>(…) for both, and converted(weights, DType::{0})", of);
    };
    std::string accepted;
    if (!types.empty()) accepted = fmt::format("{} of {}", name_, fmt::join(types, " or "));
    if (types.empty() && !names.empty()) accepted = fmt::format("{}, of f16", fmt::join(names, ", "));
    if (!accepted.empty()) accepted += operands_of(types.empty() ? "f16" : types.front());
    if (newer != nullptr && type == nest_.right.buffer->dtype)
      accepted +=
          fmt::format("{}a target from sm_{} on, which has {} for {}", accepted.empty() ? "" : "; or ",
                      newer->lowest_sm, newer->product->name, name_of(type));
    return accepted.empty() ? "a GPU target, and factors of f16, bf16, or from sm_89 on e4m3 or e5m2"
                            : accepted;
  }

  /// Sparse tensor cores take two of four, with codes of 16 rows from the first one on; others take all.
  std::optional<Reason> check_slots() const {
    if (nest_.slot.defined() != product().two_of_four())
      return Reason{11,
                    nest_.slot.defined() ? "a row keeps two of four slots" : "a row keeps every place",
                    fmt::format("an instruction {} of four",
                                nest_.slot.defined() ? "that takes two" : "that does not take two"),
                    {}};
    if (!nest_.slot.defined()) return std::nullopt;
    const auto& arguments = nest_.slot.as<ir::Call>()->arguments;
    const auto begins_words = [](const Expr& number, const ir::For& loop) {
      const ir::Linear sum = ir::linear(number - ir::variable(loop.name));
      return sum.constant % rows_of_words == 0 && !ir::uses(sum.expr(), loop.name) &&
             std::ranges::all_of(sum.terms,
                                 [](const auto& term) { return term.coefficient % rows_of_words == 0; });
    };
    const auto* place = arguments.back().as<ir::Variable>();
    if (begins_words(arguments[1], nest_.rows) && place != nullptr && place->name == nest_.depth.name)
      return std::nullopt;
    return Reason{11,
                  ir::print(nest_.slot),
                  fmt::format("tiles of {} rows and of all places of a block", rows_of_words),
                  {}};
  }

  std::optional<Reason> check_loops() {
    const auto fits = [&](const ir::For& loop, std::int64_t size) -> std::optional<Reason> {
      const std::int64_t extent = *ir::integer_value(loop.extent);
      if (extent % size == 0) return std::nullopt;
      return Reason{7, fmt::format("{} has {} iterations", loop.name, extent),
                    fmt::format("a multiple of {}", size), loop.name};
    };
    for (const auto& refused :
         {fits(nest_.rows, product().m), fits(nest_.columns, product().n),
          fits(nest_.depth, product().two_of_four() ? slots_of_words / 2 : product().k)}) {
      if (refused) return refused;
    }
    if (stands_inside(program_.body, nest_.rows.name, nest_.columns.name))
      return Reason{8, fmt::format("{} stands inside {}", nest_.rows.name, nest_.columns.name),
                    fmt::format("reorder({}, {})", nest_.rows.name, nest_.columns.name), nest_.rows.name};
    if (auto refused = check_bytes()) return refused;
    if (product().place == TensorOperands::in_shared) return check_lines();
    return std::nullopt;
  }

  /// No load transposes bytes: along k, 16 lie beside one another.
  std::optional<Reason> check_bytes() const {
    if (!product().only_by_depth()) return std::nullopt;
    const ir::Buffer& tile = *nest_.right.buffer;
    const std::string k = nest_.slot.defined()
                              ? nest_.slot.as<ir::Call>()->arguments.back().as<ir::Variable>()->name
                              : nest_.depth.name;
    if (ir::uses(nest_.right.indices.back(), k)) return std::nullopt;
    return Reason{
        13, fmt::format("{} has its columns beside one another", tile.name),
        "a dense operand [n, k], of which stitch makes lines along k; of one [k, n], transpose first",
        tile.name};
  }

  /// The tensor core reads lines of 32, 64 or 128 bytes that are swizzled.
  std::optional<Reason> check_lines() const {
    for (const ir::Load* factor : {&nest_.left, &nest_.right}) {
      const ir::Buffer& tile = *factor->buffer;
      const std::int64_t* line = ir::integer_value(tile.shape.back());
      const std::int64_t bytes = line == nullptr ? 0 : *line * ir::element_bytes(tile);
      if (tile.swizzle > 0 && bytes == std::int64_t{16} << tile.swizzle) continue;
      return Reason{
          9, fmt::format("{} has lines of {} bytes, swizzle {}", tile.name, bytes, tile.swizzle),
          fmt::format("lines of 32, 64 or 128 bytes with a swizzle of 1, 2 or 3, as stitch makes them of a "
                      "dense operand, and as weights in shfl_bw, vector_wise, n_m or v_n_m have them; of "
                      "other tiles, {}",
                      written("tensorize", {"mma_m16n8k16"})),
          tile.name};
    }
    return std::nullopt;
  }

  ir::Program rewritten(const ir::Chain& chain, const ir::Store& store, const Stmt& nest) const {
    const Fragments fragments{product(), *ir::integer_value(nest_.rows.extent),
                              *ir::integer_value(nest_.columns.extent), nest_.rows.name, nest_.columns.name};
    std::vector<Expr> shape;
    for (const std::size_t i : nest_.kept) shape.push_back(store.buffer->shape[i]);
    const std::vector<Expr> more = fragments.shape();
    shape.insert(shape.end(), more.begin(), more.end());
    const auto sum = ir::make_buffer(store.buffer->name, product().sum.type, ir::Scope::registers,
                                     ir::Access::read_write, std::move(shape));
    const auto place = [&](const std::vector<Expr>& indices, const std::vector<Expr>& fragment) {
      std::vector<Expr> result;
      for (const std::size_t i : nest_.kept) result.push_back(indices[i]);
      result.insert(result.end(), fragment.begin(), fragment.end());
      return result;
    };
    const auto sum_of = [&](const std::vector<Expr>& fragment) { return place(store.indices, fragment); };
    const Stmt operation = in_loops_of_threads(
        chain, promotes_ ? promoted(chain, store, fragments, sum, sum_of)
                         : operation_of(chain, nest_.columns, [&](const Expr& row, const Expr& column) {
                             return ir::store(
                                 sum, sum_of(fragments.place_of(row, column)),
                                 sum->dtype == store.buffer->dtype ? store.value : as_integers(store.value),
                                 true);
                           }));
    const Stmt in_fragments = with_sums(
        replaced(program_.body, nest, operation), store.buffer, sum,
        [&](const std::vector<Expr>& indices) { return place(indices, fragments.place_in_loops()); });
    ir::Rewriter rewriter;
    rewriter.on_stmt = [&](const Stmt& s) -> Stmt {
      if (const auto* allocation = s.as<ir::Allocate>();
          allocation != nullptr && allocation->buffer == store.buffer)
        return ir::allocate(sum, allocation->body);
      // Sums that nobody will read may begin at zero too: fragments are whole.
      if (const auto* condition = s.as<ir::If>(); condition != nullptr && begins(condition->then, sum))
        return condition->then;
      const auto* loop = s.as<ir::For>();
      if (loop == nullptr) return s;
      if (loop->name == fragments.row_loop) return fragments.over_rows(loop->body, context_.step);
      if (loop->name == fragments.column_loop) return fragments.over_columns(loop->body, context_.step);
      return s;
    };
    ir::Program result = program_;
    result.body = rewriter(in_fragments);
    if (!of_stream_.empty()) result.body = with_rows_apart(result.body, nest_.right.buffer);
    if (is_of_blocks()) result.body = with_uniform_numbers(result.body, context_);
    return result;
  }

  /// Sums that begin at zero, and are added to others: of the columns of an instruction at a time where
  /// nothing is loaded again for the next ones.
  template <class SumOf>
  Stmt promoted(const ir::Chain& chain, const ir::Store& store, const Fragments& all,
                const ir::BufferRef& sum, const SumOf& sum_of) const {
    Fragments some = all;
    if (product().place == TensorOperands::in_shared) some.columns = product().n;
    const Expr number = ir::variable(nest_.columns.name + ".promoted");
    const auto part = ir::make_buffer(sum->name + ".part", sum->dtype, ir::Scope::registers,
                                      ir::Access::read_write, some.shape());
    const auto each = [&](const Stmt& stmt) {
      return some.over_rows(some.over_columns(stmt, context_.step), context_.step);
    };
    const std::vector<Expr> own = some.place_in_loops();
    std::vector<Expr> of_all = own;
    of_all[1] = number * (some.columns / product().n) + own[1];
    ir::For columns = nest_.columns;
    columns.begin = number * some.columns;
    columns.extent = some.columns;
    const Stmt operation = operation_of(chain, columns, [&](const Expr& row, const Expr& column) {
      return ir::store(part, some.place_of(row, column), store.value, true);
    });
    const Stmt once = ir::block({each(ir::store(part, own, ir::constant(part->dtype, 0))), operation,
                                 each(ir::store(sum, sum_of(of_all), ir::load(part, own), true))});
    return ir::allocate(
        part, ir::for_range(number, all.columns / some.columns, LoopKind::unrolled, context_.step, once));
  }

  /// The product of two loads, each cast to the type of the sums.
  static Expr as_integers(const Expr& product) {
    return ir::rewrite<ir::Cast>(product, [](const ir::Cast& cast, const Expr&) { return cast.operand; });
  }

  /// Reads of the sums and stores to them go to the fragments; integers begin at 0 and are read as what the
  /// program sums in.
  template <class Moved>
  static Stmt with_sums(const Stmt& body, const ir::BufferRef& from, const ir::BufferRef& to,
                        const Moved& moved) {
    if (from->dtype == to->dtype) return ir::replace_buffer(body, from, to, moved);
    const Stmt read = ir::rewrite<ir::Load>(body, [&](const ir::Load& load, const Expr& e) {
      return load.buffer == from ? ir::cast(from->dtype, ir::load(to, moved(load.indices))) : e;
    });
    return ir::rewrite<ir::Store>(read, [&](const ir::Store& each, const Stmt& s) {
      const auto* number = each.value.as<ir::Constant>();
      if (each.buffer != from) return s;
      internal_check(number != nullptr && number->real == 0, "sums of integers that do not begin at 0");
      return ir::store(to, moved(each.indices), 0, each.accumulate);
    });
  }

  static bool begins(const Stmt& stmt, const ir::BufferRef& sum) {
    const auto* store = stmt.as<ir::Store>();
    return store != nullptr && store->buffer == sum && store->value.as<ir::Constant>() != nullptr;
  }

  static Stmt replaced(const Stmt& body, const Stmt& nest, const Stmt& by) {
    return ir::rewrite<ir::For>(
        body, [&](const ir::For&, const Stmt& s) { return s.identity() == nest.identity() ? by : s; });
  }

  /// Of those columns; `update(row, column)`, which counts from the first of them.
  template <class Update>
  Stmt operation_of(const ir::Chain& chain, const ir::For& columns, const Update& update) const {
    ir::Substitution of_tile;
    std::vector<const ir::For*> loops{&nest_.depth, &columns, &nest_.rows};
    for (const ir::For& loop : of_stream_) loops.push_back(&loop);
    for (const ir::For* loop : loops) of_tile[loop->name] = ir::variable(loop->name + ".of_tile");
    Stmt meaning = ir::if_all(chain.conditions, update(of_tile[nest_.rows.name], of_tile[columns.name]));
    ir::Substitution places = of_tile;
    places[columns.name] = columns.begin + of_tile[columns.name];
    meaning = ir::substitute(meaning, places);
    for (const ir::For* loop : loops)
      meaning = ir::for_range(of_tile[loop->name], loop->extent, LoopKind::serial, context_.step, meaning,
                              loop->role, loop->name);
    return ir::tensor_operation({std::string(instruction_->name), meaning, context_.step});
  }

  static Stmt in_loops_of_threads(const ir::Chain& chain, const Stmt& operation) {
    std::vector<ir::For> around = chain.loops;
    std::erase_if(around, [](const ir::For& loop) { return !ir::is_within_block(loop.kind); });
    return ir::for_loops(around, operation);
  }

  const ir::Program& program_;
  const StepContext& context_;
  std::string name_;
  bool promotes_;
  RefusedNest said_;
  TensorNest nest_;
  std::vector<ir::For> of_stream_;  ///< steps and groups, which weights in streams have
  const Instruction* instruction_ = nullptr;
};

StepResult apply_tensorize(const ir::Program& program, const StepArguments& arguments,
                           const StepContext& context) {
  return Tensorize(program, context, arguments.text("instruction"), arguments.number("promote") > 0)();
}

constexpr Parameter parameters[]{
    {.name = "instruction",
     .kind = ParameterKind::instruction,
     .example = "\"mma_m16n8k16\"",
     .sentence = "its name, as scheduler/hardware/tensor_instructions.h has them",
     .precondition = 5},
    {.name = "promote",
     .kind = ParameterKind::number,
     .example = "1",
     .sentence =
         "1: an iteration of the loop around is summed from zero, and that is added to the sums in f32; "
         "0: the instruction adds to the sums itself, of e4m3 and e5m2 with fewer bits than f32 has",
     .precondition = 14,
     .required = false,
     .named = true,
     .least = 0,
     .most = 1}};
constexpr Precondition preconditions[]{
    {1, "there is one such nest"},
    {2, "it has no conditions"},
    {3, "it is of that form, m, n and k serial with constant sizes"},
    {4, "both factors are in shared memory"},
    {5, "the instruction is known for their types"},
    {6, "the target has it"},
    {7, "the loops are multiples of its sizes"},
    {8, "rows stand outside columns"},
    {9, "(wgmma) tiles are swizzled in whole lines"},
    {10,
     "of an instruction that takes blocks of hb_ell from where they lie, in place of 2 to 4, 7 and 8: the "
     "weights are in hb_ell with blocks of 16, none of them empty, and widths in steps of 4; loops over "
     "rows, columns and places stand in this order and go over a whole block; the dense factor is row-major"},
    {11, "instructions of sparse tensor cores take weights that keep two of four, and no others"},
    {12,
     "of weights in lane_streams or pair_words, in place of 2 to 4, 7 and 8: loops over the groups "
     "of a stream, its steps, the 32 rows, columns and the places of a step, in this order; the dense factor "
     "is [n, k] in "
     "shared memory; mma_m16n8k16 on sm_80 and newer"},
    {13, "elements of a byte lie along k in both factors"},
    {14, "promote is 0 or 1; sums of integers, of blocks of hb_ell and of streams are not promoted"}};

}  // namespace

constinit const StepKind tensorize{.name = "tensorize",
                                   .sentence =
                                       "The nest sum[m, n] += left[m, k] * right[k, n] of a tile in "
                                       "registers is done by an instruction that multiplies matrices.",
                                   .more =
                                       "What is summed and stored there is spread over registers of threads "
                                       "as the instruction asks: where else the tile was walked through, "
                                       "loops over lanes (and over the warps of a warpgroup) take the place "
                                       "of those over its rows and columns. Loops over warps around the "
                                       "nest count warps, or warpgroups where the instruction is one of "
                                       "those.",
                                   .parameters = parameters,
                                   .preconditions = preconditions,
                                   .apply = apply_tensorize};

}  // namespace weft::steps
