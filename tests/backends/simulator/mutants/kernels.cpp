#include "kernels.h"

#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <random>
#include <sstream>

namespace weft::mutants {
namespace {

using Integers = std::vector<int>;

Integers random_integers(std::mt19937_64& random, std::size_t count, int most) {
  Integers values(count);
  const auto range = 2 * static_cast<std::uint64_t>(most) + 1;
  for (int& value : values) value = static_cast<int>(random() % range) - most;
  return values;
}

Words as_integers(const Integers& values) {
  return {values.begin(), values.end()};
}

Words as_floats(const Integers& values) {
  Words words;
  for (const int value : values) words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return words;
}

Words as_halves(const Integers& values) {
  Words words(values.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    words[i / 2] |= std::uint32_t{f16(static_cast<float>(values[i])).bits} << 16 * (i % 2);
  return words;
}

/// Row-major [m x k] * [k x n].
Integers product(const Integers& a, const Integers& b, std::size_t m, std::size_t n, std::size_t k) {
  Integers c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t l = 0; l < k; ++l)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
  return c;
}

Problem tile_product(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers a = random_integers(random, 30 * 44, 4), b = random_integers(random, 44 * 27, 4);
  return {{as_floats(a), as_floats(b)}, as_floats(product(a, b, 30, 27, 44)), {}, {}};
}

Problem block_sum(std::uint64_t seed) {
  constexpr std::size_t rows = 6, columns = 128;
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, rows * columns, 1000);
  Integers out(x.size());
  for (std::size_t row = 0; row < rows; ++row) {
    int sum = 0;
    for (std::size_t i = 0; i < columns; ++i) sum += x[row * columns + i];
    for (std::size_t i = 0; i < columns; ++i) out[row * columns + i] = 4 * x[row * columns + i] - sum;
  }
  return {{as_integers(x)}, as_integers(out), {}, {}};
}

Problem copy_ring(std::uint64_t seed) {
  constexpr std::size_t quads = 434, quads_of_row = 64;
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, 4 * quads, 50);
  Integers out(4 * quads_of_row);
  for (std::size_t row = 0; row < 7; ++row) {
    for (std::size_t quad = 0; quad < quads_of_row; ++quad) {
      const std::size_t from = row * quads_of_row + (quad + 33) % quads_of_row;
      for (std::size_t i = 0; i < 4 && from < quads; ++i)
        out[4 * quad + i] += static_cast<int>(row + 1) * x[4 * from + i];
    }
  }
  return {{as_floats(x)}, as_floats(out), {}, {}};
}

Problem half_product(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers a = random_integers(random, 32 * 64, 4), b = random_integers(random, 64 * 16, 4);
  return {{as_halves(a), as_halves(b)}, as_floats(product(a, b, 32, 16, 64)), {}, {}};
}

/// Two of four, the smaller index first.
Problem sparse_product(std::uint64_t seed) {
  constexpr std::size_t rows = 32, columns = 8, inner = 64;
  std::mt19937_64 random(seed);
  Integers a(rows * inner), stored = random_integers(random, rows * inner / 2, 4);
  for (int& value : stored) value += value >= 0 ? 1 : 0;  // none is zero
  Words metadata(64);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t group = 0; group < inner / 4; ++group) {
      const std::size_t first = random() % 3, second = first + 1 + random() % (3 - first);
      a[row * inner + 4 * group + first] = stored[row * inner / 2 + 2 * group];
      a[row * inner + 4 * group + second] = stored[row * inner / 2 + 2 * group + 1];
      const std::size_t step = group / 8, half = group / 4 % 2;
      const std::size_t word = row / 16 * 32 + step * 16 + row % 8 * 2 + half;
      const std::size_t shift = row % 16 / 8 * 16 + group % 4 * 4;
      metadata[word] |= static_cast<std::uint32_t>(first | second << 2) << shift;
    }
  }
  const Integers b = random_integers(random, inner * columns, 4);
  Integers by_columns(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) by_columns[i % columns * inner + i / columns] = b[i];
  return {{as_halves(stored), metadata, as_halves(by_columns)},
          as_floats(product(a, b, rows, columns, inner)),
          {},
          {}};
}

Problem barrier_ring(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, std::size_t{6} * 128, 50);
  Integers out(256);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t warp = i / 128, place = (i + 4 * (warp + 1)) % 128;
    for (std::size_t row = 0; row < 6; ++row) out[i] += x[row * 128 + place];
  }
  return {{as_floats(x)}, as_floats(out), {}, {}};
}

