// stage: the part of an operand that a loop's body reads is copied first, to shared memory or to registers.
#include <fmt/format.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/ir/whole_runs.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/parts/copies_ahead.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/scheduler/steps/parts/padded_tile.h>
#include <weft/scheduler/steps/parts/padding.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/read_guards.h>
#include <weft/scheduler/steps/parts/shifted_copy.h>
#include <weft/scheduler/steps/parts/staged_region.h>
#include <weft/scheduler/steps/parts/staging_request.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace weft::steps {
namespace {

std::vector<const ir::Load*> loads_of(const Stmt& body, const ir::BufferRef& buffer) {
  return ir::find_all<ir::Load>(body, [&](const ir::Load& load) { return load.buffer == buffer; });
}

Stmt with_loads(const Stmt& body, const ir::BufferRef& buffer,
                const std::function<Expr(const ir::Load&)>& change) {
  return ir::rewrite<ir::Load>(
      body, [&](const ir::Load& load, const Expr& e) { return load.buffer == buffer ? change(load) : e; });
}

/// Precondition 6: the expression reads no tile that is made inside the body, where it does not exist yet.
std::optional<Reason> reads_later_tile(const Expr& expr, const Stmt& body) {
  const auto later = ir::find_all<ir::Allocate>(
      body, [&](const ir::Allocate& allocation) { return ir::reads(expr, allocation.buffer); });
  if (later.empty()) return std::nullopt;
  const std::string& name = later.front()->buffer->name;
  return Reason{6, fmt::format("the place depends on {}, which is made further inside", name),
                "the outer stage first, or both at one loop", name};
}

/// Precondition 6: no copy inside that gathers reads the buffer at places that only it counts.
std::optional<Reason> gathered_inside(const Stmt& body, const ir::BufferRef& buffer) {
  std::optional<Reason> refused;
  ir::each<ir::Copy>(body, [&](const ir::Copy& copy) {
    const auto counts = [&](const ir::Load& load) {
      return load.buffer == buffer && std::ranges::any_of(copy.coordinates, [&](const std::string& name) {
               return std::ranges::any_of(load.indices,
                                          [&](const Expr& index) { return ir::uses(index, name); });
             });
    };
    std::vector<Expr> asked = copy.source_begin;
    if (copy.inside.defined()) asked.push_back(copy.inside);
    if (refused ||
        std::ranges::none_of(asked, [&](const Expr& expr) { return ir::any<ir::Load>(expr, counts); }))
      return;
    refused =
        Reason{6, fmt::format("{} says what the copy {} holds", buffer->name, copy.destination->name),
               fmt::format("this step before the one that copies {}", copy.source->name), copy.source->name};
  });
  return refused;
}

/// A tile of a tile needs another name than the tile that it is made of.
std::string tile_name(const ir::Program& program, const std::string& wanted) {
  std::set<std::string> taken;
  ir::each<ir::Allocate>(program.body,
                         [&](const ir::Allocate& allocation) { taken.insert(allocation.buffer->name); });
  std::string name = wanted;
  for (int number = 2; taken.count(name) != 0; ++number) name = wanted + std::to_string(number);
  return name;
}

/// Where neighbouring lanes read one element of neighbouring rows (the coordinates of the last dimension come
/// from data, a loop over results steps through another), rows of an odd number of words lie in different
/// banks.
std::vector<Expr> shape_of_tile(const std::vector<Expr>& extents, const ir::Load& load,
                                const ir::InnerLoops& loops) {
  std::vector<Expr> shape = extents;
  const std::int64_t* last = extents.empty() ? nullptr : ir::integer_value(extents.back());
  if (last == nullptr || *last % 2 != 0 || size_of(load.buffer->dtype) != 4) return shape;
  const auto is_of_results = [&](const Expr& index) {
    return std::ranges::any_of(loops, [&](const auto& entry) {
      return ir::uses(index, entry.first) && ir::is_over_output(entry.second.role);
    });
  };
  const bool data = ir::any<ir::Load>(load.indices.back());
  const bool rows = std::any_of(load.indices.begin(), load.indices.end() - 1, is_of_results);
  if (data && rows && !is_of_results(load.indices.back())) shape.back() = *last + 1;
  return shape;
}

/// The part of the buffer that the body reads, or why there is no tile of it.
std::variant<std::vector<Span>, Reason> region_of(const Stmt& body, const ir::BufferRef& buffer,
                                                  const ir::Program& program, const StepContext& context) {
  const ir::InnerLoops loops = inner_loops(body);
  const Coordinates coordinates(context);
  std::vector<Span> region;
  for (const ir::Load* load : loads_of(body, buffer)) {
    for (std::size_t i = 0; i < load->indices.size(); ++i) {
      const Span span = span_of(load->indices[i], buffer->shape[i], loops, coordinates);
      if (!span.begin.defined() || !ir::is_constant(program, span.extent))
        return Reason{4,
                      fmt::format("the reads of {}[…, {}, …] do not fill a tile of constant size",
                                  buffer->name, ir::print(load->indices[i])),
                      "indices that are sums of loops with constant extents, or a dimension of constant size",
                      buffer->name};
      const auto both = region.size() <= i ? span : joined(region[i], span);
      if (!both)
        return Reason{4, fmt::format("{} is read in two different regions", buffer->name),
                      "one region, or several a constant apart", buffer->name};
      if (region.size() <= i) region.push_back(span);
      region[i] = *both;
    }
  }
  for (const Span& span : region) {
    if (auto refused = reads_later_tile(span.begin, body)) return *refused;
  }
  return region;
}

/// The region in whole runs of its last dimension, which threads copy at once, as far as that is known.
void widen_to_runs(std::vector<Span>& region, const ir::BufferRef& buffer) {
  const std::int64_t* begin = ir::integer_value(region.back().begin);
  const std::int64_t* extent = ir::integer_value(region.back().extent);
  const std::int64_t* whole = ir::integer_value(buffer->shape.back());
  if (begin == nullptr || extent == nullptr || whole == nullptr) return;
  const auto bytes = static_cast<std::int64_t>(size_of(buffer->dtype));
  const Stretch widened = in_whole_runs({*begin, *extent}, *whole, bytes);
  region.back() = {widened.begin, widened.extent};
}

/// Whether a tile of this shape is a multiple of what the swizzle repeats after: then it is the image of
/// what is copied.
bool holds_whole_lines(const std::vector<Expr>& shape, DType dtype, int swizzle) {
  Expr bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const Expr& extent : shape) bytes = bytes * extent;
  const std::int64_t* value = ir::integer_value(bytes);
  return swizzle > 0 && value != nullptr && *value % (std::int64_t{128} << swizzle) == 0;
}

