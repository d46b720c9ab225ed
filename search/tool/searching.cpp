#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/worker.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/searching.h>

#include <atomic>
#include <cstdlib>

namespace weft::tool {
namespace {

std::atomic<bool> interrupted{false};

/// The newest target of the CUDA device, asked in a process of its own: this one must not open it.
std::string target_of_gpu(int ordinal) {
  Worker worker([ordinal](const std::string&) {
    try {
      return "=" + target_of(Device::cuda(ordinal)).name;
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  });
  const WorkerReply reply = worker.ask("target", 60);
  if (reply.end == WorkerReply::End::answered && reply.text.starts_with("=")) return reply.text.substr(1);
  throw RuntimeError(reply.text);
}

}  // namespace

std::optional<std::string> target_of_any_gpu() {
  try {
    return target_of_gpu(0);
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
}

Interrupt::Interrupt() {
  interrupted = false;
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &former_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &former_, nullptr);
}

bool Interrupt::was_asked() {
  return interrupted;
}

double seconds_of(const std::string& option, const std::string& text) {
  const auto refuse = [&] {
    return UserError("a duration cannot be read", option, text, "90, 90s, 10m or 1h30m");
  };
  double total = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t digits = text.find_first_not_of("0123456789.", at);
    const std::string number = text.substr(at, digits == std::string::npos ? digits : digits - at);
    const std::string unit = digits == std::string::npos ? "s" : text.substr(digits, 1);
    const double factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || factor == 0) throw refuse();
    total += value * factor;
    at = digits == std::string::npos ? text.size() : digits + 1;
  }
  if (!(total > 0)) throw refuse();
  return total;
}

const Target& searched_target(const std::string& name, const MeasureOptions& measure) {
  if (!name.empty()) return named_target(name);
  switch (measure.measure) {
    case Measure::gpu: return named_target(target_of_gpu(measure.device));
    case Measure::cpu: return named_target("cpu");
    default: return named_target("sm_90a");
  }
}

}  // namespace weft::tool
