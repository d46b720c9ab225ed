#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions/swmma.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

namespace weft {
namespace {

[[noreturn]] void refuse(const Algorithm& algorithm, std::string found, std::string accepted) {
  throw UserError("there is no schedule for the sparse tensor core", algorithm.text(), std::move(found),
                  std::move(accepted));
}

/// Every width is that of an instruction; no block is empty.
std::shared_ptr<const SparseTensor> in_steps(std::shared_ptr<const SparseTensor> weights) {
  const std::int64_t step = 4;
  Format format = weights->format();
  format.parameters["step"] = step;
  format.parameters.erase("every");
  if (format.parameters == weights->format().parameters) return weights;
  return std::make_shared<const SparseTensor>(repack(*weights, format));
}

}  // namespace

Schedule hb_ell_swmma(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                      const HbEllSwmmaKnobs& knobs, CallPlace source) {
  return user_call(source, [&] {
    require_in_range("hb_ell_swmma", hb_ell_swmma_knobs(), knobs);
    if (weights == nullptr) refuse(algorithm, "no weights", "hb_ell of f16");
    const ProductLoops loops = product_loops(algorithm);
    if (loops.rows.empty())
      refuse(algorithm, "no product of two matrices", "C(m, n) = sum(k, A(m, k) * B(k, n))");
    if (weights->format().name != "hb_ell" || weights->dtype() != DType::f16)
      refuse(algorithm, fmt::format("{} of {}", weights->format().text(), name_of(weights->dtype())),
             "hb_ell of f16");
    if (!is_simulated_only(target))
      refuse(algorithm, target.name, "sm_70_swmma, which the simulator has alone");
    Schedule schedule = ordered_schedule(std::move(algorithm), in_steps(std::move(weights)), target);
    const WeightLoops of_weights = weight_loops(schedule);
    const LoopName& row = of_weights.rows.at(1);
    const LoopName &block = of_weights.sum.at(0), &place = of_weights.sum.at(1);
    const auto [of_rows, of_columns] =
        schedule.split(of_weights.rows.at(0), knobs.warps_m, loops.columns, knobs.warps_n * swmma_block);
    const auto& [grid_rows, row_warps] = of_rows;
    const auto& [grid_columns, column] = of_columns;
    const auto [column_warps, own_column] = schedule.split(column, swmma_block);
    schedule.reorder(grid_rows, grid_columns, row_warps, column_warps, block, row, own_column, place)
        .bind(grid_rows, block_x)
        .bind(grid_columns, block_y)
        .bind(row_warps, warp)
        .bind(column_warps, warp)
        .tensorize("swmma_m16n16k16");
    return schedule;
  });
}

}  // namespace weft
