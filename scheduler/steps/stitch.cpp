// stitch: the rows of the dense operand that a tile of the weights keeps are gathered into a dense tile.
#include <fmt/format.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/coordinates.h>
#include <weft/scheduler/steps/parts/copies_ahead.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/staging_request.h>
#include <weft/scheduler/steps/parts/stitched_tile.h>

#include <algorithm>
#include <functional>
#include <ranges>

namespace weft::steps {
namespace {

constexpr std::string_view formats_in_blocks = "formats shfl_bw, vector_wise, n_m, v_n_m, bcsr, blocked_ell";

/// The one place of the operand that the body reads, and what stands around it.
struct Reading {
  const ir::Load* load = nullptr;
  std::vector<ir::For> loops;                       ///< around it, outermost first
  std::vector<Expr> conditions;                     ///< around it
  std::vector<Expr> indices;                        ///< indices of the load, the kept slot a loop of its own
  bool several = false;                             ///< different places are read
  std::vector<std::vector<Expr>> other_conditions;  ///< around further reads of the place
};

/// Whether the loops that choose the place run as they do around the reading that was found: parts of a loop
/// have one name.
bool have_ranges_of(const std::vector<ir::For>& loops, const Reading& found) {
  return std::ranges::all_of(loops, [&](const ir::For& loop) {
    return std::ranges::all_of(found.loops, [&](const ir::For& other) {
      return other.name != loop.name ||
             (ir::same(other.begin, loop.begin) && ir::same(other.extent, loop.extent));
    });
  });
}

void look_for(const Stmt& stmt, const ir::BufferRef& buffer, std::vector<ir::For>& loops,
              std::vector<Expr>& conditions, Reading& found) {
  if (!stmt.defined()) return;
  if (const auto* s = stmt.as<ir::For>()) {
    loops.push_back(*s);
    look_for(s->body, buffer, loops, conditions, found);
    loops.pop_back();
  } else if (const auto* block = stmt.as<ir::Sequence>()) {
    for (const Stmt& child : block->statements) look_for(child, buffer, loops, conditions, found);
  } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
    look_for(allocation->body, buffer, loops, conditions, found);
  } else if (const auto* condition = stmt.as<ir::If>()) {
    const std::vector<Expr> parts = ir::conjuncts_of(condition->condition);
    conditions.insert(conditions.end(), parts.begin(), parts.end());
    look_for(condition->then, buffer, loops, conditions, found);
    conditions.resize(conditions.size() - parts.size());
    look_for(condition->otherwise, buffer, loops, conditions, found);
  } else {
    ir::each<ir::Load>(stmt, [&](const ir::Load& load) {
      if (load.buffer != buffer) return;
      if (found.load != nullptr) {
        found.several =
            found.several || !ir::same(load.indices, found.load->indices) || !have_ranges_of(loops, found);
        found.other_conditions.push_back(conditions);
        return;
      }
      found = {&load, loops, conditions, {}, false, {}};
    });
  }
}

/// Whether the statement only adds products to sums, and what is read of the buffer is a factor of each.
bool adds_products_of(const Stmt& stmt, const ir::BufferRef& buffer) {
  if (const auto* loop = stmt.as<ir::For>()) return adds_products_of(loop->body, buffer);
  if (const auto* block = stmt.as<ir::Sequence>())
    return std::ranges::all_of(block->statements,
                               [&](const Stmt& child) { return adds_products_of(child, buffer); });
  if (const auto* condition = stmt.as<ir::If>())
    return !condition->otherwise.defined() && adds_products_of(condition->then, buffer);
  const std::function<bool(const Expr&)> is_factor = [&](const Expr& e) {
    if (const auto* cast = e.as<ir::Cast>()) return is_factor(cast->operand);
    if (const auto* load = e.as<ir::Load>()) return load->buffer == buffer;
    const auto* product = ir::as_binary(e, ir::BinaryOperator::multiply);
    return product != nullptr && (is_factor(product->left) || is_factor(product->right));
  };
  const auto* store = stmt.as<ir::Store>();
  return store != nullptr && store->accumulate && is_factor(store->value);
}

/// Whether bounds of loops or conditions read the buffer: a tile that iterations fill cannot say how many
/// there are.
bool decides_what_runs(const Stmt& stmt, const ir::BufferRef& buffer) {
  return ir::any<ir::For>(stmt,
                          [&](const ir::For& loop) {
                            return ir::reads(loop.begin, buffer) || ir::reads(loop.extent, buffer);
                          }) ||
         ir::any<ir::If>(stmt, [&](const ir::If& branch) { return ir::reads(branch.condition, buffer); });
}

class Stitch {
 public:
  Stitch(const ir::Program& program, const StepContext& context, const StagingRequest& request)
      : program_(program.body),
        whole_(program),
        context_(context),
        request_(request),
        coordinates_(context),
        ranges_(ir::loop_ranges(program.body)) {}

