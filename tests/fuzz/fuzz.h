// What every fuzz target shares: a UserError is an answer, anything else that is thrown is a finding.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/io/bytes.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace weft::fuzz {

/// What a reader lets through must be a weight that every format can pack.
inline void demand_sound(const WeightMatrix& matrix) {
  matrix.check();
  for (std::int64_t i = 0; i < matrix.values.size(); ++i) {
    if (!std::isfinite(matrix.values.get(i))) std::abort();
  }
}

template <class Parse>
int run(const std::uint8_t* data, std::size_t size, Parse&& parse) {
  try {
    parse(std::as_bytes(std::span(data, size)));
  } catch (const UserError&) {
    return 0;
  }
  return 0;
}

}  // namespace weft::fuzz
