// Patterns of weights that keep two of four columns, by name.
#pragma once

#include <weft/formats/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// 2:4, or V:2:M: groups of `rows` rows keep four of each `of` columns, and every row two of these.
struct PairPattern {
  std::int64_t rows = 0;  ///< 0 of 2:4, where every row is by itself
  std::int64_t of = 4;

  double sparsity() const { return 1 - 2 / static_cast<double>(of); }
  std::string text() const;  ///< "2:4", "64:2:16"
  Format format() const;     ///< n_m, or v_n_m with V and M
  bool operator==(const PairPattern&) const = default;
};

inline constexpr const char* pair_pattern_spelling =
    "\"2:4\", or V:2:M as \"64:2:16\", V from 1 to 1024, M from 4 to 256";

/// Nothing for a text that names none.
std::optional<PairPattern> pair_pattern_named(std::string_view text);

}  // namespace weft
