#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/block_products.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/stream_products.h>

#include <memory>
#include <set>

namespace weft::passes {
namespace {

/// The instruction that multiplies all places of a block as the given one multiplies two of four: as many
/// values of the left factor, and the same sums.
std::string of_all_places(const std::string& name, DType factors) {
  const TensorProduct& of_pairs = tensor_product(name);
  for (const Instruction* row : tensor_instructions()) {
    const TensorProduct& each = *row->product;
    if (each.place == of_pairs.place && each.m == of_pairs.m && each.n == of_pairs.n &&
        each.k == of_pairs.kept() && each.operands() == factors && !each.two_of_four())
      return std::string(row->name);
  }
  throw InternalError("no instruction multiplies all places as " + name + " does two of four");
}

/// Which places of a block an operation multiplies.
enum class Places : std::uint8_t { two_of_four, all };

class Operation {
 public:
  explicit Operation(const ir::TensorOperation& operation, Places places = Places::two_of_four)
      : step_(operation.step),
        pending_(operation.pending),
        nest_(nest_of(operation, places)),
        leading_(leading_of(operation)),
        instruction_(places == Places::two_of_four
                         ? operation.instruction
                         : of_all_places(operation.instruction, nest_.left.buffer->dtype)),
        fragments_{tensor_product(instruction_), *ir::integer_value(nest_.rows.extent),
                   *ir::integer_value(nest_.columns.extent), nest_.rows.tile, nest_.columns.tile},
        at_(fragments_.loops()),
        depth_(*ir::integer_value(nest_.depth.extent)),
        slots_(nest_.slot.defined() ? nest_.depth.name + ".slot" : nest_.depth.name) {
    if (!nest_.slot.defined()) return;
    for (Expr& index : nest_.right.indices) index = weft::with_slot(index, ir::variable(slots_));
    codes_ = ir::make_buffer(nest_.left.buffer->name + ".codes", DType::i32, ir::Scope::registers,
                             ir::Access::read_write, {words(), row_tiles()});
    keeps_first_ = keeps_first_of(*nest_.slot.as<ir::Call>());
    if (keeps_first_.defined()) all_places_ = std::make_shared<const Operation>(operation, Places::all);
  }

  Stmt operator()() const {
    const std::int64_t* known = all_places_ == nullptr ? nullptr : ir::integer_value(keeps_first_);
    if (known != nullptr && *known != 0) return (*all_places_)();
    return fragments_.over_threads(
        instruction().place == TensorOperands::in_registers ? from_registers() : from_shared(), step_);
  }

 private:
  static TensorNest nest_of(const ir::TensorOperation& operation, Places places) {
    const ir::Chain chain = ir::chain_of(operation.meaning);
    const auto* store = chain.core.as<ir::Store>();
    internal_check(store != nullptr && chain.conditions.empty(),
                   "the meaning of " + operation.instruction + " is no nest around a store");
    auto nest = tensor_nest_of(chain.loops, *store);
    internal_check(nest.has_value(),
                   "the meaning of " + operation.instruction + " is no product of matrices");
    if (places == Places::all) {
      for (Expr& index : nest->right.indices)
        index = weft::with_slot(index, nest->slot.as<ir::Call>()->arguments.back());
      nest->slot = {};
    }
    return std::move(*nest);
  }

  /// The indices of the sum in front of those that its fragments have.
  static std::vector<Expr> leading_of(const ir::TensorOperation& operation) {
    std::vector<Expr> indices;
    ir::each<ir::Store>(operation.meaning, [&](const ir::Store& store) { indices = store.indices; });
    indices.resize(indices.size() - Fragments::dimensions);
    return indices;
  }

  const TensorProduct& instruction() const { return fragments_.product; }
  std::int64_t row_tiles() const { return fragments_.rows / instruction().m; }
  std::int64_t column_tiles() const { return fragments_.columns / instruction().n; }

  Expr left_at(const Expr& row, const Expr& depth) const {
    return at(nest_.left, {{nest_.rows.name, row}, {nest_.depth.name, depth}});
  }
  Expr right_at(const Expr& slot, const Expr& column) const {
    return at(nest_.right, {{nest_.columns.name, column}, {slots_, slot}});
  }
  static Expr at(const ir::Load& load, const ir::Substitution& place) {
    return ir::substitute(ir::load(load.buffer, load.indices), place);
  }

  ir::RegisterRange accumulators() const {
    std::vector<Expr> place = leading_;
    const std::vector<Expr> own = fragments_.begin_of(at_.row_tile, at_.column_tile);
    place.insert(place.end(), own.begin(), own.end());
    return {nest_.sum, std::move(place), instruction().sum.registers()};
  }

