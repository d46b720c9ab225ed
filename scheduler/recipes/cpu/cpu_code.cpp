#include <fmt/format.h>
#include <weft/scheduler/program/baked_limits.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

using bounds::filled_up;

const RecipeNeeds cpu_code_needs{"cpu_code", "csr", "formats::csr()"};

constexpr std::int64_t most_panels =
    8;  ///< that a block's code goes through: beyond that the copy is what costs
constexpr std::int64_t most_panels_in_place = 16;

constexpr std::int64_t most_idle = 4;  ///< one lane in so many has a pixel, at least

/// Rows or panels in parts that are alike, of at most so many; as many parts as threads can share evenly.
/// Those of a size that a launch decides have as many as may be.
std::int64_t evenly(std::int64_t count, std::int64_t most, std::int64_t threads = 1) {
  if (count < 1) return std::max<std::int64_t>(1, most);
  const std::int64_t parts = ceil_divide(count, std::max<std::int64_t>(1, most));
  return ceil_divide(count, std::min(count, filled_up(parts, threads)));
}

/// The largest part of at most so many that leaves no rest.
std::int64_t whole_part(std::int64_t count, std::int64_t most) {
  std::int64_t part = std::min(count, most);
  while (part > 1 && count % part != 0) --part;
  return std::max<std::int64_t>(1, part);
}

/// Rows of the dense operand that the weights may keep.
std::int64_t summed(const Algorithm& algorithm) {
  std::int64_t count = 1;
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) count *= std::max<std::int64_t>(1, extent_of(algorithm, index.name).value);
  }
  return count;
}

std::int64_t bytes_of_dense(const Algorithm& algorithm) {
  return static_cast<std::int64_t>(size_of(algorithm.operands[dense_operand(algorithm)].dtype));
}

/// A product of two matrices.
bool is_matrix(const CpuNest& nest) {
  return nest.fused.empty() && nest.others.empty() && !has_lines(nest);
}

/// The steps of a point.
class CodeSteps {
 public:
  CodeSteps(Schedule schedule, const CpuNest& nest, const CpuCode& knobs)
      : schedule_(std::move(schedule)), nest_(nest), knobs_(knobs), lanes_(knobs.lanes) {}

  Schedule operator()() && {
    require_sum(schedule_);
    const SplitLoops rows = schedule_.split(LoopName(nest_.rows), knobs_.rows);
    if (knobs_.vectors == CpuVectors::images) return std::move(*this).of_images(rows);
    cut_columns();
    std::vector<LoopName> order(nest_.others.begin(), nest_.others.end());
    order.insert(order.end(), {copied_, rows.outer});
    order.insert(order.end(), panels_.begin(), panels_.end());
    order.insert(order.end(), {rows.inner, LoopName(nest_.sum), vector_});
    schedule_.reorder(order).vectorize(vector_);
    if (knobs_.copy != CpuCopy::none)
      schedule_.stage(nest_.dense, is_matrix(nest_) ? shared : shifted, at = copied_);
    // The last step of all: what follows would have a statement for each entry to look at.
    schedule_.parallel(knobs_.threads == CpuThreads::rows ? rows.outer : shared_panels());
    schedule_.bake_values(rows.inner);
    return std::move(schedule_);
  }

 private:
  /// All lines of as many images as a vector has elements are copied, each line is read in turn.
  Schedule of_images(const SplitLoops& rows) && {
    const SplitLoops images = schedule_.split(LoopName(nest_.vectors), lanes_);
    const SplitLoops pixels = schedule_.split(LoopName(nest_.lines), knobs_.lines);
    std::vector<LoopName> order{images.outer};
    order.insert(order.end(), nest_.others.begin(), nest_.others.end());
    order.insert(order.end(),
                 {pixels.outer, rows.outer, pixels.inner, rows.inner, LoopName(nest_.sum), images.inner});
    schedule_.reorder(order).vectorize(images.inner).stage(nest_.dense, shifted, at = images.outer);
    schedule_.parallel(knobs_.threads == CpuThreads::rows || nest_.others.empty()
                           ? rows.outer
                           : LoopName(nest_.others.front()));
    schedule_.bake_values(rows.inner);
    return std::move(schedule_);
  }

