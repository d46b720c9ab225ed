#pragma once

namespace weft {

/// weft's version, "0.1.0", as CMakeLists.txt has it.
const char* weft_version() noexcept;

}  // namespace weft
