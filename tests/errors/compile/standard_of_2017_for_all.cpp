// expect: weft: this program is not compiled as C++20
// flags: -std=c++17
// fixed flags: -std=c++20
#include <weft/weft.h>  // here

int main() {}
