// Fields of a suite that nobody would read: misspelled, or where they have no meaning.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

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

/// What else a file lacks that lacks this field, so that one run tells all: ", as are dtype, M". Empty where
/// there is nothing.
std::string missing_beside(const nlohmann::json& object, bool is_suite, std::string_view field);

/// The field that stands there in place of this one, misspelled; empty where there is none.
std::string name_in_place_of(const nlohmann::json& object, std::string_view field);

}  // namespace weft