  std::variant<Stmt, Reason> operator()(const ir::For& loop, const ir::BufferRef& buffer) {
    if (decides_what_runs(loop.body, buffer))
      return Reason{4, fmt::format("{} says which iterations run", buffer->name),
                    "a tensor that is computed with, as B of sum(k, A[m, k] * B[k, n])", buffer->name};
    Reading reading;
    std::vector<ir::For> loops;
    std::vector<Expr> conditions;
    look_for(loop.body, buffer, loops, conditions, reading);
    if (reading.several)
      return Reason{4, fmt::format("{} is read at different places", buffer->name), "one place",
                    buffer->name};
    if (auto refused = require_places_from_outside(loop.body, reading)) return *refused;
    if (auto refused = take_slots(reading)) return *refused;
    if (auto refused = sort_loops(reading, buffer)) return *refused;
    tile_.lay_out(reading.indices, static_cast<std::int64_t>(size_of(buffer->dtype)));
    const auto tile =
        ir::make_tile(buffer->name + ".stitched", *buffer, ir::Scope::shared, tile_.shape(request_.depth));
    tile->swizzle = ir::holds_whole_lines(*tile, tile_.swizzle()) ? tile_.swizzle() : 0;
    const Expr slot = (ir::variable(loop.name) - loop.begin) % request_.depth;
    ir::Copy copy{tile, {}, buffer, {}, {}, context_.step, request_.depth > 1, {}, {}};
    const ir::Substitution renamed = tile_.add_coordinates(copy);
    const auto place = [&](const ir::Substitution& names) {
      return tile_.place(names, slot, request_.depth);
    };
    copy.destination_begin = place(renamed);
    for (const Expr& index : reading.indices) copy.source_begin.push_back(ir::substitute(index, renamed));
    const std::vector<Expr> asked = conditions_of_tile(reading, reading.conditions);
    made_inside_ = require_conditions_from_outside(loop.body, asked, buffer);
    // Copies that run ahead ask for more first (precondition 9).
    if (made_inside_ && request_.depth == 1) return *made_inside_;
    if (auto refused = require_same_conditions(reading, asked, buffer)) return *refused;
    for (const Expr& condition : asked) {
      const Expr own =
          ir::substitute(ir::asked_of_copy(whole_, reading.indices, buffer, in_slots(condition)), renamed);
      copy.inside = copy.inside.defined() ? copy.inside && own : own;
    }
    if (const Expr own = slots_that_are_read(); own.defined()) {
      const Expr there = ir::substitute(own, renamed);
      copy.inside = copy.inside.defined() ? copy.inside && there : there;
    }
    const ir::Substitution kept =
        kept_.defined() ? ir::Substitution{{slot_name_, kept_}} : ir::Substitution();
    const Stmt rest = with_tile(loop.body, buffer, asked, ir::load(tile, place(kept)));
    return ir::allocate(tile, ir::block({ir::copy(std::move(copy)), rest}));
  }

  /// Why the tile cannot be gathered even so, of copies that run ahead.
  const std::optional<Reason>& made_inside() const { return made_inside_; }

 private:
  /// What says where the tensor is read, is known where the tile is gathered: no copy inside makes it.
  static std::optional<Reason> require_conditions_from_outside(const Stmt& body,
                                                               const std::vector<Expr>& conditions,
                                                               const ir::BufferRef& buffer) {
    std::optional<Reason> refused;
    ir::each<ir::Allocate>(body, [&](const ir::Allocate& allocation) {
      const ir::BufferRef& made = allocation.buffer;
      const auto reads_it = [&](const Expr& condition) { return ir::reads(condition, made); };
      if (refused || std::ranges::none_of(conditions, reads_it)) return;
      refused = Reason{4, fmt::format("what says where {} is read, reads {}", buffer->name, made->name),
                       "stitch before the step that makes that copy", made->name};
    });
    return refused;
  }

