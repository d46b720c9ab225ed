// Which compiler weft needs. The header that every other one begins with, in words that every compiler reads,
// so that one which is too old says so and nothing else.
#pragma once

#if defined(__clang__)
#if __clang_major__ < 15
#define WEFT_COMPILER_IS_TOO_OLD
#endif
#elif defined(__GNUC__) && __GNUC__ < 11
#define WEFT_COMPILER_IS_TOO_OLD
#endif

#if defined(WEFT_COMPILER_IS_TOO_OLD)
#error "weft: this compiler is too old; accepted: g++ 11 or newer, clang 15 or newer"
#elif __cplusplus < 202002L
#error \
    "weft: this program is not compiled as C++20; accepted: -std=c++20 or newer, in CMake target_compile_features(NAME PRIVATE cxx_std_20)"
#endif

#if defined(WEFT_COMPILER_IS_TOO_OLD) || __cplusplus < 202002L
// A file that cannot be found ends the compilation; what follows would be a hundred lines about the same.
#include <weft/is_not_read_further_see_the_error_above>
#endif
