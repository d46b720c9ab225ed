#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/hardware/swmma_instructions.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/product.h>

namespace weft {
namespace {

[[noreturn]] void refuse(const Algorithm& algorithm, std::string found, std::string accepted) {
  throw UserError({"there is no schedule for the sparse tensor core", algorithm.text(), std::move(found),
                   std::move(accepted)});
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
                      const HbEllSwmmaKnobs& knobs, std::source_location source) {
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
    const LoopName blocks_of_rows(loops.rows + ".block"), row(loops.rows + ".row");
    const LoopName column(loops.columns + ".inner");
    const LoopName block(loops.sum + ".block"), place(loops.sum + ".place");
    const LoopName row_warps(blocks_of_rows.text() + ".inner"), column_warps(column.text() + ".outer");
    const LoopName grid_rows(blocks_of_rows.text() + ".outer"), grid_columns(loops.columns + ".outer");
    const LoopName own_column(column.text() + ".inner");
    Schedule schedule(std::move(algorithm), in_steps(std::move(weights)), target);
    schedule
        .split(LoopFactor{blocks_of_rows, knobs.warps_m},
               LoopFactor{LoopName(loops.columns), knobs.warps_n * swmma_block})
        .split(LoopFactor{column, swmma_block})
        .reorder(grid_rows, grid_columns, row_warps, column_warps, block, row, own_column, place)
        .bind(grid_rows, block_x)
        .bind(grid_columns, block_y)
        .bind(row_warps, warp)
        .bind(column_warps, warp)
        .tensorize("swmma_m16n16k16");
    return schedule;
  });
}

}  // namespace weft