/// Several buffers and the number of the one at hand, or neither.
struct Ring {
  std::int64_t depth = 1;
  Expr slot;
};

/// Dimensions of a region with an index that is -1 for padding.
struct Padding {
  std::vector<bool> marks;  ///< the region of the dimension has a plane for it
  bool is_inside = false;   ///< every such dimension has one: no read has to ask
};

/// The region of weights that are known only at launch is the whole dimension, without a plane before it.
Padding padding_of(const std::vector<const ir::Load*>& loads, const ir::InnerLoops& loops,
                   const std::vector<Span>& region) {
  Padding padding{std::vector<bool>(region.size(), false), false};
  bool outside = false;
  for (std::size_t i = 0; i < region.size(); ++i) {
    const bool asked = std::ranges::any_of(
        loads, [&](const ir::Load* load) { return may_be_padding(load->indices[i], loops); });
    const std::int64_t* begin = ir::integer_value(region[i].begin);
    padding.marks[i] = asked && begin != nullptr && *begin == -1;
    outside = outside || (asked && !padding.marks[i]);
  }
  padding.is_inside = !outside && std::ranges::find(padding.marks, true) != padding.marks.end();
  return padding;
}

/// The dimension that a vectorized loop of the body steps through, by one element or two, in all reads of the
/// buffer: on a CPU it lies innermost in the copy. Else the last one.
std::size_t dimension_of_vectors(const Stmt& body, const ir::BufferRef& buffer) {
  const std::size_t last = buffer->shape.size() - 1;
  std::set<std::size_t> found;
  ir::each<ir::For>(body, [&](const ir::For& loop) {
    if (loop.kind != LoopKind::vectorized) return;
    for (const ir::Load* load : loads_of(loop.body, buffer)) {
      for (std::size_t i = 0; i < load->indices.size(); ++i) {
        const std::int64_t step = ir::linear(load->indices[i]).coefficient_of(loop.name);
        if (step == 1 || step == 2) found.insert(i);
      }
    }
  });
  return found.size() == 1 ? *found.begin() : last;
}