  /// Into what is copied at a time, its panels, and their vectors.
  void cut_columns() {
    if (has_lines(nest_)) {
      const SplitLoops lines = schedule_.split(LoopName(nest_.lines), knobs_.lines);
      const SplitLoops pixels = schedule_.split(LoopName(nest_.vectors), lanes_);
      copied_ = lines.outer;
      panels_ = {lines.inner, pixels.outer};
      vector_ = pixels.inner;
      return;
    }
    const SplitLoops columns = schedule_.split(loop_of_vectors(schedule_, nest_), knobs_.columns);
    copied_ = columns.outer;
    vector_ = columns.inner;
    if (knobs_.columns <= lanes_) return;
    const SplitLoops panels = schedule_.split(columns.inner, lanes_);
    panels_ = {panels.outer};
    vector_ = panels.inner;
  }

  /// The loop over what is copied at a time, or over images where those are more.
  LoopName shared_panels() const {
    if (nest_.others.empty()) return copied_;
    const std::int64_t all = has_lines(nest_) ? nest_.height : nest_.width;
    const std::int64_t copies = ceil_divide(all, has_lines(nest_) ? knobs_.lines : knobs_.columns);
    const Extent images = extent_of(schedule_.algorithm(), nest_.others.front());
    return images.is_static() && images.value > copies ? LoopName(nest_.others.front()) : copied_;
  }

  Schedule schedule_;
  const CpuNest& nest_;
  CpuCode knobs_;
  std::int64_t lanes_;
  LoopName copied_, vector_;
  std::vector<LoopName> panels_;
};

/// Bytes of the copies of so many lines of an image, one for each column of the filter.
std::int64_t bytes_of_lines(const Algorithm& algorithm, const CpuNest& nest, std::int64_t lines,
                            std::int64_t lanes) {
  const auto dense = std::ranges::find(algorithm.factors, dense_operand(algorithm), &TensorAccess::operand);
  std::int64_t bytes = bytes_of_dense(algorithm);
  for (const AffineIndex& place : dense->indices) {
    std::int64_t span = 1, shifts = 1;
    bool of_vectors = false;
    for (const auto& [name, coefficient] : place.terms) {
      of_vectors |= name == nest.vectors;
      const std::int64_t count = name == nest.lines                ? lines
                                 : algorithm.index(name).reduction ? extent_of(algorithm, name).value
                                                                   : 1;
      if (algorithm.index(name).reduction) shifts *= count;
      span += std::abs(coefficient) * std::max<std::int64_t>(count - 1, 0);
    }
    bytes *= of_vectors ? shifts * filled_up(nest.width, lanes) : span;
  }
  return bytes;
}

/// Copies of more bytes are slower to read.
std::int64_t held_of_lines(const Target& target) {
  constexpr std::int64_t most_held = 1 << 20;
  return std::min(target.second_cache_bytes / 4 * 3, most_held);
}

/// Nanoseconds of an image that depend on how many lines are copied at a time: the copies, which hold the
/// lines around them too; the code, once for each copy, from behind the second cache where both are more than
/// it holds; and longer reads of copies that are large. Fitted to 22 convolutions on an Intel Xeon
/// (docs/measurements/cpu.md).
double cost_of_lines(const Algorithm& algorithm, const CpuNest& nest, const CpuCode& code,
                     std::int64_t entries, const Target& target) {
  constexpr double copied_a_nanosecond = 60, near_code_a_nanosecond = 100, code_a_nanosecond = 80,
                   read_a_nanosecond = 200;
  constexpr double bytes_of_entry = 12, begins_behind = 0.4, all_behind = 0.6, doubled_by = 1 << 20;
  constexpr double bytes_of_vector = 64;
  const auto copied = static_cast<double>(bytes_of_lines(algorithm, nest, code.lines, code.lanes));
  const auto second_cache = static_cast<double>(target.second_cache_bytes);
  const auto columns = static_cast<double>(summed(algorithm));
  const auto rows = static_cast<double>(extent_of(algorithm, nest.rows).value);
  const auto groups = static_cast<double>(ceil_divide(nest.height, code.lines));
  const auto vectors = static_cast<double>(nest.height * ceil_divide(nest.width, code.lanes));
  const double all_code = static_cast<double>(entries) * bytes_of_entry;
  const double empty = 1 - static_cast<double>(entries) / (rows * columns);
  const double read = std::ceil(rows / static_cast<double>(code.rows)) * columns *
                      (1 - std::pow(empty, static_cast<double>(code.rows)));
  const double behind = std::clamp(
      ((all_code + copied) / second_cache - begins_behind) / (all_behind - begins_behind), 0.0, 1.0);
  const double slower =
      std::clamp((copied - static_cast<double>(held_of_lines(target))) / doubled_by, 0.0, 1.0);
  const double code_of_group = all_code * (1 / near_code_a_nanosecond + behind / code_a_nanosecond);
  return groups * (copied / copied_a_nanosecond + code_of_group) +
         vectors * read * bytes_of_vector * slower / read_a_nanosecond;
}

