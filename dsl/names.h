// Which names can be given: they become names in generated C++, so they have to be identifiers there.
#pragma once

#include <weft/dsl/compiler.h>

#include <string>
#include <string_view>

namespace weft {

/// Letters, digits and single underscores, not beginning with a digit or an underscore, no word of C++.
bool is_identifier(std::string_view name);

/// What `is_identifier` accepts, for the last line of a message.
inline constexpr std::string_view identifier_rule =
    "letters, digits and single underscores, beginning with a letter, and no word of C++";

/// Throws UserError unless `name` is an identifier. `kind` says what it names: "index", "tensor".
void require_identifier(std::string_view name, const std::string& kind, const std::string& where);

}  // namespace weft