/// Puts the dimension innermost; the others keep their order.
void put_innermost(ir::Buffer& tile, std::size_t dimension) {
  tile.strides[dimension] = 1;
  Expr distance = tile.shape[dimension];
  for (std::size_t i = tile.shape.size(); i-- > 0;) {
    if (i == dimension) continue;
    tile.strides[i] = distance;
    distance = distance * tile.shape[i];
  }
}

/// A loop that goes through the vectors of a dimension of a tile.
struct Panels {
  ir::For loop;  ///< body unset
  std::int64_t lanes = 1;
};

/// Where all reads of a matrix inside are at so many elements for each iteration of one loop, and one for
/// each lane of a vectorized one that has as many: then what the vectors of an iteration read lies together
/// in the copy of a CPU, one vector behind the other, and not on as many pages as the matrix has rows.
std::optional<Panels> panels_of(const Stmt& body, const ir::BufferRef& buffer, std::size_t dimension,
                                const Span& span) {
  const ir::InnerLoops loops = inner_loops(body);
  std::optional<Panels> found;
  for (const ir::Load* load : loads_of(body, buffer)) {
    const ir::Linear place = ir::linear(load->indices[dimension] - span.begin);
    Panels panels;
    if (place.constant != 0 || place.terms.size() != 2) return std::nullopt;
    for (const ir::Linear::Term& term : place.terms) {
      const auto* variable = term.atom.as<ir::Variable>();
      const auto loop = variable != nullptr ? loops.find(variable->name) : loops.end();
      if (loop == loops.end() || ir::integer_value(loop->second.extent) == nullptr) return std::nullopt;
      const std::int64_t* first = ir::integer_value(loop->second.begin);
      if (first == nullptr || *first != 0) return std::nullopt;
      if (term.coefficient == 1 && loop->second.kind == LoopKind::vectorized)
        panels.lanes = *ir::integer_value(loop->second.extent);
      else
        panels.loop = loop->second;
    }
    const std::int64_t* count = panels.loop.name.empty() ? nullptr : ir::integer_value(panels.loop.extent);
    const std::int64_t* extent = ir::integer_value(span.extent);
    if (count == nullptr || extent == nullptr || panels.lanes < 2 ||
        place.coefficient_of(panels.loop.name) != panels.lanes || *count * panels.lanes != *extent ||
        (found && found->loop.name != panels.loop.name))
      return std::nullopt;
    found = panels;
  }
  return found;
}

/// The copy, but the first plane of dimensions that mark padding is zero, whatever the operand holds there.
Stmt copies_of(ir::Copy copy, const std::vector<bool>& marks) {
  std::vector<Stmt> copies;
  const std::size_t more = copy.destination_begin.size() - copy.source_begin.size();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i]) continue;
    ir::Copy zeros = copy;
    zeros.source_begin[i] = -1;
    zeros.extents[i] = 1;
    copies.push_back(ir::copy(std::move(zeros)));
    copy.source_begin[i] = copy.source_begin[i] + 1;
    copy.destination_begin[i + more] = copy.destination_begin[i + more] + 1;
    copy.extents[i] = copy.extents[i] - 1;
  }
  copies.push_back(ir::copy(std::move(copy)));
  return ir::block(std::move(copies));
}