  Stmt loop(const Expr& variable, std::int64_t extent, const Stmt& body) const {
    return ir::for_range(variable, extent, LoopKind::unrolled, step_, body);
  }
  /// For every tile of rows and of columns.
  Stmt all_tiles(ir::Execute one) const {
    return loop(at_.row_tile, row_tiles(),
                loop(at_.column_tile, column_tiles(), ir::execute(std::move(one))));
  }

  // ---- codes ----

  /// Places of the left factor that one instruction takes, instructions whose codes stand in a register, and
  /// registers.
  std::int64_t kept() const { return instruction().kept(); }
  std::int64_t of_word() const {
    return instruction().two_of_four() ? instruction().codes->size().column / kept() : 1;
  }
  std::int64_t words() const { return depth_ / kept() / of_word(); }

  /// Each lane loads its words for every tile of 16 rows. A word has the codes of two rows, eight apart
  /// (formats/kept_slots.h); lanes whose lowest digit tells these apart have those of one row, of two words.
  Stmt load_codes() const {
    if (codes_ == nullptr) return {};
    constexpr std::int64_t places_of_word = 8;
    LayoutDigits digits = instruction().codes->lane;
    const bool has_both_rows = digits[0].rows == 0;
    digits[0].rows = 0;
    const auto [row_of_lane, place] = place_in<Expr>(digits, fragments_.lane());
    Expr row = at_.row_tile * instruction().m + row_of_lane;
    if (instruction().warps() > 1) row = row + at_.warp * rows_of_words;
    const auto word = [&](std::int64_t behind) {
      const Expr begin =
          step_of_word_ * (kept() * of_word()) + (place / places_of_word + behind) * places_of_word;
      return ir::substitute(nest_.slot.as<ir::Call>()->arguments.front(),
                            {{nest_.rows.name, row}, {nest_.depth.name, begin}});
    };
    const std::vector<Expr> own{step_of_word_, at_.row_tile};
    const auto all = [&](const Stmt& load) {
      return loop(step_of_word_, words(), loop(at_.row_tile, row_tiles(), load));
    };
    if (has_both_rows) return all(ir::store(codes_, own, word(0)));
    const auto two =
        ir::make_buffer(codes_->name + ".two", DType::i32, ir::Scope::registers, ir::Access::read_write, {2});
    return ir::allocate(two, all(ir::block({ir::store(two, {0}, word(0)), ir::store(two, {1}, word(1)),
                                            ir::execute({std::string(join_halves),
                                                         {{codes_, own, 1}},
                                                         {{two, {0}, 1}, {two, {1}, 1}},
                                                         {fragments_.lane() % digits[0].extent}})})));
  }

  /// Those of a row tile for an instruction: its place among the registers, and its half as an argument.
  void add_codes(ir::Execute& multiply, const Expr& step, std::int64_t selector) const {
    if (codes_ == nullptr) return;
    multiply.inputs.push_back({codes_, {step, at_.row_tile}, 1});
    multiply.arguments.push_back(selector);
  }

  /// All steps along the depth, `one(step, word, selector)` after the other. Those of a word are written out:
  /// the selector is no variable.
  template <class One>
  Stmt all_steps(const One& one) const {
    std::vector<Stmt> steps;
    for (std::int64_t i = 0; i < of_word(); ++i)
      steps.push_back(one(step_of_word_ * of_word() + i, step_of_word_, i));
    return loop(step_of_word_, words(), ir::block(std::move(steps)));
  }

  // ---- operands in registers ----

  Stmt from_registers() const {
    const auto left = ir::make_buffer(nest_.left.buffer->name + ".fragment", DType::i32, ir::Scope::registers,
                                      ir::Access::read_write, {row_tiles(), instruction().left.registers()});
    const auto right =
        ir::make_buffer(nest_.right.buffer->name + ".fragment", DType::i32, ir::Scope::registers,
                        ir::Access::read_write, {column_tiles(), instruction().right.registers()});
    const Stmt steps = all_steps([&](const Expr& step, const Expr& word, std::int64_t selector) {
      return ir::block({load_left(left, step * kept()), load_right(right, step * instruction().k),
                        multiply(left, right, word, selector)});
    });
    const Stmt all = ir::allocate(left, ir::allocate(right, steps));
    if (codes_ == nullptr) return all;
    return by_places(ir::allocate(codes_, ir::block({load_codes(), all})),
                     [](const Operation& others) { return others.from_registers(); });
  }

