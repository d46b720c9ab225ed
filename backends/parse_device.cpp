#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/parse_device.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/hardware/target.h>

#include <charconv>
#include <string>
#include <vector>

namespace weft {

namespace {

/// The simulator knows the GPUs among the targets; their devices are called otherwise than they.
void require_simulated(std::string_view text) {
  constexpr std::string_view prefix = "sim:";
  std::vector<std::string> known;
  for (const Target& target : targets()) {
    if (target.is_gpu()) known.push_back(std::string(prefix) + target.name);
    if (target.is_gpu() && text.substr(prefix.size()) == target.name) return;
  }
  throw UserError("there is no simulated device of that name", "'" + std::string(text.substr(0, 64)) + "'",
                  fmt::format("{}{}", fmt::join(known, ", "),
                              did_you_mean(text, std::vector<std::string_view>(known.begin(), known.end()))));
}

Device device_named(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with("sim:")) {
    if (simulator::is_built()) require_simulated(text);
    return Device::simulator(text.substr(4));
  }
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(5);
    int ordinal = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size() && ordinal >= 0)
      return Device::cuda(ordinal);
  }
  throw UserError("reading the name of a device", "'" + std::string(text) + "'",
                  "cpu, cuda, cuda:<number> such as cuda:1, or sim:<architecture> such as sim:sm_90a");
}

}  // namespace

Device parse_device(std::string_view text, CallPlace place) {
  return user_call(place, [&] { return device_named(text); });
}

}  // namespace weft
