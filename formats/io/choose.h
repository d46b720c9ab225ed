// Which of a file's tensors is meant.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::io {

/// Stands for an extent that only reading tells.
constexpr std::int64_t unknown_extent = -1;

/// A tensor as a person sees it in a list.
struct Candidate {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
};

enum class Wanted { weight, any_array };

/// The index of the tensor named `name`. Without a name: the only one; for a weight, the only one of at least
/// two dimensions. Otherwise UserError that lists the tensors.
std::size_t choose(std::span<const Candidate> candidates, const std::string& name, Wanted wanted,
                   const std::string& origin);

}  // namespace weft::io