Problem bulk_ring(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, std::size_t{5} * 256, 50);
  Integers out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = 2 * x[i ^ 33U] + static_cast<int>(i / 256);
  return {{as_floats(x)}, as_floats(out), {}, {}};
}

Problem wide_product(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers a = random_integers(random, 64 * 256, 4), b = random_integers(random, 256 * 64, 4);
  return {{as_halves(a), as_halves(b)}, as_floats(product(a, b, 64, 64, 256)), {}, {}};
}

Problem tensor_product(std::uint64_t seed) {
  Problem problem = wide_product(seed);
  problem.maps = {{0, 64, 256}, {1, 256, 64}};
  return problem;
}

Problem split_sum(std::uint64_t seed) {
  constexpr std::size_t rows = 20, columns = 64, threads = 5 * 64;
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, rows * columns, 1000);
  Integers out(columns, threads);
  for (std::size_t i = 0; i < x.size(); ++i) out[i % columns] += x[i];
  return {{as_integers(x), Words(2)}, as_integers(out), {threads}, {}};
}

Problem cluster_exchange(std::uint64_t seed) {
  constexpr std::size_t clusters = 3, columns = 64;
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, clusters * columns, 1000);
  Integers out(2 * clusters * columns);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t block = i / columns;
    out[i] = 3 * x[block / 2 * columns + i % columns] + (block % 2 == 0 ? 10 : 0);
  }
  return {{as_integers(x)}, as_integers(out), {}, {}};
}

Problem named_barriers(std::uint64_t seed) {
  constexpr std::size_t rows = 5, columns = 64;
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, rows * columns, 1000);
  Integers out(columns);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < columns; ++i)
      out[i] += static_cast<int>(row + 1) * x[row * columns + columns - 1 - i];
  return {{as_integers(x)}, as_integers(out), {}, {}};
}

Problem flags(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Integers x = random_integers(random, 32, 1000);
  Integers out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = 6 * x[x.size() - 1 - i] + 1;
  return {{as_integers(x), Words(1)}, as_integers(out), {x.size()}, {}};
}

constexpr Kernel table[] = {
    {"tile_product", {{2, 2, 1}, {16, 16, 1}, 0}, tile_product},
    {"block_sum", {{3, 1, 1}, {128, 1, 1}, 0}, block_sum},
    {"copy_ring", {{1, 1, 1}, {64, 1, 1}, 0}, copy_ring},
    {"half_product", {{1, 1, 1}, {64, 1, 1}, 0}, half_product},
    {"sparse_product", {{1, 1, 1}, {64, 1, 1}, 0}, sparse_product},
    {"barrier_ring", {{1, 1, 1}, {96, 1, 1}, 0}, barrier_ring},
    {"bulk_ring", {{1, 1, 1}, {256, 1, 1}, 0}, bulk_ring},
    {"warpgroup_product", {{1, 1, 1}, {128, 1, 1}, 0}, wide_product},
    {"tensor_product", {{1, 1, 1}, {128, 1, 1}, 0}, tensor_product},
    {"split_sum", {{5, 1, 1}, {64, 1, 1}, 0}, split_sum},
    {"cluster_exchange", {{6, 1, 1}, {64, 1, 1}, 0}, cluster_exchange},
    {"named_barriers", {{1, 1, 1}, {128, 1, 1}, 0}, named_barriers},
    // The same order in forms that compute-sanitizer's racecheck follows.
    {"named_barriers_synced", {{1, 1, 1}, {128, 1, 1}, 0}, named_barriers},
    {"barrier_ring_of_lanes", {{1, 1, 1}, {96, 1, 1}, 0}, barrier_ring},
    {"flags_beside_barriers", {{1, 1, 1}, {64, 1, 1}, 0}, flags},
    {"flags", {{1, 1, 1}, {64, 1, 1}, 0}, flags},
};

}  // namespace

std::span<const Kernel> kernels() {
  return table;
}

const Kernel& kernel_named(const std::string& name) {
  const auto found = std::ranges::find_if(table, [&](const Kernel& kernel) { return name == kernel.name; });
  if (found == std::ranges::end(table)) {
    std::string names;
    for (const Kernel& kernel : table) names += std::string(names.empty() ? "" : ", ") + kernel.name;
    throw UserError("choosing a kernel", "no '" + name + "'", names);
  }
  return *found;
}

std::string read_ptx(const std::string& folder, const std::string& kernel) {
  const std::string path = folder + "/" + kernel + ".ptx";
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw RuntimeError("cannot read " + path);
  return text.str();
}

}  // namespace weft::mutants