/// Lines that are copied at a time, in parts that so many threads can share; one of an image whose height a
/// launch decides.
std::int64_t chosen_lines(const Algorithm& algorithm, const CpuNest& nest, const CpuCode& code,
                          std::int64_t entries, const Target& target, std::int64_t threads) {
  CpuCode each = code;
  if (code.vectors == CpuVectors::images) {
    std::int64_t most = nest.height;
    while (most > 1 && bytes_of_lines(algorithm, nest, most, code.lanes) > held_of_lines(target)) --most;
    return evenly(nest.height, most, threads);
  }
  std::int64_t best = 0;
  double least = 0;
  for (std::int64_t most = nest.height; most > 0; most = std::min(most, each.lines) - 1) {
    each.lines = evenly(nest.height, most, threads);
    const double cost = cost_of_lines(algorithm, nest, each, entries, target);
    if (best > 0 && cost >= least) continue;
    best = each.lines;
    least = cost;
  }
  return std::max<std::int64_t>(1, best);
}

/// Half of a register where all that there is fits into it.
std::int64_t chosen_lanes(const CpuNest& nest, const Target& target) {
  const std::int64_t all = registers_of(target).lanes();
  const bool has_halves = registers_of(target).with_lanes(all / 2).halves;
  return has_halves && nest.width > 0 && nest.width <= all / 2 ? all / 2 : all;
}

/// Threads that share columns all read the code, those that share rows all read the copies, which one of them
/// made: the less of the two. Beside one another a constant and its instruction are `bytes_of_entry`.
bool is_code_less(const Algorithm& algorithm, const CpuNest& nest, std::int64_t entries,
                  const Target& target) {
  constexpr std::int64_t bytes_of_entry = 12;
  const std::int64_t lanes = registers_of(target).lanes();
  const std::int64_t copied =
      has_lines(nest) ? bytes_of_lines(algorithm, nest, nest.height, lanes)
                      : summed(algorithm) * filled_up(nest.width, lanes) * bytes_of_dense(algorithm);
  return entries * bytes_of_entry <= copied;
}

/// Whole vectors of a product that few blocks of rows read.
bool stays_in_place(const Algorithm& algorithm, const CpuNest& nest, const CpuCode& knobs,
                    const Target& target) {
  constexpr std::int64_t few_blocks = 4;
  const std::int64_t columns = std::max(knobs.lanes, knobs.columns);
  return is_matrix(nest) && is_read_in_place(algorithm, nest, target) && nest.width % columns == 0 &&
         ceil_divide(extent_of(algorithm, nest.rows).value, knobs.rows) <= few_blocks;
}

