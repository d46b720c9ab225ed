#include <weft/scheduler/program/channels.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft {
namespace {

bool lies_across(const Operand& operand, const TensorAccess& access, const std::string& columns) {
  if (access.indices.size() != 2 || !operand.strides.empty()) return false;
  const std::string *first = access.indices[0].plain(), *last = access.indices[1].plain();
  return first != nullptr && last != nullptr && *first == columns && *last != columns;
}

/// Fewer results than these are written one by one sooner than another kernel begins
/// (docs/measurements/choice.md).
constexpr std::int64_t least_results_to_align = std::int64_t{1} << 19;
constexpr std::int64_t least_results_to_transpose = std::int64_t{3} << 16;

bool has_results(const Algorithm& algorithm, const ProductLoops& loops, std::int64_t least) {
  const Extent rows = extent_of(algorithm, loops.rows), columns = extent_of(algorithm, loops.columns);
  return !rows.is_static() || !columns.is_static() || rows.value * columns.value >= least;
}

/// The operand whose first dimension alone the index counts.
bool is_outermost(const Operand& operand, const TensorAccess& access, const std::string& index) {
  if (!operand.strides.empty() || access.indices.size() < 2) return false;
  const std::string* first = access.indices.front().plain();
  return first != nullptr && *first == index &&
         std::none_of(access.indices.begin() + 1, access.indices.end(), [&](const AffineIndex& each) {
           return std::ranges::any_of(each.terms, [&](const auto& term) { return term.first == index; });
         });
}

}  // namespace

bool transposes_images(const Algorithm& algorithm) {
  constexpr std::int64_t together = 8;  ///< columns that tensor cores and copies of 16 bytes take at once
  const Operand& output = algorithm.operands[algorithm.output.operand];
  const Operand* sparse = algorithm.sparse_operand();
  const std::string* images = algorithm.output.indices.front().plain();
  if (sparse == nullptr || images == nullptr || algorithm.output.indices.size() < 3 ||
      !is_outermost(output, algorithm.output, *images) || algorithm.reads_output() ||
      algorithm.index(*images).reduction || !extent_of(algorithm, *images).is_multiple_of(together))
    return false;
  return std::ranges::all_of(algorithm.factors, [&](const TensorAccess& factor) {
    const Operand& operand = algorithm.operands[factor.operand];
    return &operand == sparse
               ? std::ranges::none_of(factor.indices,
                                      [&](const AffineIndex& index) {
                                        return index.plain() != nullptr && *index.plain() == *images;
                                      })
               : is_outermost(operand, factor, *images);
  });
}

bool images_fill_warps(const Algorithm& algorithm) {
  using recipe_knobs::lanes_of_warp;
  if (!transposes_images(algorithm)) return false;
  const std::string& images = *algorithm.output.indices.front().plain();
  const std::string* innermost = algorithm.output.indices.back().plain();
  const std::vector<std::string> pixels = gathered_product(algorithm).columns;
  const bool has_channels_innermost =
      innermost != nullptr && std::ranges::find(pixels, *innermost) == pixels.end();
  return has_channels_innermost && extent_of(algorithm, images).is_multiple_of(lanes_of_warp) &&
         extent_of(algorithm, pixels.back()).value < lanes_of_warp;
}

std::vector<std::string> operands_across(const Algorithm& algorithm) {
  std::vector<std::string> names;
  const ProductLoops loops = product_loops(algorithm);
  if (loops.columns.empty() || extent_of(algorithm, loops.columns) == Extent(1)) return names;
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (operand.name == loops.dense && lies_across(operand, factor, loops.columns))
      names.push_back(operand.name);
  }
  const Operand& output = algorithm.operands[algorithm.output.operand];
  if (lies_across(output, algorithm.output, loops.columns) && !algorithm.reads_output())
    names.push_back(output.name);
  return names;
}

std::vector<std::string> images_across(const Algorithm& algorithm) {
  std::vector<std::string> names;
  const auto add = [&](const TensorAccess& access) {
    const Operand& operand = algorithm.operands[access.operand];
    if (operand.storage != Storage::sparse && operand.strides.empty() &&
        ends_with_channels(algorithm, access))
      names.push_back(operand.name);
  };
  for (const TensorAccess& factor : algorithm.factors) add(factor);
  if (!algorithm.reads_output()) add(algorithm.output);
  return names;
}

