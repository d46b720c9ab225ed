// Numbers and names read from words: those of flags, files and fields.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace weft {

/// The number that the whole text is; nothing for other texts.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// The value of an enumeration whose names stand in the order of its values; nothing for another name.
template <class Enumeration, std::size_t count>
std::optional<Enumeration> value_named(const std::array<std::string_view, count>& names,
                                       std::string_view name) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enumeration>(i);
  }
  return std::nullopt;
}

}  // namespace weft
