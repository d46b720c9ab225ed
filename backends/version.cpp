#include <weft/backends/version.h>

namespace weft {

const char* weft_version() noexcept {
  return WEFT_VERSION;
}

}  // namespace weft