std::variant<Stmt, Reason> stage_shared(const Stmt& body, const ir::BufferRef& buffer,
                                        const ir::Program& program, const StepContext& context,
                                        const Ring& ring) {
  auto found = region_of(body, buffer, program, context);
  if (auto* refused = std::get_if<Reason>(&found)) return *refused;
  auto& region = std::get<std::vector<Span>>(found);
  // A ring takes one copy an iteration; there the conditions stay.
  const Padding padding =
      ring.depth > 1 ? Padding() : padding_of(loads_of(body, buffer), inner_loops(body), region);
  if (context.target.is_gpu() && !padding.marks.empty() && !padding.marks.back())
    widen_to_runs(region, buffer);
  ir::Copy copy{nullptr, {}, buffer, {}, {}, context.step, ring.depth > 1, {}};
  if (ring.depth > 1) copy.destination_begin.push_back(ring.slot);
  for (const Span& span : region) {
    copy.source_begin.push_back(span.begin);
    copy.destination_begin.emplace_back(0);
    copy.extents.push_back(span.extent);
  }
  std::vector<Expr> shape = shape_of_tile(copy.extents, *loads_of(body, buffer).front(), inner_loops(body));
  const bool is_image = holds_whole_lines(shape, buffer->dtype, buffer->swizzle);
  if (ring.depth > 1) shape.insert(shape.begin(), ring.depth);
  const std::string name = tile_name(program, buffer->name + ".shared");
  const std::size_t vectors = dimension_of_vectors(body, buffer);
  const auto panels = context.target.is_gpu() || ring.depth > 1 || buffer->shape.size() != 2 ||
                              std::ranges::find(padding.marks, true) != padding.marks.end()
                          ? std::nullopt
                          : panels_of(body, buffer, vectors, region[vectors]);
  if (panels) {
    // Row by row, so that a page of the operand is read at once.
    const std::size_t rows = 1 - vectors;
    copy.coordinates = {name + ".row", name + ".panel", name + ".lane"};
    const Expr row = ir::variable(copy.coordinates[0]), panel = ir::variable(copy.coordinates[1]),
               lane = ir::variable(copy.coordinates[2]);
    copy.extents = {copy.extents[rows], panels->loop.extent, panels->lanes};
    copy.destination_begin = {panel, row, row};
    copy.destination_begin[1 + vectors] = lane;
    copy.source_begin[rows] = copy.source_begin[rows] + row;
    copy.source_begin[vectors] = copy.source_begin[vectors] + panel * panels->lanes + lane;
    shape[vectors] = panels->lanes;
    shape.insert(shape.begin(), panels->loop.extent);
  }
  const auto tile = ir::make_tile(name, *buffer, ir::Scope::shared, shape);
  if (is_image) tile->swizzle = buffer->swizzle;
  if (!context.target.is_gpu() && vectors + 1 < buffer->shape.size())
    put_innermost(*tile, vectors + shape.size() - buffer->shape.size());
  copy.destination = tile;
  const Stmt rest = with_loads(body, buffer, [&](const ir::Load& load) {
    std::vector<Expr> indices;
    if (ring.depth > 1) indices.push_back(ring.slot);
    if (panels) indices.push_back(ir::variable(panels->loop.name));
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
      const std::int64_t* extent = ir::integer_value(region[i].extent);
      const bool alone = extent != nullptr && *extent == 1;
      Expr index = load.indices[i] - region[i].begin;
      if (panels && i == vectors) index = index - ir::variable(panels->loop.name) * panels->lanes;
      indices.push_back(alone ? 0 : ir::linear(index).expr());
    }
    return ir::load(tile, indices);
  });
  return ir::allocate(tile, ir::block({copies_of(std::move(copy), padding.marks),
                                       padding.is_inside ? without_padding_conditions(rest, tile) : rest}));
}

