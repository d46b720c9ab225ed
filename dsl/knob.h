// A number that a schedule leaves open, for the search to choose.
#pragma once

#include <weft/dsl/compiler.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The name of an open number and the values that it may take.
struct KnobChoice {
  std::string name;
  std::vector<std::int64_t> values;

  bool operator==(const KnobChoice&) const = default;
};

/// `.tile(m = knob("tile_m", {32, 64}))`. Throws UserError, with the caller's line, when the name is no
/// identifier, when there is no value, when a value is below 1 or stands twice.
KnobChoice knob(std::string name, std::vector<std::int64_t> values, CallPlace place = {});
WEFT_CALL_REFUSED(KnobChoice, knob, "knob(\"tile_m\", {32, 64}), a name and the numbers to choose from")

}  // namespace weft
