#include <weft/scheduler/steps/list.h>

#include <array>

namespace weft {

std::span<const StepKind> step_kinds() {
  static const std::array list{steps::tile,
                               steps::split,
                               steps::fuse,
                               steps::peel,
                               steps::reorder,
                               steps::unroll,
                               steps::vectorize,
                               steps::parallel,
                               steps::bind,
                               steps::stagger,
                               steps::stage,
                               steps::stitch,
                               steps::decode,
                               steps::tensorize,
                               steps::reorder_writeback,
                               steps::persist,
                               steps::specialize_warps,
                               steps::multicast,
                               steps::resident,
                               steps::stream_results,
                               steps::overlap_launches,
                               steps::transpose,
                               steps::align,
                               steps::balance,
                               steps::pool,
                               steps::split_k,
                               steps::bake_values};
  return list;
}

const StepKind& step_kind(std::string_view name) {
  std::string known;
  for (const StepKind& row : step_kinds()) {
    if (row.name == name) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UserError("there is no such step", '"' + std::string(name) + '"', known);
}

}  // namespace weft
