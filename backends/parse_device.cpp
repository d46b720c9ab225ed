#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/parse_device.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/hardware/target.h>

#include <algorithm>
#include <array>
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
  const Target* const of_card = target_of_card(text.substr(prefix.size()));
  const std::string near =
      of_card != nullptr ? fmt::format("; did you mean {}{}?", prefix, of_card->name)
                         : did_you_mean(text, std::vector<std::string_view>(known.begin(), known.end()));
  throw UserError("there is no simulated device of that name", "'" + std::string(text.substr(0, 64)) + "'",
                  fmt::format("{}{}", fmt::join(known, ", "), near));
}

/// What a text that names no device may mean: a target, a GPU by its own name, or a slip.
std::string meant_by(std::string_view text) {
  const Target* target = target_of_card(text);
  for (const Target& one : targets()) {
    if (one.is_gpu() && text == one.name) target = &one;
    if (!one.is_gpu() && one.name != "cpu" && text == one.name) return "; did you mean cpu?";
  }
  if (target != nullptr)
    return fmt::format("; did you mean cuda, where there is such a GPU, or sim:{}, which needs none?",
                       target->name);
  constexpr std::array<std::string_view, 4> of_cuda{"gpu", "GPU", "nvidia", "nvidia_gpu"};
  if (std::ranges::find(of_cuda, text) != of_cuda.end()) return "; did you mean cuda?";
  constexpr std::array<std::string_view, 3> known{"cpu", "cuda", "sim:sm_90a"};
  return did_you_mean(text, known);
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
  throw UserError(
      "reading the name of a device", "'" + std::string(text) + "'",
      "cpu, cuda, cuda:<number> such as cuda:1, or sim:<architecture> such as sim:sm_90a" + meant_by(text));
}

}  // namespace

Device parse_device(std::string_view text, CallPlace place) {
  return user_call(place, [&] { return device_named(text); });
}

}  // namespace weft
