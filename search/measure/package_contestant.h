// An exported package as one more contestant.
#pragma once

#include <weft/search/measure/contestants.h>

#include <string>

namespace weft {

/// The package in `folder`, built by the C compiler of this machine ($CC, else cc) and loaded. It takes part
/// with the weights of the case where it packs any entries, else with its own. Cases of other shapes, types
/// or sizes than the package's, and packages of more operands than B and C, have no time, with the reason.
/// UserError where the folder holds no package, RuntimeError where it cannot be built or loaded.
Contestant package_contestant(const std::string& folder);

}  // namespace weft
