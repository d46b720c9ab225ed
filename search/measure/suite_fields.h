// Fields of a suite that nobody would read: misspelled, or where they have no meaning.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace weft {

/// Whose fields they are.
enum class SuitePart : std::uint8_t {
  suite,         ///< for all problems
  suite_of_own,  ///< around problems that each have all
  problem,       ///< a size alone
  own_problem,   ///< a problem with an element type and a pattern of its own
};

struct IdleField {
  std::string name;
  std::string accepted;
};

/// The first one; what a suite says about itself, such as "note" or times of others, is none.
std::optional<IdleField> idle_field(const nlohmann::json& object, SuitePart part);

}  // namespace weft