std::vector<std::string> operands_to_transpose(const Algorithm& algorithm) {
  const std::string& output = algorithm.operands[algorithm.output.operand].name;
  if (transposes_images(algorithm)) return {algorithm.operands[dense_operand(algorithm)].name, output};
  std::vector<std::string> names = operands_across(algorithm);
  if (!names.empty() && !has_results(algorithm, product_loops(algorithm), least_results_to_transpose))
    std::erase(names, output);
  return names;
}

Algorithm in_kernel_order(Algorithm algorithm) {
  for (const std::string& name : images_across(algorithm)) {
    const auto turn = [&](auto& dimensions) { std::ranges::rotate(dimensions, dimensions.end() - 1); };
    for (TensorAccess& factor : algorithm.factors)
      if (algorithm.operands[factor.operand].name == name) turn(factor.indices);
    if (algorithm.operands[algorithm.output.operand].name == name) turn(algorithm.output.indices);
    turn(std::ranges::find(algorithm.operands, name, &Operand::name)->shape);
  }
  for (const std::string& name : operands_across(algorithm)) {
    const auto turn = [&](TensorAccess& access) {
      if (algorithm.operands[access.operand].name == name) std::ranges::reverse(access.indices);
    };
    for (TensorAccess& factor : algorithm.factors) turn(factor);
    turn(algorithm.output);
    std::ranges::reverse(std::ranges::find(algorithm.operands, name, &Operand::name)->shape);
  }
  return algorithm;
}

bool fills_runs(DType dtype, const Extent& elements) {
  constexpr std::int64_t run_bytes = 16;
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  return bytes <= 2 && elements.is_multiple_of(run_bytes / bytes);
}

bool writes_runs_of_rows(const Algorithm& algorithm, const SparseTensor& weights) {
  const Operand& output = algorithm.operands[algorithm.output.operand];
  const ProductLoops loops = product_loops(algorithm);
  return !loops.columns.empty() && lies_across(output, algorithm.output, loops.columns) &&
         fills_runs(output.dtype, output.shape.back()) && !weights.row_order();
}

bool reads_runs_of_the_sum(const Algorithm& algorithm, const SparseTensor& weights) {
  const ProductLoops loops = product_loops(algorithm);
  const std::string& format = weights.format().name;
  return (format == "n_m" || format == "mixed") && fills_runs(weights.dtype(), weights.columns()) &&
         std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
           const Operand& operand = algorithm.operands[factor.operand];
           return !loops.columns.empty() && operand.name == loops.dense &&
                  lies_across(operand, factor, loops.columns);
         });
}

bool can_gather_elements(const Algorithm& algorithm, const Format& format) {
  const ProductLoops loops = product_loops(algorithm);
  const auto of_lists = {"shfl_bw", "vector_wise", "v_n_m", "column_quads"};
  if (loops.columns.empty() || std::ranges::find(of_lists, format.name) == of_lists.end()) return false;
  return std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (operand.name != loops.dense) return false;
    return is_factor_of_a_byte(operand.dtype) ||
           (size_of(operand.dtype) == 2 && lies_across(operand, factor, loops.columns));
  });
}

bool can_multiply_bytes(const Algorithm& algorithm, const Format& format) {
  return (format.name == "n_m" && !product_loops(algorithm).rows.empty()) ||
         can_gather_elements(algorithm, format);
}

GatheredProduct ordered_product(const Algorithm& algorithm) {
  GatheredProduct loops = gathered_product(algorithm);
  // The first index counts images.
  if (!loops.rows.empty() && transposes_images(algorithm))
    std::ranges::rotate(loops.columns, loops.columns.begin() + 1);
  return loops;
}

