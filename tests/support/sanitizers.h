// Which sanitizer a test is built with: some need no less memory than there is addresses, all are slow.
#pragma once

namespace weft {

#if defined(__has_feature)
#define WEFT_HAS_SANITIZER(name) __has_feature(name)
#else
#define WEFT_HAS_SANITIZER(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WEFT_HAS_SANITIZER(address_sanitizer)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || WEFT_HAS_SANITIZER(thread_sanitizer)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif
/// Of undefined behaviour only clang says that it is compiled in.
inline constexpr bool under_sanitizer =
    under_address_sanitizer || under_thread_sanitizer || WEFT_HAS_SANITIZER(undefined_behavior_sanitizer);

#undef WEFT_HAS_SANITIZER

}  // namespace weft