  /// What `of_all` makes of the operation on all places, where the block keeps these.
  template <class OfAll>
  Stmt by_places(const Stmt& of_pairs, const OfAll& of_all) const {
    if (all_places_ == nullptr || ir::integer_value(keeps_first_) != nullptr) return of_pairs;
    return ir::if_then(keeps_first_, of_all(*all_places_), of_pairs);
  }

  /// What the number of a lane stands for that points to lines of 16 bytes of 8 x 8 matrices: a line, the
  /// matrix that goes to each register of a tile, and the tile.
  TilePlace<Expr> line_of_lane(LayoutDigit line, const Layout& layout, LayoutDigit tile = {}) const {
    const std::array digits{line, layout.element[1], layout.element[2], tile};
    return place_in<Expr>(digits, fragments_.lane());
  }

  Stmt load_left(const ir::BufferRef& left, const Expr& begin) const {
    const int registers = instruction().left.registers();
    const auto [row, column] = line_of_lane(over_rows(8, 1), instruction().left.layout);
    return loop(at_.row_tile, row_tiles(),
                ir::execute({fmt::format("ldmatrix_x{}", registers),
                             {{left, {at_.row_tile, 0}, registers}},
                             {},
                             {left_at(at_.row_tile * instruction().m + row, begin + column)}}));
  }

  Stmt multiply(const ir::BufferRef& left, const ir::BufferRef& right, const Expr& word,
                std::int64_t selector) const {
    ir::Execute one{instruction_,
                    {accumulators()},
                    {{left, {at_.row_tile, 0}, instruction().left.registers()},
                     {right, {at_.column_tile, 0}, instruction().right.registers()}},
                    {}};
    add_codes(one, word, selector);
    return all_tiles(std::move(one));
  }

  /// Whether neighbours of the right factor differ in k: X [n, k].
  bool right_by_depth() const {
    return bytes_between(nest_.right, slots_, 1) == ir::element_bytes(*nest_.right.buffer);
  }

  /// Two neighbouring tiles of columns at a time, or one where that takes all lanes.
  Stmt load_right(const ir::BufferRef& right, const Expr& begin) const {
    constexpr int most_registers = 4;
    const int of_tile = instruction().right.registers(), n = instruction().n;
    const bool by_depth = right_by_depth();
    const std::int64_t at_once = of_tile == most_registers ? 1 : 2;
    const std::int64_t pairs = column_tiles() / at_once;
    const Expr pair = ir::variable(fragments_.column_loop + ".tiles");
    const auto loads = [&](const Expr& first, int tiles) {
      const auto [depth, column] = line_of_lane(by_depth ? over_columns(8, 1) : over_rows(8, 1),
                                                instruction().right.layout, over_columns(tiles, n));
      return ir::execute({fmt::format("ldmatrix_x{}{}", of_tile * tiles, by_depth ? "" : "_trans"),
                          {{right, {first, 0}, of_tile * tiles}},
                          {},
                          {right_at(begin + depth, first * n + column)}});
    };
    return ir::block(
        {pairs == 0 ? Stmt() : loop(pair, pairs, loads(pair * at_once, static_cast<int>(at_once))),
         column_tiles() % at_once == 0 ? Stmt() : loads(column_tiles() - 1, 1)});
  }

  // ---- operands in shared memory ----

  /// The distance in bytes that one step in rows, columns or depth makes, where it makes the same everywhere.
  static std::int64_t bytes_between(const ir::Load& load, const std::string& loop, std::int64_t steps) {
    const auto offset = [&](std::int64_t place) {
      ir::Rewriter rewriter;
      rewriter.on_expr = [&](const Expr& e) -> Expr {
        if (e.as<ir::Load>() != nullptr) return 0;
        const auto* v = e.as<ir::Variable>();
        return v == nullptr ? e : v->name == loop ? place : 0;
      };
      Expr sum = 0;
      for (std::size_t i = 0; i < load.indices.size(); ++i)
        sum = sum + rewriter(load.indices[i]) * load.buffer->strides[i];
      const Expr simple = ir::simplify(sum, {});
      const std::int64_t* value = ir::integer_value(simple);
      internal_check(value != nullptr, "the place of " + load.buffer->name + " is no constant");
      return *value;
    };
    return (offset(steps) - offset(0)) * ir::element_bytes(*load.buffer);
  }

  /// What a descriptor says besides the address: PTX ISA, "Matrix descriptor format".
  struct Descriptor {
    std::int64_t low = 0, high = 0;
  };
  static Descriptor descriptor(std::int64_t leading_bytes, std::int64_t stride_bytes, int swizzle) {
    const std::int64_t layout = swizzle == 3 ? 1 : swizzle == 2 ? 2 : 3;
    std::int64_t high = stride_bytes / 16 | layout << 30;
    if (high > INT32_MAX) high -= std::int64_t{1} << 32;
    return {(leading_bytes / 16) << 16, high};
  }

