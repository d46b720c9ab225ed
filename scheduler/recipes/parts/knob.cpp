#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <algorithm>

namespace weft {

void require_in_range(std::string_view recipe, std::string_view knob, std::int64_t value, std::int64_t least,
                      std::int64_t most, std::int64_t multiple) {
  if (least <= value && value <= most && value % multiple == 0) return;
  std::string accepted = fmt::format("{} from {} to {}", knob, std::max(least, multiple), most);
  if (multiple > 1) accepted += fmt::format(", a multiple of {}", multiple);
  throw UserError({fmt::format("a knob of {} is out of its range", recipe),
                   {},
                   fmt::format("{} = {}", knob, value),
                   std::move(accepted)});
}

}  // namespace weft
