// stitch: the rows of the dense operand that a tile of the weights keeps are gathered into a dense tile.
#include <fmt/format.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/copies_ahead.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>
#include <weft/scheduler/steps/staging_request.h>
#include <weft/scheduler/tensor_nest.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

/// The one place of the operand that the body reads, and what stands around it.
struct Reading {
  const ir::Load* load = nullptr;
  std::vector<ir::For> loops;    ///< around it, outermost first
  std::vector<Expr> conditions;  ///< around it
  std::vector<Expr> indices;     ///< of the load, the kept slot a loop of its own
  bool several = false;          ///< different places are read
};

void look_for(const Stmt& stmt, const ir::BufferRef& buffer, std::vector<ir::For>& loops,
              std::vector<Expr>& conditions, Reading& found) {
  if (!stmt.defined()) return;
  if (const auto* s = stmt.as<ir::For>()) {
    loops.push_back(*s);
    look_for(s->body, buffer, loops, conditions, found);
    loops.pop_back();
  } else if (const auto* block = stmt.as<ir::Block>()) {
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
    ir::visit(stmt, {}, [&](const Expr& e) {
      const auto* load = e.as<ir::Load>();
      if (load == nullptr || load->buffer != buffer) return;
      if (found.load != nullptr) {
        found.several = found.several ||
                        !ir::same(ir::load(buffer, load->indices), ir::load(buffer, found.load->indices));
        return;
      }
      found = {load, loops, conditions, {}, false};
    });
  }
}

bool uses_load(const Stmt& stmt, const ir::BufferRef& buffer) {
  bool found = false;
  ir::visit(stmt, {}, [&](const Expr& e) {
    const auto* load = e.as<ir::Load>();
    found = found || (load != nullptr && load->buffer == buffer);
  });
  return found;
}

/// Tiles are stored in lines of 128 bytes where their rows fill such: then eight rows of 16 bytes each, one
/// below the other, lie in different banks once the chunks are swizzled.
struct Lines {
  std::int64_t elements = 1;  ///< of a line
  int swizzle = 0;
};

Lines lines_of(std::int64_t columns, std::int64_t size) {
  for (const int swizzle : {3, 2, 1}) {
    const std::int64_t elements = (std::int64_t{16} << swizzle) / size;
    if (elements > 0 && columns % elements == 0) return {elements, swizzle};
  }
  return {columns, 0};
}

class Stitch {
 public:
  Stitch(const StepContext& context, const StagingRequest& request) : context_(context), request_(request) {}

  std::variant<Stmt, Reason> operator()(const ir::For& loop, const ir::BufferRef& buffer) {
    Reading reading;
    std::vector<ir::For> loops;
    std::vector<Expr> conditions;
    look_for(loop.body, buffer, loops, conditions, reading);
    if (reading.several)
      return Reason{4, fmt::format("{} is read at different places", buffer->name), "one place",
                    buffer->name};
    if (auto refused = take_slots(reading)) return *refused;
    if (auto refused = sort_loops(reading, buffer)) return *refused;
    const Lines lines = lines_of(columns_, static_cast<std::int64_t>(size_of(buffer->dtype)));
    auto tile = std::make_shared<ir::Buffer>(*ir::make_buffer(buffer->name + ".stitched", buffer->dtype,
                                                              ir::Scope::shared, ir::Access::read_write,
                                                              shape_of_tile(lines), buffer->non_negative));
    tile->swizzle = lines.swizzle;
    const Expr slot = (ir::variable(loop.name) - loop.begin) % ir::integer(request_.depth);
    ir::Copy copy{tile, {}, buffer, {}, {}, context_.step, request_.depth > 1, {}, {}};
    ir::Substitution renamed;
    for (const auto* list : {&rows_of_tile_, &columns_of_tile_}) {
      for (const ir::For& each : *list) {
        copy.coordinates.push_back(each.name + ".stitched");
        copy.extents.push_back(each.extent);
        renamed[each.name] = ir::variable(copy.coordinates.back());
      }
    }
    const auto place = [&](const ir::Substitution& names) { return place_in_tile(lines, slot, names); };
    copy.destination_begin = place(renamed);
    for (const Expr& index : reading.indices) copy.source_begin.push_back(ir::substitute(index, renamed));
    const std::vector<Expr> asked = conditions_of_tile(reading);
    for (const Expr& condition : asked) {
      const Expr own = ir::substitute(in_slots(condition), renamed);
      copy.inside = copy.inside.defined() ? copy.inside && own : own;
    }
    const ir::Substitution kept =
        kept_.defined() ? ir::Substitution{{slot_name_, kept_}} : ir::Substitution();
    const Stmt rest = with_tile(loop.body, buffer, asked, ir::load(tile, place(kept)));
    return ir::allocate(tile, ir::block({ir::copy(std::move(copy)), rest}));
  }