/// Whether copies hold each element of the dense operand once: then they turn it by squares. Lines that a
/// filter's columns read anew are transposed first.
bool is_read_once(const Algorithm& algorithm) {
  const auto dense = std::ranges::find(algorithm.factors, dense_operand(algorithm), &TensorAccess::operand);
  return std::ranges::all_of(dense->indices, [&](const AffineIndex& place) {
    return place.terms.size() < 2 || std::ranges::none_of(
                                         place.terms,
                                         [&](const auto& term) {
                                           return algorithm.index(term.first).reduction &&
                                                  extent_of(algorithm, term.first) != Extent(1);
                                         });
  });
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuCode& knobs) {
  require_format(cpu_code_needs, algorithm, weights.get(),
                 [](const Format& format) { return format.name == "csr"; });
  const std::string given = require_in_range(cpu_code_needs.name, cpu_code_knobs(), knobs);
  const Algorithm seen = in_kernel_order(algorithm);
  const std::string reason =
      why_no_cpu_code(seen, weights->format(), weights->array("values").size(), target);
  if (!reason.empty())
    refuse_recipe(
        cpu_code_needs, algorithm, reason,
        fmt::format(
            "f32, f16 or bf16 weights of at most {} entries and a product or a convolution, on a CPU "
            "with AVX2, AVX-512 or NEON; else cpu_rows or default_schedule(algorithm, weights, target)",
            most_baked_entries_of_cpu));
  const std::int64_t entries = weights->array("values").size();
  CpuCode with_vectors = knobs;
  with_vectors.vectors = chosen_vectors(knobs, seen, entries, target);
  const bool of_images = with_vectors.vectors == CpuVectors::images;
  if (of_images && !may_be_of_images(seen, target))
    throw UserError("knobs of cpu_code exclude one another", algorithm.text(), "vectors = images",
                    "whole vectors of images of [n, c, h, w], with an input and an output alone");
  const CpuNest nest = cpu_nest(seen_by_code(seen, with_vectors.vectors), weights->format(), target);
  const VectorRegisters registers = registers_of(target);
  if (knobs.lanes != 0 && knobs.lanes != registers.lanes() && !registers.with_lanes(knobs.lanes).halves)
    throw UserError(
        "knobs of cpu_code do not fit the processor", algorithm.text(),
        fmt::format("lanes = {}", knobs.lanes),
        fmt::format("{}, the elements of its vectors, or with AVX-512 half as many", registers.lanes()));
  if (has_lines(nest))
    IdleKnobs(algorithm.text(), "an image whose lines are copied")
        .refuse(knobs.columns > registers.lanes() ? knobs.columns : 0, "columns",
                "lines in its place, or a product");
  else
    IdleKnobs(algorithm.text(), "columns that are copied")
        .refuse(knobs.lines > 1 ? knobs.lines : 0, "lines", "columns in its place, or a convolution");
  if (knobs.copy == CpuCopy::image || (knobs.copy == CpuCopy::none && (!is_matrix(nest) || nest.scattered)))
    throw UserError("knobs of cpu_code exclude one another", algorithm.text(),
                    knobs.copy == CpuCopy::image ? "copy = image" : "copy = none of what lies apart",
                    "copy = panel, or none of a product whose columns lie beside one another");
  const CpuCode chosen = chosen_for(with_vectors, nest, seen, entries, target);
  if (chosen.copy == CpuCopy::none && (nest.width == 0 || nest.width % chosen.columns != 0))
    throw UserError(
        "knobs of cpu_code exclude one another", algorithm.text(),
        fmt::format("copy = none, columns = {} of {}", chosen.columns, nest.width),
        "columns that leave no rest, which the code would ask for at each vector; or copy = panel");
  if (chosen.columns % chosen.lanes != 0)
    throw UserError("knobs of cpu_code do not fit the processor", algorithm.text(),
                    fmt::format("columns = {}", chosen.columns),
                    fmt::format("a multiple of {}, the elements of its vectors", chosen.lanes));
  return with_recipe_named(cpu_code_needs.name, given, [&] {
    const std::string as_it_lies =
        chosen.copy == CpuCopy::panel && is_read_once(seen) ? nest.dense : std::string();
    Schedule schedule = ordered_schedule(std::move(algorithm), std::move(weights), target,
                                         OperandCopies::transposed, as_it_lies);
    if (of_images) schedule.transpose(seen.operands[seen.output.operand].name);
    return CodeSteps(std::move(schedule), nest, chosen)();
  });
}

}  // namespace