  /// What chooses the rows stands where the tile is gathered: it is not made by loops inside.
  static std::optional<Reason> require_places_from_outside(const Stmt& body, const Reading& reading) {
    std::optional<Reason> refused;
    ir::each<ir::For>(body, [&](const ir::For& inner) {
      ir::each<ir::Allocate>(inner.body, [&](const ir::Allocate& allocation) {
        const ir::BufferRef& made = allocation.buffer;
        const auto reads_it = [&](const Expr& index) { return ir::reads(index, made); };
        if (refused || !std::ranges::any_of(reading.load->indices, reads_it)) return;
        refused =
            Reason{4,
                   fmt::format("{} is read at places of {}, which {} makes inside",
                               reading.load->buffer->name, made->name, inner.name),
                   fmt::format("at = {}, or stitch before that copy", loop_text(inner.name)), made->name};
      });
    });
    return refused;
  }

  Expr in_slots(const Expr& expr) const {
    return kept_.defined() ? with_slot(expr, ir::variable(slot_name_)) : expr;
  }

  /// Where a row of the weights keeps two of four slots, the tile has all four.
  std::optional<Reason> take_slots(Reading& reading) {
    reading.indices = reading.load->indices;
    kept_ = kept_slot_of(*reading.load);
    if (!kept_.defined()) return std::nullopt;
    const auto* place = kept_.as<ir::Call>()->arguments.back().as<ir::Variable>();
    const auto loop = std::ranges::find_if(
        reading.loops, [&](const ir::For& each) { return place != nullptr && each.name == place->name; });
    const std::int64_t* extent = loop == reading.loops.end() ? nullptr : ir::integer_value(loop->extent);
    if (extent == nullptr)
      return Reason{4, fmt::format("the kept place is {}", ir::print(kept_.as<ir::Call>()->arguments.back())),
                    "one loop over the places of a block, inside " + request_.at, request_.tensor};
    slot_name_ = loop->name + ".slot";
    for (Expr& index : reading.indices) index = in_slots(index);
    ir::For slots = *loop;
    slots.name = slot_name_;
    slots_ = *extent * slots_of_quad / kept_of_quad;
    slots.extent = slots_;
    reading.loops.insert(loop, slots);
    return std::nullopt;
  }

  /// Where blocks may keep their first slots, which slots of the tile a block has.
  Expr slots_that_are_read() const {
    const auto* call = kept_.defined() ? kept_.as<ir::Call>() : nullptr;
    if (call == nullptr || call->instruction != kept_slot_behind) return {};
    return ir::variable(slot_name_) < ir::call(std::string(slots_of_block), DType::i64,
                                               {call->arguments[2], call->arguments[3], slots_});
  }

  /// Loops that the place depends on: those over what is summed are rows of the tile, those of the output its
  /// columns.
  std::optional<Reason> sort_loops(const Reading& reading, const ir::BufferRef& buffer) {
    for (const ir::For& each : reading.loops) {
      if (std::ranges::none_of(reading.indices,
                               [&](const Expr& index) { return ir::uses(index, each.name); }))
        continue;
      const auto known = ir::constant_iterations(each);
      if (!known || known->begin != 0)
        return Reason{4,
                      fmt::format("{} runs over {} .. {}", each.name, ir::print(each.begin),
                                  ir::print(each.begin + each.extent)),
                      fmt::format("loops of constant extents that begin at 0, as weights in blocks of as "
                                  "many columns each have ({}); of others, stage what an iteration reads: ",
                                  formats_in_blocks) +
                          Step{"stage", {{{}, buffer->name}, {{}, "shared"}, {"at", request_.at}}, {}}.cpp(),
                      each.name};
      if (ir::is_over_output(each.role))
        tile_.add_column(each, known->extent);
      else
        tile_.add_row(each, known->extent);
    }
    if (!tile_.is_whole())
      return Reason{
          4, fmt::format("an iteration of {} reads one row or one column of {}", request_.at, buffer->name),
          "loops over rows and columns of the tile inside " + request_.at, buffer->name};
    return std::nullopt;
  }

