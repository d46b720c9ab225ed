// Handles: values whose copies share what they stand for, and that may stand for nothing.
#pragma once

#include <weft/dsl/errors.h>

#include <memory>

namespace weft {

/// Throws the UserError of a handle that holds nothing, with the line at which it was used.
[[noreturn]] void refuse_empty_handle(const char* handle, const char* maker, CallPlace place);

/// What a handle holds. UserError, with the user's line, where that is nothing: its default constructor made
/// it, or it was moved from. `handle` is its type, `maker` what makes one that holds something.
template <class Content>
Content& held(const std::shared_ptr<Content>& content, const char* handle, const char* maker,
              CallPlace place) {
  if (content == nullptr) refuse_empty_handle(handle, maker, place);
  return *content;
}

}  // namespace weft
