// What the vendor's dense product takes: tiles in whole waves, as many blocks to a sum as is fastest, beside
// what memory moves.
#include <weft/search/model/dense_bound.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

/// What was measured of the library's kernels for operands of one kind, on two Hopper GPUs.
struct Kernels {
  double launch;      ///< microseconds beside all that follows
  double operations;  ///< 10^12 a second, of all multiprocessors
  double reads;       ///< 10^12 bytes a second that tiles read of the operands, likewise
  double place;       ///< least nanoseconds that a tile takes for a place of its sums
  double block;       ///< microseconds of a block beside its sums
  double shared_sum;  ///< microseconds where blocks share sums
  double memory;      ///< 10^12 bytes a second of operands that stay in the cache
};

// Fitted by least squares of the logarithm to measured times (docs/measurements/choice.md has their number
// and what is left between them and the model). In the order of DenseKind.
constexpr std::array<Kernels, 8> fitted{{
    {2.2, 810, 20, 1.44, 0.415, 3.68, 4.09},
    {2.51, 404, 3.14, 1.99, 0.491, 1.52, 3.45},
    {3.7, 185, 1.77, 21.9, 0.691, 0.169, 1.84},
    {2.76, 46.3, 7.61, 19.3, 0.832, 2.69, 2.36},
    {0.802, 230, 26.7, 0.109, 1.46, 0.96, 3.04},
    {3.58, 900, 10.6, 8.66, 0.156, 1.4, 7.92},
    {5.09, 47.3, 8.17, 15.8, 0.429, 1, 0.738},
    {1.62, 1490, 201, 0.685, 0.882, 3.47, 4.23},
}};

struct Tile {
  std::int64_t rows, columns;
};
/// The tiles that libraries have, about.
constexpr std::array<Tile, 9> tiles{
    {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {64, 32}, {32, 64}, {32, 32}}};

/// The largest power of two up to 8 that divides both.
std::int64_t alignment_of(std::int64_t a, std::int64_t b) {
  std::int64_t alignment = 8;
  while (a % alignment != 0 || b % alignment != 0) alignment /= 2;
  return alignment;
}

/// How many operations less convolutions of f32 take whose filters are transformed: of 3 x 3 elements that
/// move by one pixel, so that about nine of them read a pixel.
double saved_by_transforms(const ProblemSummary& problem) {
  constexpr double least = 6, most = 12, saved = 1.6;
  if (dense_kind_of(problem) != DenseKind::convolution || problem.dense_elements == 0) return 1;
  const double reads = static_cast<double>(problem.k) * static_cast<double>(problem.n) /
                       static_cast<double>(problem.dense_elements);
  return least < reads && reads < most ? saved : 1;
}

/// The least microseconds of all tiles and numbers of blocks to a sum.
double of_sums(const ProblemSummary& problem, const Kernels& kernels, std::int64_t most_shared,
               std::int64_t multiprocessors) {
  constexpr std::int64_t least_places = 32;  ///< places of a block that shares a sum
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const double of_one = 1e-6 * static_cast<double>(multiprocessors);
  const double operations = kernels.operations * saved_by_transforms(problem);
  const double handed_over = 1e-6 * 4 * static_cast<double>(problem.m * problem.n) / kernels.memory;
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const auto [rows, columns] = std::pair(static_cast<double>(tile.rows), static_cast<double>(tile.columns));
    const double place = std::max({2 * rows * columns * of_one / operations,
                                   (rows + columns) * bytes * of_one / kernels.reads, 1e-3 * kernels.place});
    const std::int64_t all = ceil_divide(problem.m, tile.rows) * ceil_divide(problem.n, tile.columns);
    for (std::int64_t shared = 1;
         shared <= most_shared && (shared == 1 || problem.k >= least_places * shared); shared *= 2) {
      const auto waves = static_cast<double>(ceil_divide(all * shared, multiprocessors));
      const double sums =
          waves * (static_cast<double>(ceil_divide(problem.k, shared)) * place + kernels.block);
      const double sharing = shared > 1 ? kernels.shared_sum + handed_over * static_cast<double>(shared) : 0;
      least = std::min(least, sums + sharing);
    }
  }
  return least;
}

/// Bytes beyond what the cache keeps come from memory every time.
double of_memory(double bytes, const Kernels& kernels, const Ceilings& ceilings) {
  const double kept = 0.8 * static_cast<double>(ceilings.l2_bytes);
  constexpr double share_of_memory = 0.93;
  return 1e-6 * std::min(bytes, kept) / kernels.memory +
         1e6 * std::max(0.0, bytes - kept) / (share_of_memory * ceilings.bytes_a_second);
}

/// Of another device the rates of an H200, each as much less as the device's own are.
Kernels kernels_of(DenseKind kind, const Ceilings& ceilings) {
  Kernels kernels = fitted[static_cast<std::size_t>(kind)];
  const Ceilings& known = measured_device;
  const bool halves =
      kind <= DenseKind::half_of_2 || kind == DenseKind::convolution_of_halves || kind == DenseKind::bytes;
  kernels.launch *= ceilings.launch_microseconds / known.launch_microseconds;
  kernels.operations *= halves ? ceilings.tensor_operations_a_second / known.tensor_operations_a_second
                               : ceilings.operations_a_second / known.operations_a_second;
  kernels.reads *= ceilings.l2_bytes_a_second / known.l2_bytes_a_second;
  kernels.memory *= ceilings.l2_bytes_a_second / known.l2_bytes_a_second;
  for (double* time : {&kernels.place, &kernels.block, &kernels.shared_sum})
    *time *= known.cycles_a_second / ceilings.cycles_a_second;
  return kernels;
}

}  // namespace

DenseKind dense_kind_of(const ProblemSummary& problem) {
  const bool halves = is_half(problem.dtype);
  if (problem.convolution) return halves ? DenseKind::convolution_of_halves : DenseKind::convolution;
  if (is_factor_of_a_byte(problem.dtype)) return DenseKind::bytes;
  if (problem.n == 1) return DenseKind::vector;
  if (!halves) return DenseKind::singles;
  const std::int64_t alignment = alignment_of(problem.n, problem.k);
  return alignment == 8 ? DenseKind::half_of_16 : alignment > 1 ? DenseKind::half_of_4 : DenseKind::half_of_2;
}

double dense_bound(const ProblemSummary& problem, const Ceilings& ceilings) {
  constexpr double order = 3;  ///< the norm that joins what is needed at the same time
  constexpr std::int64_t most_shared = 16;
  const DenseKind kind = dense_kind_of(problem);
  const Kernels kernels = kernels_of(kind, ceilings);
  // Convolutions of f32 share no sums.
  const double sums =
      of_sums(problem, kernels, kind == DenseKind::convolution ? 1 : most_shared, ceilings.multiprocessors);
  ProblemSummary dense = problem;
  dense.stored = problem.m * problem.k;
  const double memory = of_memory(dense.bytes(), kernels, ceilings);
  return kernels.launch + std::pow(std::pow(sums, order) + std::pow(memory, order), 1 / order);
}

}  // namespace weft
