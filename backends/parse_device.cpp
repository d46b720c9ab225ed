#include <weft/backends/parse_device.h>
#include <weft/dsl/errors.h>

#include <charconv>

namespace weft {

namespace {

Device device_named(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with("sim:")) return Device::simulator(text.substr(4));
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(5);
    int ordinal = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size() && ordinal >= 0)
      return Device::cuda(ordinal);
  }
  throw UserError({"reading the name of a device",
                   {},
                   "'" + std::string(text) + "'",
                   "cpu, cuda, cuda:<number> such as cuda:1, or sim:<architecture> such as sim:sm_90a"});
}

}  // namespace

Device parse_device(std::string_view text, std::source_location place) {
  return user_call(place, [&] { return device_named(text); });
}

}  // namespace weft
