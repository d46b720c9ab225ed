// expect: weft: this compiler is too old
// expect: g++ 11 or newer, clang 15 or newer
// flags: -U__GNUC__ -D__GNUC__=10 -U__clang_major__ -D__clang_major__=14
// fixed flags: -std=c++20
#include <weft/dsl/assignment.h>  // here

int main() {}