std::variant<Stmt, Reason> stage_registers(const Stmt& body, const ir::BufferRef& buffer,
                                           const ir::Program& program, int step) {
  const ir::InnerLoops loops = inner_loops(body);
  const auto loads = loads_of(body, buffer);
  const ir::Load& first = *loads.front();
  const Expr value = ir::load(buffer, first.indices);
  for (const ir::Load* load : loads) {
    if (!ir::same(value, ir::load(buffer, load->indices)))
      return Reason{4, fmt::format("{} is read at two different places", buffer->name), "one place",
                    buffer->name};
  }
  std::vector<std::string> used;
  std::vector<Expr> shape;
  std::vector<Expr> indices;
  // Which threads an iteration gets, all loops of an axis around the reads decide together.
  std::set<LoopKind> axes;
  std::set<std::string> around;
  ir::each<ir::For>(body, [&](const ir::For& loop) {
    if (!ir::is_within_block(loop.kind)) return;
    if (ir::uses(value, loop.name)) axes.insert(loop.kind);
    if (loads_of(loop.body, buffer).size() == loads.size()) around.insert(loop.name);
  });
  for (const std::string& name : loop_names(body)) {
    const bool decides = around.contains(name) && axes.contains(loops.at(name).kind);
    if (!ir::uses(value, name) && !decides) continue;
    if (!ir::is_constant(program, loops.at(name).extent))
      return Reason{4, fmt::format("{} runs over {} iterations", name, ir::print(loops.at(name).extent)),
                    "loops of constant extents", name};
    if (ir::uses_any(loops.at(name).begin, loops))
      return Reason{4, fmt::format("{} begins at {}", name, ir::print(loops.at(name).begin)),
                    "a place further inside, where that is known", name};
    used.push_back(name);
    shape.push_back(loops.at(name).extent);
    indices.push_back(ir::variable(name) - loops.at(name).begin);
  }
  const auto tile =
      ir::make_tile(tile_name(program, buffer->name + ".registers"), *buffer, ir::Scope::registers, shape);
  if (auto refused = reads_later_tile(value, body)) return *refused;
  std::vector<Stmt> fills;
  for (const std::vector<Expr>& guards : guards_of_reads(body, buffer, loops, used)) {
    fills.push_back(ir::store(tile, indices, value));
    // The inner conditions may read where the outer ones hold alone.
    for (const Expr& guard : std::views::reverse(guards)) {
      if (auto refused = reads_later_tile(guard, body)) return *refused;
    }
    fills.back() = ir::if_all(guards, fills.back());
  }
  Stmt fill = ir::block(std::move(fills));
  for (const std::string& name : std::views::reverse(used)) {
    ir::For loop = loops.at(name);
    loop.step = step;
    fill = ir::for_loop(std::move(loop), fill);
  }
  const Stmt rest = with_loads(body, buffer, [&](const ir::Load&) { return ir::load(tile, indices); });
  return ir::allocate(tile, ir::block({fill, rest}));
}

/// Staging goes behind what is staged already: conditions and indices may have become reads of that.
/// `in_conditions`: behind conditions too; copies that run ahead of them stay in front.
template <class Stage>
std::variant<Stmt, Reason> behind_staged(const Stmt& body, const ir::BufferRef& buffer, bool in_conditions,
                                         const Stage& stage) {
  if (const auto* s = body.as<ir::If>();
      in_conditions && s != nullptr && !s->otherwise.defined() && !reads(s->condition, buffer)) {
    auto then = behind_staged(s->then, buffer, in_conditions, stage);
    if (std::holds_alternative<Reason>(then)) return then;
    return ir::if_then(s->condition, std::get<Stmt>(then));
  }
  const auto* allocation = body.as<ir::Allocate>();
  const auto* block = allocation == nullptr ? nullptr : allocation->body.as<ir::Sequence>();
  if (block == nullptr) return stage(body);
  std::vector<Stmt> statements = block->statements;
  for (std::size_t i = 0; i + 1 < statements.size(); ++i) {
    if (!loads_of(statements[i], buffer).empty()) return stage(body);
  }
  auto last = behind_staged(statements.back(), buffer, in_conditions, stage);
  if (std::holds_alternative<Reason>(last)) return last;
  statements.back() = std::get<Stmt>(last);
  return ir::allocate(allocation->buffer, ir::block(std::move(statements)));
}

bool indexed_inside(const Stmt& body, const ir::BufferRef& buffer) {
  const ir::InnerLoops loops = inner_loops(body);
  return std::ranges::any_of(loads_of(body, buffer), [&](const ir::Load* load) {
    return std::ranges::any_of(load->indices, [&](const Expr& index) { return ir::uses_any(index, loops); });
  });
}

/// The buffers of a tensor that the loops read: itself, or the arrays of the sparse operand whose place
/// changes inside (so not the offsets of a row).
std::vector<ir::BufferRef> buffers_read(const ir::Program& program, const std::vector<const ir::For*>& loops,
                                        const std::string& tensor) {
  const auto reads_it = [&](const ir::BufferRef& buffer) {
    return std::ranges::any_of(loops, [&](const ir::For* loop) {
      const bool array =
          buffer->name != tensor && buffer->tensor == tensor && indexed_inside(loop->body, buffer);
      return array || (buffer->name == tensor && ir::reads(loop->body, buffer));
    });
  };
  std::vector<ir::BufferRef> buffers;
  for (const ir::BufferRef& buffer : program.buffers) {
    if (buffer->access == ir::Access::read && reads_it(buffer)) buffers.push_back(buffer);
  }
  return buffers;
}

