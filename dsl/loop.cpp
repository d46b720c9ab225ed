#include <weft/dsl/errors.h>
#include <weft/dsl/loop.h>
#include <weft/dsl/names.h>

#include <bit>
#include <set>

namespace weft {

LoopPiece::operator LoopName() const {
  std::string text = index;
  for (int bit = std::bit_width(path) - 2; bit >= 0; --bit)
    text += (path >> bit & 1U) != 0 ? ".inner" : ".outer";
  return text;
}

KnobChoice knob(std::string name, std::vector<std::int64_t> values, CallPlace place) {
  return user_call(place, [&]() -> KnobChoice {
    require_identifier(name, "knob", {});
    const auto refuse = [&](const std::string& found) {
      throw UserError("a knob has no usable values", "knob " + name, found,
                      "different numbers of at least 1, such as knob(\"" + name + "\", {32, 64})");
    };
    if (values.empty()) refuse("no values");
    std::set<std::int64_t> seen;
    for (const std::int64_t value : values) {
      if (value < 1) refuse(std::to_string(value));
      if (!seen.insert(value).second) refuse(std::to_string(value) + " twice");
    }
    return {std::move(name), std::move(values)};
  });
}

}  // namespace weft
