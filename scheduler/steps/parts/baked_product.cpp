#include <weft/scheduler/ir/sparse_product.h>
#include <weft/scheduler/steps/parts/baked_product.h>

namespace weft::steps {

std::optional<ir::SparseProduct> baked_product(const std::vector<BakedEntry>& entries,
                                               const ir::BufferRef& sums, const std::vector<Expr>& place,
                                               const std::string& row) {
  std::vector<ir::ReadEntry> all;
  for (const BakedEntry& entry : entries) {
    const auto* value = entry.value.as<ir::Constant>();
    if (!entry.shared.defined() || value == nullptr || value->dtype != DType::f32 ||
        !ir::same(entry.conditions, entries.front().conditions))
      return std::nullopt;
    all.push_back({entry.row, static_cast<float>(value->real), entry.shared});
  }
  return ir::product_of(all, sums, place, row);
}

}  // namespace weft::steps
