// Arrays of integers as vectors.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

/// Of any type.
inline std::vector<std::int64_t> integers(const SparseTensor& tensor, const std::string& name) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < tensor.array(name).size(); ++i)
    result.push_back(tensor.array(name).get_integer(i));
  return result;
}

/// Of an array that has to be of i32.
inline std::vector<std::int32_t> integers_of_i32(const SparseTensor& tensor, const std::string& name) {
  const auto span = tensor.array(name).as<std::int32_t>();
  return {span.begin(), span.end()};
}

}  // namespace weft::test