std::string why_no_cpu_code(const Algorithm& algorithm, const Format& format, std::int64_t entries,
                            const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (!registers_of(target).known()) return fmt::format("vectors of {} bytes", target.vector_bytes);
  if (format.name != "csr") return format.text() + " is not csr";
  if (parameter_of(format, "index") == 16)
    return format.text() + ", whose column numbers are nowhere in code: csr is enough";
  if (algorithm.takes_any_weights()) return "weights that a launch gives";
  if (entries > most_baked_entries_of_cpu) return fmt::format("{} entries", entries);
  const CpuNest nest = cpu_nest(algorithm, format, target);
  if (nest.rows.empty()) return "the results do not go by rows of the weights";
  if (std::string reason = why_no_sum(algorithm); !reason.empty()) return reason;
  for (const Operand& operand : algorithm.operands) {
    const bool is_stored = &operand == &algorithm.operands[algorithm.output.operand];
    if (!ir::SparseProduct::can_read(operand.dtype) && !(is_stored && is_factor_of_a_byte(operand.dtype)))
      return fmt::format("{} in {}", operand.name, name_of(operand.dtype));
  }
  const std::int64_t least = registers_of(target).lanes() / (has_lines(nest) ? most_idle : 1);
  if (nest.vectors.empty() || (nest.width > 0 && nest.width < least))
    return fmt::format("{} {}, less than {} of a vector's", nest.width,
                       has_lines(nest) ? "pixels of a line" : "columns", least);
  return {};
}

bool may_be_of_images(const Algorithm& algorithm, const Target& target) {
  const bool is_plain = !algorithm.reads_output() && images_across(algorithm).empty() &&
                        std::ranges::count_if(algorithm.operands, [](const Operand& operand) {
                          return operand.storage != Storage::sparse && operand.shape.size() > 2;
                        }) == 2;
  if (!is_plain || !transposes_images(algorithm)) return false;
  const bool are_static = std::ranges::all_of(
      algorithm.indices, [](const IndexVariable& index) { return index.extent.is_static(); });
  return are_static && extent_of(algorithm, *algorithm.output.indices.front().plain())
                           .is_multiple_of(registers_of(target).lanes());
}

Algorithm seen_by_code(Algorithm algorithm, CpuVectors vectors) {
  if (vectors != CpuVectors::images) return algorithm;
  const std::string images = *algorithm.output.indices.front().plain();
  std::ranges::rotate(algorithm.output.indices, algorithm.output.indices.begin() + 1);
  std::vector<Extent>& shape = algorithm.operands[algorithm.output.operand].shape;
  std::ranges::rotate(shape, shape.begin() + 1);
  // Vectors are of the last index.
  std::ranges::stable_partition(algorithm.indices,
                                [&](const IndexVariable& index) { return index.name != images; });
  return algorithm;
}

double cycles_of_turned_results(const Algorithm& algorithm, const Target& target) {
  // Beyond what a third cache holds of the image, its copy, the results and these transposed.
  constexpr std::int64_t held = 20 << 20;
  constexpr double near = 0.6, far = 2.5;
  const auto elements = [&](std::size_t operand) {
    std::int64_t count = 1;
    for (const Extent& extent : algorithm.operands[operand].shape)
      count *= std::max<std::int64_t>(1, extent.value);
    return count;
  };
  const std::int64_t results = elements(algorithm.output.operand), read = elements(dense_operand(algorithm)),
                     images = algorithm.operands[algorithm.output.operand].shape.front().value;
  const std::int64_t copied = read / images * registers_of(target).lanes();
  const bool is_near = (read + copied + 2 * results) * bytes_of_dense(algorithm) <= held;
  return static_cast<double>(results) * (is_near ? near : far);
}

CpuVectors chosen_vectors(const CpuCode& knobs, const Algorithm& algorithm, std::int64_t entries,
                          const Target& target) {
  if (knobs.vectors != CpuVectors::chosen) return knobs.vectors;
  if (!may_be_of_images(algorithm, target) || knobs.columns > 0 || knobs.lines > 0 || knobs.lanes > 0)
    return CpuVectors::pixels;
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  if (!nest.windows || !has_lines(nest)) return CpuVectors::pixels;
  // Where vectors are of images as they lie, their results are stored one by one.
  if (nest.vectors == *algorithm.output.indices.front().plain()) return CpuVectors::images;
  // Multiplications with idle lanes that are saved, a cycle each, or half of one with half of a register.
  const std::int64_t all = registers_of(target).lanes(), lanes = chosen_lanes(nest, target);
  const double of_line = static_cast<double>(ceil_divide(nest.width, lanes)) * (lanes < all ? 0.5 : 1);
  const double idle = of_line - static_cast<double>(nest.width) / static_cast<double>(all);
  const auto lines = static_cast<double>(times_of_others(algorithm, nest) * nest.height);
  return static_cast<double>(entries) * lines * idle > cycles_of_turned_results(algorithm, target)
             ? CpuVectors::images
             : CpuVectors::pixels;
}

