// Devices and targets that are named on the command line.
#include <fmt/format.h>
#include <weft/backends/export/check.h>
#include <weft/backends/parse_device.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/search/tool/options.h>

#include <utility>

namespace weft::tool {

Device named_device(const std::string& text) {
  return or_without_gpu("--device cpu or --device sim:sm_90a",
                        [&] { return of_option("--device", [&] { return parse_device(text); }); });
}

const Target& named_target(const std::string& name, const std::string& option) {
  return of_option(option, [&]() -> const Target& { return target_named(name); });
}

const Target& packaged_target(const std::string& name) {
  const auto named = [&]() -> const Target& {
    try {
      return named_target(name, "--archs");
    } catch (const UserError& error) {
      UserError::Report report = error.report();
      report.accepted = exporting::targets_taken();
      throw UserError(std::move(report));
    }
  };
  const Target& target = named();
  if (!exporting::takes(target))
    throw UserError("a package has no kernels for that target", "--archs", name,
                    exporting::targets_taken() +
                        (target.is_gpu() ? "" : "; for cpu x86-64-v4, x86-64-v3 or aarch64, its own level"));
  return target;
}

const Target& target_of(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return target_named("cpu");
  const int sm = device.description().sm;
  const Target* best = nullptr;
  for (const Target& target : targets()) {
    // Code for sm_90a runs on devices of sm_90 alone.
    const bool runs = target.is_gpu() && (target.architecture_specific ? target.sm == sm : target.sm <= sm) &&
                      (!is_simulated_only(target) || device.kind() == DeviceKind::simulator);
    if (runs && (best == nullptr || target.sm >= best->sm)) best = &target;
  }
  if (best != nullptr) return *best;
  throw UserError("no target fits the device", device.name(),
                  fmt::format("{} (sm_{})", device.description().model, sm), "a device of sm_75 or newer");
}

}  // namespace weft::tool
