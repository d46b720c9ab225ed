// Devices by name.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>

#include <string_view>

namespace weft {

/// The device named "cpu", "cuda", "cuda:1" or "sim:sm_90a". UserError when it is not such a name,
/// RuntimeError when this machine has no CUDA device.
Device parse_device(std::string_view text, CallPlace place = {});

}  // namespace weft
