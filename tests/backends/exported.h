// Kernels of a small layer, and what export_package says of them.
#pragma once

#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/problems.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weft::exported {

inline std::shared_ptr<const SparseTensor> layer(std::int64_t rows = 12,
                                                 const Format& format = formats::csr()) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer({.rows = rows, .columns = 20, .sparsity = 0.7, .seed = 2}), format));
}

inline Kernel kernel_of(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>& weights,
                        const std::string& target = "sm_80") {
  return compile(default_schedule(algorithm, weights, target_named(target)), {.assemble = false});
}

inline Kernel product(const Extent& n, const std::string& target = "sm_80") {
  return kernel_of(spmm_algorithm(12, 20, n, DType::f32), layer(), target);
}

inline ExportOptions named(const std::string& name) {
  ExportOptions options;
  options.name = name;
  return options;
}

inline std::string refusal(const std::vector<PackageKernel>& kernels,
                           const ExportOptions& options = named("layer")) {
  const TemporaryFolder folder;
  try {
    export_package(folder.path().string() + "/out", kernels, options);
  } catch (const UserError& error) {
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out")) << "something was written";
    return error.what();
  }
  return "nothing";
}

}  // namespace weft::exported