 private:
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
    slots.extent = ir::integer(*extent * slots_of_quad / kept_of_quad);
    reading.loops.insert(loop, slots);
    return std::nullopt;
  }

  /// Loops that the place depends on: those over what is summed are rows of the tile, those of the output its
  /// columns.
  std::optional<Reason> sort_loops(const Reading& reading, const ir::BufferRef& buffer) {
    for (const ir::For& each : reading.loops) {
      const bool used = std::any_of(reading.indices.begin(), reading.indices.end(),
                                    [&](const Expr& index) { return ir::uses(index, each.name); });
      if (!used) continue;
      const std::int64_t* extent = ir::integer_value(each.extent);
      const std::int64_t* begin = ir::integer_value(each.begin);
      if (extent == nullptr || begin == nullptr || *begin != 0)
        return Reason{4,
                      fmt::format("{} runs over {} .. {}", each.name, ir::print(each.begin),
                                  ir::print(each.begin + each.extent)),
                      "loops of constant extents that begin at 0", each.name};
      const bool of_output = is_output_loop(each.name, context_.algorithm);
      (of_output ? columns_of_tile_ : rows_of_tile_).push_back(each);
      (of_output ? columns_ : rows_) *= *extent;
    }
    if (rows_of_tile_.empty() || columns_of_tile_.empty())
      return Reason{
          4, fmt::format("an iteration of {} reads one row or one column of {}", request_.at, buffer->name),
          "loops over rows and columns of the tile inside " + request_.at, buffer->name};
    return std::nullopt;
  }

  std::vector<Expr> shape_of_tile(const Lines& lines) const {
    std::vector<Expr> shape{ir::integer(columns_ / lines.elements), ir::integer(rows_),
                            ir::integer(lines.elements)};
    if (request_.depth > 1) shape.insert(shape.begin(), ir::integer(request_.depth));
    return shape;
  }

  static Expr number_of(const std::vector<ir::For>& loops, const ir::Substitution& names) {
    Expr number = ir::integer(0);
    for (const ir::For& loop : loops)
      number = number * loop.extent + ir::substitute(ir::variable(loop.name), names);
    return number;
  }

  std::vector<Expr> place_in_tile(const Lines& lines, const Expr& slot, const ir::Substitution& names) const {
    const Expr column = number_of(columns_of_tile_, names);
    const Expr elements = ir::integer(lines.elements);
    const bool one = columns_ == lines.elements;
    std::vector<Expr> place{one ? ir::integer(0) : column / elements, number_of(rows_of_tile_, names),
                            one ? column : column % elements};
    if (request_.depth > 1) place.insert(place.begin(), slot);
    return place;
  }

  /// Conditions around the reading that can be asked while copying: where they do not hold the tile is zero.
  std::vector<Expr> conditions_of_tile(const Reading& reading) const {
    std::vector<Expr> result;
    for (const Expr& condition : reading.conditions) {
      const Expr own = in_slots(condition);
      const bool possible = std::all_of(reading.loops.begin(), reading.loops.end(), [&](const ir::For& each) {
        const auto is_it = [&](const ir::For& other) { return other.name == each.name; };
        return !ir::uses(own, each.name) || std::any_of(rows_of_tile_.begin(), rows_of_tile_.end(), is_it) ||
               std::any_of(columns_of_tile_.begin(), columns_of_tile_.end(), is_it);
      });
      if (possible) result.push_back(condition);
    }
    return result;
  }

  /// The body reads the tile, and asks what the copy has asked no more: the products are zero there.
  static Stmt with_tile(const Stmt& body, const ir::BufferRef& buffer, const std::vector<Expr>& asked,
                        const Expr& element) {
    ir::Rewriter rewriter;
    rewriter.on_stmt = [&](const Stmt& s) -> Stmt {
      const auto* condition = s.as<ir::If>();
      if (condition == nullptr || condition->otherwise.defined() || !uses_load(condition->then, buffer))
        return s;
      Expr left = ir::boolean(true);
      for (const Expr& part : ir::conjuncts_of(condition->condition)) {
        const bool gone =
            std::any_of(asked.begin(), asked.end(), [&](const Expr& each) { return ir::same(each, part); });
        if (!gone) left = left && part;
      }
      return ir::if_then(left, condition->then);
    };
    ir::Rewriter loads;
    loads.on_expr = [&](const Expr& e) {
      const auto* load = e.as<ir::Load>();
      return load != nullptr && load->buffer == buffer ? element : e;
    };
    return loads(rewriter(body));
  }

  const StepContext& context_;
  const StagingRequest& request_;
  Expr kept_;  ///< the call that says which slot is read; undefined where all are
  std::string slot_name_;
  std::vector<ir::For> rows_of_tile_, columns_of_tile_;
  std::int64_t rows_ = 1, columns_ = 1;
};

