// What illegal packages start from.
#pragma once

#include <weft/backends/export/export.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/problems.h>

#include <memory>
#include <string>

namespace weft::tests {

/// Weights of 12 rows and 20 columns; another layer for each seed.
inline std::shared_ptr<const SparseTensor> layer(std::uint64_t seed = 1) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = 12, .columns = 20, .sparsity = 0.7, .seed = seed}), formats::csr()));
}

inline Kernel exportable(const Extent& columns = Extent::any("N"), const std::string& target = "sm_80",
                         const std::shared_ptr<const SparseTensor>& weights = layer()) {
  return compile(default_schedule(spmm_algorithm(12, 20, columns, DType::f32), weights, target_named(target)),
                 {.assemble = false});
}

inline ExportOptions named(const std::string& name, const std::string& spdx = "0BSD") {
  ExportOptions options;
  options.name = name;
  options.spdx = spdx;
  return options;
}

}  // namespace weft::tests
