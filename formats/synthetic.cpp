#include <fmt/format.h>
#include <weft/formats/random.h>
#include <weft/formats/suggestion.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace weft {
namespace {

struct Spread {
  double sparsity;
  double rows;     ///< coefficient of variation of row lengths
  double columns;  ///< that of column lengths, the share that binomial chance explains taken out
};

/// Medians over the magnitude-pruned bottleneck_2 (3x3) layers of ResNet-50 in dlmc.csv.
constexpr std::array<Spread, 6> measured{{{0.5, 0.080, 0.103},
                                          {0.7, 0.140, 0.192},
                                          {0.8, 0.195, 0.274},
                                          {0.9, 0.275, 0.357},
                                          {0.95, 0.305, 0.512},
                                          {0.98, 0.400, 0.676}}};

/// Between two measured sparsities on a straight line; the nearest one beyond them.
Spread spread_at(double sparsity) {
  if (sparsity <= measured.front().sparsity) return measured.front();
  for (std::size_t i = 1; i < measured.size(); ++i) {
    const Spread& low = measured[i - 1];
    const Spread& high = measured[i];
    if (sparsity > high.sparsity) continue;
    const double share = (sparsity - low.sparsity) / (high.sparsity - low.sparsity);
    return {sparsity, std::lerp(low.rows, high.rows, share), std::lerp(low.columns, high.columns, share)};
  }
  return measured.back();
}

/// False for NaN.
bool is_between(double value, double least, double most) {
  return value >= least && value <= most;
}

void check_layer(const SyntheticLayer& layer) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto refuse = [](const std::string& where, std::string found, std::string accepted) {
    throw UserError("a synthetic layer cannot be made", where, std::move(found), std::move(accepted));
  };
  if (layer.rows < 0 || layer.columns < 0 || layer.rows > most || layer.columns > most)
    refuse("rows and columns", fmt::format("{} x {}", layer.rows, layer.columns),
           fmt::format("0 to {}", most));
  if (!is_between(layer.sparsity, 0, 1))
    refuse("sparsity", fmt::format("{}", layer.sparsity), "0 to 1" + as_share(layer.sparsity));
  if (layer.row_spread && !is_between(*layer.row_spread, 0, 10))
    refuse("row_spread", fmt::format("{}", *layer.row_spread), "0 to 10");
  if (!is_factor(layer.dtype))
    refuse("dtype", std::string(name_of(layer.dtype)), "f16, bf16, f32, f64, e4m3, e5m2, i8");
}

/// e^x with products alone, to about x*x/2^17 of itself: the same bits everywhere, which libraries do not
/// promise.
double nearly_exponential(double x) {
  double power = std::max(0.0, 1 + x * 0x1p-16);
  for (int i = 0; i < 16; ++i) power *= power;
  return power;
}

/// `count` positive numbers that are nearly log-normal with the given coefficient of variation. The normal
/// numbers behind them are shifted and scaled to mean 0 and standard deviation 1, so that a short list keeps
/// the spread.
std::vector<double> uneven_weights(std::int64_t count, double variation, Random& random) {
  std::vector<double> weights(count);
  if (count == 0) return weights;
  double sum = 0;
  double squares = 0;
  for (double& weight : weights) {
    weight = random.normal();
    sum += weight;
  }
  const double mean = sum / static_cast<double>(count);
  for (double& weight : weights) {
    weight -= mean;
    squares += weight * weight;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(count));
  // Rounded, so that a last bit of the library's logarithm decides nothing.
  const double sigma = std::nearbyint(std::sqrt(std::log1p(variation * variation)) * 0x1p20) * 0x1p-20;
  for (double& weight : weights)
    weight = deviation == 0 ? 1 : nearly_exponential(sigma * (weight / deviation));
  return weights;
}

/// Shares `total` out in proportion to `weights`, none above `most`, exactly.
std::vector<std::int64_t> share_out(std::int64_t total, const std::vector<double>& weights,
                                    std::int64_t most) {
  const auto cut = [&](double scale, std::size_t i) {
    return std::min(static_cast<double>(most), scale * weights[i]);
  };
  const auto sum_at = [&](double scale) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sum += cut(scale, i);
    return sum;
  };
  double low = 0;
  double high = 1;
  while (sum_at(high) < static_cast<double>(total) && high < 0x1p200) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (sum_at(middle) < static_cast<double>(total) ? low : high) = middle;
  }

  std::vector<std::int64_t> shares(weights.size());
  std::vector<std::pair<double, std::size_t>> rest;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    shares[i] = static_cast<std::int64_t>(cut(low, i));
    given += shares[i];
    rest.emplace_back(static_cast<double>(shares[i]) - cut(low, i), i);
  }
  std::ranges::sort(rest);
  for (std::size_t next = 0; given < total; next = (next + 1) % rest.size()) {
    std::int64_t& share = shares[rest[next].second];
    if (share == most) continue;
    ++share;
    ++given;
  }
  return shares;
}

/// `length` distinct columns, ascending, those with a large weight more often: the smallest of `u / weight`
/// with u uniform are taken.
void choose_columns(std::int64_t length, const std::vector<double>& weights, Random& random,
                    std::vector<std::pair<double, std::int32_t>>& keys, std::vector<std::int32_t>& chosen) {
  keys.clear();
  for (std::size_t column = 0; column < weights.size(); ++column)
    keys.emplace_back(random.uniform() / weights[column], static_cast<std::int32_t>(column));
  std::nth_element(keys.begin(), keys.begin() + length, keys.end());
  const auto first = static_cast<std::ptrdiff_t>(chosen.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) chosen.push_back(keys[i].second);
  std::sort(chosen.begin() + first, chosen.end());
}

WeightMatrix made(const SyntheticLayer& layer) {
  check_layer(layer);
  const double elements = static_cast<double>(layer.rows) * static_cast<double>(layer.columns);
  const std::int64_t total = std::llround((1 - layer.sparsity) * elements);
  WeightMatrix result;
  // A layer that does not fit memory is refused here, before the minutes that drawing it takes.
  result.values = Array(layer.dtype, {total});
  result.column.reserve(total);
  result.row_begin.reserve(static_cast<std::size_t>(layer.rows) + 1);
  const Spread usual = spread_at(layer.sparsity);
  Random random(layer.seed);
  const auto row_weights = uneven_weights(layer.rows, layer.row_spread.value_or(usual.rows), random);
  const auto column_weights = uneven_weights(layer.columns, usual.columns, random);
  const auto lengths = share_out(total, row_weights, layer.columns);

  result.shape = {layer.rows, layer.columns};
  result.rows = layer.rows;
  result.columns = layer.columns;
  result.origin = fmt::format("synthetic layer, seed {}", layer.seed);
  result.row_begin.push_back(0);
  std::vector<std::pair<double, std::int32_t>> keys;
  for (const std::int64_t length : lengths) {
    choose_columns(length, column_weights, random, keys, result.column);
    result.row_begin.push_back(result.stored());
  }
  constexpr double of_integers = 32;
  const double of_reals = std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(layer.columns, 1)));
  const double deviation = is_float(layer.dtype) ? of_reals : of_integers;
  for (std::int64_t i = 0; i < total; ++i) {
    do {
      result.values.set(i, deviation * random.normal());
    } while (result.values.get(i) == 0);
  }
  return result;
}

}  // namespace

WeightMatrix synthetic_layer(const SyntheticLayer& layer, CallPlace place) {
  return user_call(place, [&] { return made(layer); });
}

}  // namespace weft
