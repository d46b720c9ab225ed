#include <fmt/format.h>
#include <weft/search/report/chart.h>

#include <algorithm>
#include <cmath>

namespace weft::report {
namespace {

/// The smallest of 1, 2 and 5 times a power of ten that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

void add_linear_ticks(Scale& scale) {
  constexpr double wanted = 5;
  const double step = round_step((scale.last - scale.first) / wanted);
  scale.first = std::floor(scale.first / step + 1e-9) * step;
  scale.last = std::ceil(scale.last / step - 1e-9) * step;
  const auto count = static_cast<int>(std::llround((scale.last - scale.first) / step));
  for (int i = 0; i <= count; ++i) {
    const double tick = scale.first + i * step;
    scale.ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  }
}

/// 1, 2, 5, 10 …, or powers of ten alone where there are many.
void add_logarithmic_ticks(Scale& scale) {
  constexpr double most_decades = 3;
  const bool few = std::log10(scale.last / scale.first) <= most_decades;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(scale.first))); power <= scale.last * 10;
       power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (few || factor == 1.0) ticks.push_back(factor * power);
    }
  }
  const auto above = std::ranges::find_if(ticks, [&](double t) { return t >= scale.last * (1 - 1e-9); });
  if (above != ticks.end()) ticks.erase(above + 1, ticks.end());
  const auto below = std::ranges::find_if(ticks, [&](double t) { return t > scale.first * (1 + 1e-9); });
  if (below != ticks.begin()) ticks.erase(ticks.begin(), below - 1);
  scale.first = ticks.front();
  scale.last = ticks.back();
  scale.ticks = std::move(ticks);
}

}  // namespace

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  if (size >= 1e3) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

double Scale::at(double value) const {
  if (logarithmic) return std::log(std::max(value, first / 10) / first) / std::log(last / first);
  return (value - first) / (last - first);
}

std::vector<std::string> Scale::names() const {
  constexpr int most_digits = 12;
  std::vector<std::string> names;
  for (const double tick : ticks) names.push_back(short_number(tick));
  for (int digits = 4; digits <= most_digits && std::ranges::adjacent_find(names) != names.end(); ++digits) {
    for (std::size_t i = 0; i < ticks.size(); ++i) names[i] = fmt::format("{:.{}g}", ticks[i], digits);
  }
  return names;
}

Scale scale_of(const std::vector<double>& values, bool logarithmic) {
  Scale scale;
  scale.logarithmic = logarithmic;
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) continue;
    scale.first = any ? std::min(scale.first, value) : value;
    scale.last = any ? std::max(scale.last, value) : value;
    any = true;
  }
  if (!any) scale.first = logarithmic ? 1 : 0, scale.last = logarithmic ? 10 : 1;
  if (scale.last <= scale.first * (1 + 1e-12) || scale.first == scale.last) {
    const double room = logarithmic ? scale.first / 2 : std::max(std::abs(scale.first) / 2, 0.5);
    scale.first -= room;
    scale.last += logarithmic ? 2 * room : room;
  }
  logarithmic ? add_logarithmic_ticks(scale) : add_linear_ticks(scale);
  return scale;
}

}  // namespace weft::report