  Descriptor right_descriptor() const {
    const int swizzle = nest_.right.buffer->swizzle;
    if (right_by_depth()) return descriptor(16, bytes_between(nest_.right, nest_.columns.name, 8), swizzle);
    const std::int64_t line = *ir::integer_value(nest_.right.buffer->shape.back());
    const std::int64_t panel =
        fragments_.columns > line ? bytes_between(nest_.right, nest_.columns.name, line) : 16;
    return descriptor(panel, bytes_between(nest_.right, slots_, 8), swizzle);
  }

  /// All products of the operation, begun.
  Stmt begun_products() const {
    const TensorProduct& row = instruction();
    const ir::Buffer& left = *nest_.left.buffer;
    const Descriptor of_left = descriptor(16, bytes_between(nest_.left, nest_.rows.name, 8), left.swizzle);
    const Descriptor of_right = right_descriptor();
    return all_steps([&](const Expr& step, const Expr& word, std::int64_t selector) {
      ir::Execute one{instruction_,
                      {accumulators()},
                      {},
                      {left_at(at_.row_tile * row.m, step * kept()), of_left.low, of_left.high,
                       right_at(step * row.k, at_.column_tile * row.n), of_right.low, of_right.high}};
      if (!row.only_by_depth()) one.arguments.push_back(right_by_depth() ? 0 : 1);
      add_codes(one, word, selector);
      return all_tiles(std::move(one));
    });
  }

  Stmt from_shared() const {
    const TensorProduct& row = instruction();
    const Stmt all =
        by_places(begun_products(), [](const Operation& others) { return others.begun_products(); });
    const Stmt held = all_tiles(
        {row.sum.type == DType::f32 ? "hold_accumulators" : "hold_integers", {accumulators()}, {}, {}});
    Stmt finished = ir::block({ir::execute("wgmma_wait", {0}), held});
    if (pending_ < 0) return finished;
    const Stmt waited = pending_ == 0 ? finished : ir::execute("wgmma_wait", {pending_});
    // Where nothing is under way, first values are in their registers before the fence: a compiler that knows
    // the first iteration would put them there behind it.
    const Stmt begun = pending_ == 0 ? held : Stmt();
    // What was copied came by another way than the tensor core reads it.
    const Stmt multiplied = ir::block({load_codes(), begun, ir::execute("fence_async"),
                                       ir::execute("wgmma_fence"), all, ir::execute("wgmma_commit"), waited});
    return codes_ == nullptr ? multiplied : ir::allocate(codes_, multiplied);
  }

  int step_;
  int pending_;
  TensorNest nest_;
  std::vector<Expr> leading_;
  std::string instruction_;
  Fragments fragments_;
  FragmentLoops at_;
  Expr step_of_word_ = ir::variable(fragments_.row_loop + ".step");
  std::int64_t depth_;
  std::string slots_;    ///< what the right factor's rows are counted by
  ir::BufferRef codes_;  ///< null where the left factor has every place
  Expr keeps_first_;     ///< whether the block keeps all of its first places; undefined where none does …
  std::shared_ptr<const Operation> all_places_;  ///< … else what multiplies those
};

std::set<std::string> arrays_read(const Stmt& stmt) {
  std::set<std::string> names;
  ir::each_access(stmt,
                  [&](const ir::BufferRef& buffer, const std::vector<Expr>&) { names.insert(buffer->name); });
  ir::each<ir::Copy>(stmt, [&](const ir::Copy& copy) { names.insert(copy.source->name); });
  return names;
}

}  // namespace

ir::Program lower_tensor_operations(ir::Program program, bool has_bulk_copies) {
  const std::set<std::string> meant = arrays_read(program.body);
  program.body = lower_stream_products(program.body,
                                       {ceil_divide(threads_of(program), lanes_of_words), has_bulk_copies});
  program.body = ir::rewrite<ir::TensorOperation>(program.body, [](const ir::TensorOperation& operation) {
    return tensor_product(operation.instruction).place == TensorOperands::in_blocks
               ? lower_block_product(operation)
               : Operation(operation)();
  });
  // What told the meaning of an operation alone is no argument of the kernel.
  const std::set<std::string> left = arrays_read(program.body);
  std::erase_if(program.buffers, [&](const ir::BufferRef& buffer) {
    return meant.contains(buffer->name) && !left.contains(buffer->name);
  });
  return program;
}

}  // namespace weft::passes