CpuCode chosen_for(const CpuCode& knobs, const CpuNest& nest, const Algorithm& algorithm,
                   std::int64_t entries, const Target& target) {
  CpuCode chosen = knobs;
  if (chosen.lanes == 0) chosen.lanes = chosen_lanes(nest, target);
  const std::int64_t lanes = chosen.lanes;
  if (chosen.rows == 0)
    chosen.rows = evenly(extent_of(algorithm, nest.rows).value, registers_of(target).sums());
  if (chosen.copy == CpuCopy::chosen)
    chosen.copy = stays_in_place(algorithm, nest, chosen, target) ? CpuCopy::none : CpuCopy::panel;
  const std::int64_t images = times_of_others(algorithm, nest);
  // Threads that have other images need no other lines or columns.
  const std::int64_t threads = images >= target.threads ? 1 : target.threads;
  const bool by_rows =
      chosen.threads == CpuThreads::rows || (chosen.threads == CpuThreads::chosen && threads > 1 &&
                                             !is_code_less(algorithm, nest, entries, target));
  const std::int64_t sharers = by_rows ? 1 : threads;
  if (chosen.lines == 0)
    chosen.lines = has_lines(nest) ? chosen_lines(algorithm, nest, chosen, entries, target, sharers) : 1;
  const std::int64_t panels = nest.width == 0 ? most_panels : ceil_divide(nest.width, lanes);
  if (has_lines(nest)) {
    chosen.columns = std::max(chosen.columns, lanes);
  } else if (chosen.columns == 0 && chosen.copy == CpuCopy::none) {
    chosen.columns = lanes * whole_part(panels, most_panels_in_place);
  } else if (chosen.columns == 0) {
    // What is beside the copy stays in the second cache, too.
    const std::int64_t fit =
        target.second_cache_bytes / 2 / (lanes * bytes_of_dense(algorithm) * summed(algorithm));
    chosen.columns =
        lanes * evenly(panels, std::clamp<std::int64_t>(fit, 1, most_panels), nest.width == 0 ? 1 : sharers);
  }
  if (chosen.threads == CpuThreads::chosen) {
    constexpr std::int64_t least_copies = 4;  // where it is not known how many share them
    const std::int64_t copies = images * (has_lines(nest) ? ceil_divide(nest.height, chosen.lines)
                                                          : ceil_divide(panels * lanes, chosen.columns));
    const std::int64_t least = target.threads > 1 ? std::min(target.threads, least_copies) : least_copies;
    chosen.threads = !by_rows && copies >= least ? CpuThreads::panels : CpuThreads::rows;
  }
  return chosen;
}

CodeWork work_of(const Algorithm& algorithm, const CpuCode& code, const Target& target) {
  const Algorithm images = seen_by_code(algorithm, code.vectors);
  const CpuNest nest = cpu_nest(images, formats::csr(), target);
  const std::int64_t lanes = code.lanes > 0 ? code.lanes : chosen_lanes(nest, target);
  const auto others = static_cast<double>(times_of_others(images, nest));
  const std::int64_t width = std::max<std::int64_t>(1, nest.width);
  const auto vectors = static_cast<double>(ceil_divide(width, lanes));
  CodeWork work{.vectors = others * vectors, .halves = lanes < registers_of(target).lanes()};
  if (!has_lines(nest)) {
    work.groups = others * static_cast<double>(ceil_divide(width, code.columns));
    work.copied = static_cast<double>(summed(images) * code.columns * bytes_of_dense(images));
    return work;
  }
  work.vectors *= static_cast<double>(nest.height);
  work.groups = others * static_cast<double>(ceil_divide(nest.height, code.lines));
  work.copied = static_cast<double>(bytes_of_lines(images, nest, code.lines, lanes));
  work.of_lines = true;
  work.apart = has_results_apart(images, nest);
  if (code.vectors == CpuVectors::images) {
    work.groups *= vectors;
    work.copies = vectors * static_cast<double>(nest.height) / static_cast<double>(code.lines);
    work.cycles_of_turning = cycles_of_turned_results(algorithm, target);
  }
  return work;
}

Schedule cpu_code(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuCode& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_code_knobs(), knobs, [&](const CpuCode& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
