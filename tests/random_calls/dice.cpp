#include "random_calls/dice.h"

#include <limits>

namespace weft::test {

std::int64_t Dice::wild_number() {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t power = std::int64_t{1} << between(0, 62);
  return any_of<std::int64_t>({0,
                               0,
                               -1,
                               -1,
                               1,
                               2,
                               3,
                               7,
                               31,
                               33,
                               1000,
                               1025,
                               65536,
                               (std::int64_t{1} << 31) - 1,
                               std::int64_t{1} << 31,
                               -(std::int64_t{1} << 31),
                               std::int64_t{1} << 32,
                               std::int64_t{1} << 62,
                               most,
                               -most - 1,
                               power,
                               power - 1,
                               -power});
}

std::string Dice::odd_name() {
  return any_of<std::string>(
      {"sum",     "errno",   "NULL",    "stdin",    "EOF",     "INFINITY",  "values",  "begin",   "column",
       "row",     "outer",   "inner",   "group",    "place",   "block",     "lane",    "warp",    "thread",
       "shared",  "main",    "exp",     "erf",      "max",     "min",       "f32",     "f16",     "half",
       "kernel",  "weft",    "C1",      "A_values", "A_sum",   "B_shared",  "C_sum",   "n_outer", "n_inner",
       "block_x", "tid",     "acc",     "result",   "output",  "printf",    "malloc",  "assert",  "threadIdx",
       "dim3",    "float4",  "signed_", "N_",       "k_group", "workspace", "zero",    "entry",   "ret",
       "param",   "reg",     "mov",     "add",      "x",       "size",      "M_PI",    "DBL_MAX", "I",
       "std",     "uint8_t", "size_t",  "memcpy",   "linear",  "spmm",      "weights", "bias",    "alpha"});
}

std::string Dice::wild_name() {
  return any_of<std::string>({"",
                              "A.values",
                              "a b",
                              "1x",
                              "x__y",
                              "_x",
                              "int",
                              "for",
                              "operator",
                              "x-y",
                              "\xc3\xa9",
                              "\xff\xfe",
                              "a\nb",
                              "\"",
                              "*/",
                              "a\0b",
                              "%s%n",
                              "{}",
                              "{0}",
                              "nosuch",
                              "m.outer",
                              "k.group",
                              "n.inner.outer",
                              "m.block",
                              "k.block",
                              "../x",
                              "/dev/full",
                              std::string(300, 'a'),
                              std::string(5000, 'q')});
}

std::string Dice::wild_text() {
  return any_of<std::string>({"",
                              " ",
                              "null",
                              "{}",
                              "[]",
                              "4.7",
                              "9223372036854775808",
                              "1e999",
                              "-0",
                              "NaN",
                              "true",
                              "\"",
                              "[[[[",
                              "{\"a\":",
                              "\xff\xff",
                              "\0x",
                              "%s%n%d",
                              "sum",
                              "[{}]",
                              "[null]",
                              "0x10",
                              "+5",
                              "1,2",
                              "--",
                              "=",
                              ":",
                              "a:b=c,d",
                              "a=1",
                              std::string(2000, '['),
                              std::string(2000, '9')});
}

std::string Dice::damaged(std::string text) {
  for (std::int64_t i = between(1, 3); i > 0; --i) {
    if (text.empty()) return wild_text();
    const auto at = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(text.size()) - 1));
    const auto length = static_cast<std::size_t>(between(1, 12));
    switch (between(0, 6)) {
      case 0: text[at] = static_cast<char>(between(0, 255)); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, wild_text()); break;
      case 3: text.insert(at, text.substr(at, length)); break;
      case 4: text.resize(at); break;
      default: {
        // The next number, or the next word.
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789", digit);
        text.replace(digit, end == std::string::npos ? end : end - digit,
                     chance(80) ? std::to_string(wild_number()) : wild_text());
      }
    }
  }
  return text;
}

}  // namespace weft::test
