#include <weft/scheduler/program/channels.h>

#include <algorithm>

namespace weft {

bool ends_with_channels(const Algorithm& algorithm, const TensorAccess& access) {
  if (access.indices.size() < 3) return false;
  const std::string* last = access.indices.back().plain();
  return last != nullptr && std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
           return algorithm.operands[factor.operand].storage == Storage::sparse &&
                  std::ranges::any_of(factor.indices, [&](const AffineIndex& each) {
                    return each.plain() != nullptr && *each.plain() == *last;
                  });
         });
}

}  // namespace weft