std::vector<std::string> operands_to_align(const Algorithm& algorithm) {
  constexpr std::int64_t bytes_of_word = 4;
  std::vector<std::string> names;
  const ProductLoops loops = product_loops(algorithm);
  if (loops.columns.empty()) return names;
  const Extent width = extent_of(algorithm, loops.columns);
  const auto is_unaligned = [&](const TensorAccess& access) {
    const Operand& operand = algorithm.operands[access.operand];
    const std::string* last = access.indices.back().plain();
    return access.indices.size() == 2 && operand.strides.empty() && last != nullptr &&
           *last == loops.columns &&
           width.value * static_cast<std::int64_t>(size_of(operand.dtype)) % bytes_of_word != 0;
  };
  if (!width.is_static()) return names;
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (operand.name != loops.dense) continue;
    if (is_unaligned(factor) || (width == Extent(1) && lies_across(operand, factor, loops.columns)))
      names.push_back(operand.name);
  }
  if (has_results(algorithm, loops, least_results_to_align) && is_unaligned(algorithm.output) &&
      !algorithm.reads_output())
    names.push_back(algorithm.operands[algorithm.output.operand].name);
  return names;
}

/// Of the dense operand: [n, k] rather than [k, n], of one column too.
bool is_row(const Algorithm& algorithm, const std::string& name) {
  const ProductLoops loops = product_loops(algorithm);
  return std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
    const Operand& operand = algorithm.operands[factor.operand];
    return operand.name == name && lies_across(operand, factor, loops.columns);
  });
}

bool copies_input(const Algorithm& algorithm) {
  const std::string& input = algorithm.operands[dense_operand(algorithm)].name;
  return is_factor_of_a_byte(algorithm.operands[dense_operand(algorithm)].dtype) ||
         std::ranges::any_of(std::array{operands_to_transpose(algorithm), operands_to_align(algorithm)},
                             [&](const std::vector<std::string>& names) {
                               return std::ranges::find(names, input) != names.end();
                             });
}

namespace {

/// As tensor cores take elements of a byte: [n, k], in whole runs of 16 bytes unless they are gathered one by
/// one.
void bring_along_the_sum(Schedule& schedule, const std::string& dense, bool by_elements) {
  if (reads_runs_of_the_sum(schedule.algorithm(), *schedule.weights())) return;
  if (by_elements && is_row(schedule.algorithm(), dense)) return;
  is_row(schedule.algorithm(), dense) ? schedule.align(dense) : schedule.transpose(dense);
}

/// Rows of columns in whole runs of 16 bytes, which threads turn while they copy.
void bring_along_columns(Schedule& schedule, const std::string& dense) {
  if (is_row(schedule.algorithm(), dense)) {
    schedule.transpose(dense);
    return;
  }
  const Operand& operand = schedule.algorithm().operands[dense_operand(schedule.algorithm())];
  if (!fills_runs(operand.dtype, operand.shape.back()) || !operand.strides.empty()) schedule.align(dense);
}

}  // namespace

Schedule ordered_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target, OperandCopies copies, const std::string& as_it_lies) {
  Schedule schedule(std::move(algorithm), std::move(weights), target);
  if (!target.is_gpu()) {
    for (const auto& names : {operands_across(schedule.algorithm()), images_across(schedule.algorithm())}) {
      for (const std::string& name : names)
        if (name != as_it_lies) schedule.transpose(name);
    }
    return schedule;
  }
  const Algorithm& given = schedule.algorithm();
  const std::string results = given.operands[given.output.operand].name;
  const bool of_tiles = copies == OperandCopies::of_tiles && schedule.weights() != nullptr;
  const bool leaves_results = of_tiles && writes_runs_of_rows(given, *schedule.weights());
  const std::string dense = given.operands[dense_operand(given)].name;
  const bool of_bytes = of_tiles && is_factor_of_a_byte(schedule.weights()->dtype());
  const bool leaves_input =
      of_bytes || dense == as_it_lies || (of_tiles && reads_runs_of_the_sum(given, *schedule.weights()));
  for (const std::string& name : operands_to_transpose(given))
    if (name == results ? !leaves_results : !leaves_input) schedule.transpose(name);
  if (of_bytes) {
    const bool by_elements = dense == as_it_lies;
    if (!by_elements && can_gather_elements(given, schedule.weights()->format()))
      bring_along_columns(schedule, dense);
    else
      bring_along_the_sum(schedule, dense, by_elements);
    return schedule;
  }
  if (copies != OperandCopies::transposed) {
    for (const std::string& name : operands_to_align(schedule.algorithm())) {
      if (name == dense && leaves_input) continue;
      is_row(schedule.algorithm(), name) ? schedule.transpose(name) : schedule.align(name);
    }
  }
  return schedule;
}

}  // namespace weft