ir::BufferRef operand_called(const ir::Program& program, const std::string& name) {
  for (const ir::BufferRef& buffer : program.buffers) {
    if (buffer->name == name && buffer->access == ir::Access::read) return buffer;
  }
  return nullptr;
}

/// stitch(T, shared, at = loop, depth = buffers): at the begin of each iteration of the loop, the rows of T
/// that the iteration reads, which the column numbers of the weights choose, are gathered into a tile in
/// shared memory, one below the other; the reads become reads of the tile. The tile holds zeros where the
/// program reads nothing: in the padding of the weights and beyond the last column. Where a row keeps two of
/// four slots, the tile holds the rows of all slots, and the reads choose. Its lines of 128 bytes
/// (or 64, or 32, where the tile is narrow) are swizzled as tensor cores read them. With a depth beyond 1
/// tiles go to that many buffers in turn, and a GPU starts copies depth - 1 iterations ahead. After Shfl-BW
/// (Huang et al.), section IV, "in-buffer stitching". Preconditions: 1 the loop exists; 2 the scope is
/// shared; 3 the loop's body reads T, an input; 4 at one place, which depends on loops of constant extents
/// over rows and over columns inside; 5 no warp, lane or thread loop stands around; 7, 8, 9 as those of
/// stage.
StepResult apply_stitch(const ir::Program& program, const Step& step, const StepContext& context) {
  const StagingRequest request = staging_request_of(step);
  if (auto missing = require_loop(program, request.at)) return *missing;
  if (request.scope != "shared") return Reason{2, request.scope, "shared", {}};
  if (auto refused = check_depth(program, request.at, request.scope, request.depth, context.target))
    return *refused;
  if (auto refused = require_reached_together(program, request.at, 5)) return *refused;
  const ir::BufferRef buffer = operand_called(program, request.tensor);
  bool read = false;
  for (const ir::For* loop : find_loops(program.body, request.at))
    read = read || (buffer != nullptr && uses_load(loop->body, buffer));
  if (!read)
    return Reason{3, fmt::format("the body of {} reads no input called {}", request.at, request.tensor),
                  "a dense operand that is read there", request.at};
  ir::Program result = program;
  std::optional<Reason> refused;
  result.body = change_loops(result.body, request.at, [&](const ir::For& loop) -> Stmt {
    ir::For changed = loop;
    if (!uses_load(loop.body, buffer) || refused) return ir::for_loop(std::move(changed));
    auto stitched = Stitch(context, request)(loop, buffer);
    if (auto* reason = std::get_if<Reason>(&stitched)) {
      refused = *reason;
    } else {
      changed.body = std::get<Stmt>(stitched);
      refused = needs_its_iteration(changed.body, loop);
    }
    return ir::for_loop(std::move(changed));
  });
  if (refused) return *refused;
  return result;
}

}  // namespace

const StepKind stitch{"stitch", ".stitch(B, shared, at = k.block, depth = 4)", 3, 4, apply_stitch};

}  // namespace weft::steps
