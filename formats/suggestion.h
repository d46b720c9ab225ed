// What a mistyped name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

/// The candidate nearest to `name`, in up to two changed, missing, surplus or exchanged letters and fewer
/// than half of the word; else one that begins with it, or that it begins with, in three letters or more;
/// nothing when there is none. Case counts for nothing.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "; did you mean csr?", or nothing, as where there is but one, which a list of them names.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

/// ": 0.9 for 90 %" where a number was meant as per cent, else nothing.
std::string as_share(double number);

}  // namespace weft
