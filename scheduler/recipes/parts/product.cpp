#include <fmt/format.h>
#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {

std::string why_no_sum(const Algorithm& algorithm) {
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    for (std::size_t i = 0; i < operand.shape.size(); ++i) {
      std::int64_t least = factor.indices[i].constant, most = least;
      bool known = operand.shape[i].is_static();
      for (const auto& [name, coefficient] : factor.indices[i].terms) {
        const Extent extent = extent_of(algorithm, name);
        known = known && extent.is_static() && extent.value > 0;
        (coefficient < 0 ? least : most) += coefficient * (extent.value - 1);
      }
      if (known && (most < 0 || least >= operand.shape[i].value))
        return fmt::format("nothing is summed but places outside of {}", operand.name);
    }
  }
  return {};
}

std::string sum_loop(const Algorithm& algorithm) {
  std::string name;
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) name += (name.empty() ? "" : "_") + index.name;
  }
  return name;
}

void require_sum(const Schedule& schedule) {
  const auto is_sum = [](const ir::For& loop) { return loop.role == ir::LoopRole::sum; };
  if (ir::any<ir::For>(schedule.program().body, is_sum)) return;
  throw UserError("there is no sum to make a schedule of", schedule.algorithm().text(),
                  "nothing but places outside of the dense operand: the loops over the weights are gone",
                  "an index that reaches into the operand, or the default schedule");
}

WeightLoops weight_loops(const Schedule& schedule) {
  require_sum(schedule);
  WeightLoops loops;
  ir::each<ir::For>(schedule.program().body, [&](const ir::For& loop) {
    std::vector<LoopName>& like = loop.role == ir::LoopRole::sum ? loops.sum : loops.rows;
    const bool is_of_weights = loop.role == ir::LoopRole::sum || loop.role == ir::LoopRole::rows;
    if (is_of_weights && std::ranges::find(like, LoopName(loop.name)) == like.end())
      like.emplace_back(loop.name);
  });
  return loops;
}

Extent extent_of(const Algorithm& algorithm, const std::string& name) {
  for (const IndexVariable& index : algorithm.indices) {
    if (index.name == name) return index.extent;
  }
  throw InternalError("no index is called " + name);
}

std::size_t dense_operand(const Algorithm& algorithm) {
  for (const TensorAccess& factor : algorithm.factors) {
    if (algorithm.operands[factor.operand].storage != Storage::sparse) return factor.operand;
  }
  throw InternalError("a product without a dense factor");
}

void IdleKnobs::refuse(std::int64_t value, const char* knob, const char* accepted) const {
  if (value == 0) return;
  throw UserError("a knob of the recipe would have no effect", algorithm_,
                  fmt::format("{} = {} with {}", knob, value, where_), accepted);
}

UserError::Report in_recipe(UserError::Report report, std::string_view recipe, std::string_view given) {
  if (!report.where.empty()) report.where += ", ";
  report.where += given.empty() ? fmt::format("the recipe {}", recipe)
                                : fmt::format("the recipe {} with {}", recipe, given);
  return report;
}

void refuse_recipe(const RecipeNeeds& needs, const Algorithm& algorithm, std::string found,
                   std::string accepted) {
  throw UserError(fmt::format("the recipe {} does not fit", needs.name), algorithm.text(), std::move(found),
                  std::move(accepted));
}

void require_format(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor* weights,
                    bool (*is_one)(const Format& format)) {
  algorithm.check();
  const std::string packed =
      fmt::format("weights in {}, as pack(matrix, {}) makes them", needs.formats, needs.example);
  if (weights == nullptr) refuse_recipe(needs, algorithm, "no weights", packed);
  if (!is_one(weights->format()))
    refuse_recipe(needs, algorithm, "weights in " + weights->format().text(),
                  packed + ", or default_schedule(algorithm, weights, target)");
}

bool has_tensor_cores_for(const Target& target, DType dtype) {
  return target.is_gpu() &&
         (dtype == DType::f16 || (dtype == DType::bf16 && target.has(Capability::bf16_tensor_cores)));
}

bool has_tensor_cores_for_bytes(const Target& target, DType dtype) {
  return dtype == DType::i8 ? target.has(Capability::sparse_tensor_cores)
                            : is_float_of_a_byte(dtype) && target.has(Capability::fp8_tensor_cores);
}

std::string why_no_tensor_cores(const Target& target, DType dtype) {
  if (has_tensor_cores_for(target, dtype)) return {};
  return fmt::format("tensor cores of {} multiply no {} with sums in f32", target.name, name_of(dtype));
}

std::int64_t parameter_of(const Format& format, const char* name, std::int64_t otherwise) {
  const auto found = format.parameters.find(name);
  return found == format.parameters.end() ? otherwise : found->second;
}

void require_halves(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights) {
  if (is_half(weights.dtype())) return;
  refuse_recipe(
      needs, algorithm,
      fmt::format("weights of {}, which its tensor cores do not multiply", name_of(weights.dtype())),
      fmt::format("f16 or bf16, as pack(converted(matrix, DType::f16), {}) makes them for an algorithm of "
                  "Tensor<f16, 2>, or "
                  "default_schedule(algorithm, weights, target)",
                  needs.example));
}

GatheredProduct gathered_product(const Algorithm& algorithm) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr) return {};
  GatheredProduct found;
  const TensorAccess* dense = nullptr;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) {
      dense = &factor;
      continue;
    }
    std::vector<std::string> rows;
    for (const AffineIndex& index : factor.indices) {
      const IndexVariable& variable = algorithm.index(*index.plain());
      if (variable.reduction)
        found.sum += (found.sum.empty() ? "" : "_") + variable.name;
      else
        rows.push_back(variable.name);
    }
    if (rows.size() == 1) found.rows = rows.front();
  }
  if (found.rows.empty() || dense == nullptr) return {};
  for (const AffineIndex& index : dense->indices) {
    if (std::ranges::any_of(index.terms, [&](const auto& term) { return term.first == found.rows; }))
      return {};
  }
  for (const IndexVariable& index : algorithm.indices) {
    if (!index.reduction && index.name != found.rows) found.columns.push_back(index.name);
  }
  found.dense = algorithm.operands[dense->operand].name;
  return found;
}

Extent columns_of(const Algorithm& algorithm, const GatheredProduct& loops) {
  if (loops.columns.size() == 1) return extent_of(algorithm, loops.columns.front());
  std::int64_t product = 1;
  for (const std::string& name : loops.columns) product *= extent_of(algorithm, name).value;
  return product;
}

ProductLoops product_loops(const Algorithm& algorithm) {
  const GatheredProduct found = gathered_product(algorithm);
  const Operand* sparse = algorithm.sparse_operand();
  if (found.rows.empty() || sparse->shape.size() != 2 || found.columns.size() != 1) return {};
  return {found.rows, found.columns.front(), found.sum, found.dense};
}

}  // namespace weft