  /// Those of the conditions that can be asked while copying: where they do not hold the tile is zero.
  std::vector<Expr> conditions_of_tile(const Reading& reading, const std::vector<Expr>& conditions) const {
    std::vector<Expr> result;
    for (const Expr& condition : conditions) {
      const Expr own = in_slots(condition);
      if (std::ranges::all_of(reading.loops, [&](const ir::For& each) {
            return tile_.has(each.name) || !ir::uses(own, each.name);
          }))
        result.push_back(condition);
    }
    return result;
  }

  /// Where the tile is zero for one reader it is zero for all.
  std::optional<Reason> require_same_conditions(const Reading& reading, const std::vector<Expr>& asked,
                                                const ir::BufferRef& buffer) const {
    const auto has_all = [](const std::vector<Expr>& some, const std::vector<Expr>& all) {
      return std::ranges::all_of(all, [&](const Expr& one) { return ir::contains(some, one); });
    };
    for (const std::vector<Expr>& conditions : reading.other_conditions) {
      const std::vector<Expr> others = conditions_of_tile(reading, conditions);
      if (has_all(asked, others) && has_all(others, asked)) continue;
      return Reason{
          4,
          fmt::format("{} is read where {} and where {}", buffer->name, written_together(asked),
                      written_together(others)),
          "reads under the same conditions, as before the loops were cut; or stage, whose tile asks "
          "none: " +
              Step{"stage", {{{}, buffer->name}, {{}, "shared"}, {"at", request_.at}}, {}}.cpp(),
          buffer->name};
    }
    return std::nullopt;
  }

  static std::string written_together(const std::vector<Expr>& conditions) {
    if (conditions.empty()) return "nothing is asked";
    std::string text;
    for (const Expr& condition : conditions) text += (text.empty() ? "" : " and ") + ir::print(condition);
    return text;
  }

  /// Whether a copy in registers has what was there before where the condition, asked before its writes, does
  /// not hold.
  bool is_written_where(const Expr& condition, const ir::BufferRef& copy) const {
    return ir::any<ir::If>(program_, [&](const ir::If& branch) {
      return ir::contains(ir::conjuncts_of(branch.condition), condition) &&
             ir::any<ir::Store>(branch.then, [&](const ir::Store& store) {
               return store.buffer == copy && !store.accumulate;
             });
    });
  }

  /// Whether the condition may keep an access inside of its buffer.
  bool keeps_inside(const Expr& condition, const ir::Buffer& buffer, const std::vector<Expr>& indices) const {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      // Which slot a row keeps is one thing, whatever it is computed from.
      if (!ir::share_an_atom(in_slots(indices[i]), in_slots(condition))) continue;
      ir::Ranges ranges = ranges_;
      const Expr index = coordinates_.named(indices[i], ranges);
      if (!ir::always(0 <= index && index < buffer.shape[i], ranges)) return true;
    }
    return false;
  }

  /// Whether it may keep what is read of other buffers, or the sums that are added to, inside of them.
  bool keeps_others_inside(const Expr& condition, const Stmt& then, const ir::BufferRef& buffer) const {
    const bool of_sums = ir::any<ir::Store>(
        then, [&](const ir::Store& store) { return keeps_inside(condition, *store.buffer, store.indices); });
    return of_sums || ir::any<ir::Load>(then, [&](const ir::Load& load) {
             return load.buffer != buffer && (is_written_where(condition, load.buffer) ||
                                              keeps_inside(condition, *load.buffer, load.indices));
           });
  }