std::optional<Reason> check_place(const ir::Program& program, const StagingRequest& request) {
  if (auto missing = require_place(program, request)) return missing;
  if (request.scope != "registers") return require_reached_together(program, request.at, 5);
  return std::nullopt;
}

StepResult stage_at(const ir::Program& program, const StepArguments& arguments, const StepContext& context) {
  const StagingRequest request = staging_request_of(arguments);
  if (auto refused = check_place(program, request)) return *refused;
  const bool shifted = request.scope == "shifted";
  if (shifted && context.target.is_gpu())
    return Reason{2, "shifted copies for " + context.target.name, "a CPU; on a GPU: shared", request.tensor};
  if (auto refused = check_depth(program, request.at, request.scope, request.depth, context.target))
    return *refused;
  const auto buffers = buffers_read(program, find_loops(program.body, request.at), request.tensor);
  if (buffers.empty()) return reads_no_such_input(program, request, context);
  StepResult result = program;
  for (const ir::BufferRef& buffer : buffers) {
    result = with_copies(std::get<ir::Program>(result), request.at, buffer, [&](const ir::For& loop) {
      const Ring ring{request.depth, (ir::variable(loop.name) - loop.begin) % request.depth};
      using Staged = std::variant<Stmt, Reason>;
      return behind_staged(loop.body, buffer, request.depth == 1, [&](const Stmt& body) -> Staged {
        if (auto refused = gathered_inside(body, buffer)) return *refused;
        if (shifted)
          return with_shifted_copy(body, buffer, program, context,
                                   tile_name(program, buffer->name + ".shifted"));
        return request.scope == "shared" ? stage_shared(body, buffer, program, context, ring)
                                         : stage_registers(body, buffer, program, context.step);
      });
    });
    if (std::holds_alternative<Reason>(result)) break;
    if (!context.target.is_gpu())
      result = without_conditions_of_padding(std::get<ir::Program>(std::move(result)), buffer->name, context);
  }
  return result;
}

constexpr std::array<std::string_view, 3> scopes{"shared", "registers", "shifted"};
constexpr auto parameters = copy_parameters("\"B\"", scopes, "k.outer");
constexpr Precondition preconditions[]{loop_exists,
                                       {2, "the scope is shared, registers or, on a CPU, shifted"},
                                       {3, "the loop's body reads the tensor, which is an input"},
                                       {4, "the region has a constant size"},
                                       copy_reached_together,
                                       {6, "the place depends on no tile made further inside"},
                                       depth_possible,
                                       one_depth,
                                       place_known_ahead};

}  // namespace

constinit const StepKind stage{
    .name = "stage",
    .sentence =
        "What an iteration of a loop reads of a tensor is copied first; the reads become reads of the copy.",
    .more =
        "Where an index comes from data (a column number), all places that it can take are copied, with "
        "zeros for those outside of the tensor: the lines of a block of an image and those around them that "
        "a filter reaches; the whole dimension where nothing is known. On a GPU a tile that reaches over "
        "the ends of the last dimension holds whole runs of it, of 8 bytes. Reads a constant apart become "
        "one region. On a CPU the dimension that a vectorized loop steps through lies innermost in the copy, "
        "and where another loop goes through whole vectors of a matrix, what each of its iterations reads "
        "lies "
        "together; nobody asks where an image ends once the copy is zero outside of it and all weights are "
        "finite. A shifted copy has what each column of a filter reads of a line apart, vectors of pixels "
        "one "
        "behind the other and all aligned, whatever the stride is. "
        "With a depth beyond 1 the copies go to that many buffers in turn, and a GPU starts them depth - 1 "
        "iterations ahead.",
    .parameters = parameters,
    .preconditions = preconditions,
    .apply = proposing_places<stage_at>};

}  // namespace weft::steps