  /// The body reads the tile, and asks no more what the copy has asked for it alone: where that does not
  /// hold, the products are zero.
  Stmt with_tile(const Stmt& body, const ir::BufferRef& buffer, const std::vector<Expr>& asked,
                 const Expr& element) const {
    const Stmt unasked = ir::rewrite<ir::If>(body, [&](const ir::If& branch, const Stmt& s) {
      if (branch.otherwise.defined() || !adds_products_of(branch.then, buffer)) return s;
      // What comes later may read where the parts in front hold alone.
      Stmt rest = branch.then;
      Expr left;
      const std::vector<Expr> parts = ir::conjuncts_of(branch.condition);
      for (const Expr& part : std::views::reverse(parts)) {
        if (ir::contains(asked, part) && !keeps_others_inside(part, rest, buffer)) continue;
        rest = ir::if_then(part, rest);
        left = left.defined() ? part && left : part;
      }
      return left.defined() ? ir::if_then(left, branch.then) : branch.then;
    });
    return ir::rewrite<ir::Load>(
        unasked, [&](const ir::Load& load, const Expr& e) { return load.buffer == buffer ? element : e; });
  }

  const Stmt& program_;
  const ir::Program& whole_;
  const StepContext& context_;
  const StagingRequest& request_;
  Coordinates coordinates_;
  ir::Ranges ranges_;
  Expr kept_;  ///< the call that says which slot is read; undefined where all are
  std::string slot_name_;
  std::int64_t slots_ = 0;  ///< those of a block
  std::optional<Reason> made_inside_;
  StitchedTile tile_;
};

ir::BufferRef operand_called(const ir::Program& program, const std::string& name) {
  for (const ir::BufferRef& buffer : program.buffers) {
    if (buffer->name == name && buffer->access == ir::Access::read) return buffer;
  }
  return nullptr;
}

StepResult stitch_at(const ir::Program& program, const StepArguments& arguments, const StepContext& context) {
  const StagingRequest request = staging_request_of(arguments);
  if (auto missing = require_place(program, request)) {
    const bool blocks = context.weights == nullptr ||
                        std::ranges::any_of(context.weights->levels(),
                                            [](const Level& level) { return !level.loop.empty(); });
    if (!blocks)
      missing->accepted += fmt::format("; weights in {} have no loop over blocks, those in blocks have ({})",
                                       context.weights->format().text(), formats_in_blocks);
    return *missing;
  }
  if (auto refused = check_depth(program, request.at, request.scope, request.depth, context.target))
    return *refused;
  if (auto refused = require_reached_together(program, request.at, 5)) return *refused;
  const ir::BufferRef buffer = operand_called(program, request.tensor);
  const bool read = std::ranges::any_of(find_loops(program.body, request.at), [&](const ir::For* loop) {
    return buffer != nullptr && ir::reads(loop->body, buffer);
  });
  if (!read) return reads_no_such_input(program, request, context);
  std::optional<Reason> made_inside;
  StepResult result = with_copies(program, request.at, buffer, [&](const ir::For& loop) {
    Stitch stitch(program, context, request);
    auto made = stitch(loop, buffer);
    if (!made_inside) made_inside = stitch.made_inside();
    return made;
  });
  return made_inside && std::holds_alternative<ir::Program>(result) ? StepResult(*made_inside) : result;
}

constexpr auto parameters = copy_parameters("\"B\"", shared_alone, "\"k.block\"");
constexpr Precondition preconditions[]{
    loop_exists,
    {2, "the scope is shared"},
    {3, "the loop's body reads the tensor, which is an input"},
    {4, "at one place, which depends on loops of constant sizes over rows and over columns inside"},
    copy_reached_together,
    depth_possible,
    one_depth,
    place_known_ahead};

}  // namespace

constinit const StepKind stitch{
    .name = "stitch",
    .sentence =
        "The rows of a tensor that an iteration reads, which the column numbers of the weights choose, are "
        "gathered into a dense tile in shared memory.",
    .more =
        "They lie one below the other, and the reads become reads of the tile. It holds zeros where the "
        "program reads nothing: in the padding of the weights and beyond the last column. Where a row keeps "
        "two of four slots, it holds the rows of all slots, and the reads choose. Its lines of 128 bytes "
        "(or 64, or 32, where the tile is narrow) are swizzled as tensor cores read them; they go along its "
        "rows where these are neighbours in memory, as in X [n, k], or chosen from such, and of bytes that "
        "are "
        "chosen one by one. With a depth "
        "beyond 1 tiles go to that many buffers in turn, and a GPU starts copies depth - 1 iterations "
        "ahead. After Shfl-BW (Huang et al.), section IV, \"in-buffer stitching\".",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = proposing_places<stitch_at>};

}  // namespace weft::steps
