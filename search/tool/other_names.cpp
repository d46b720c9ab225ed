#include <weft/formats/suggestion.h>
#include <weft/search/tool/other_names.h>

#include <algorithm>

namespace weft::tool {
namespace {

struct OtherName {
  std::string_view other;
  std::string_view own;
};
constexpr OtherName other_names[] = {
    {"fp16", "f16"},           {"float16", "f16"},        {"half", "f16"},      {"bfloat16", "bf16"},
    {"fp32", "f32"},           {"float32", "f32"},        {"float", "f32"},     {"single", "f32"},
    {"tf32", "f32"},           {"fp64", "f64"},           {"float64", "f64"},   {"double", "f64"},
    {"matmul", "spmm"},        {"gemm", "spmm"},          {"mm", "spmm"},       {"product", "spmm"},
    {"gemv", "spmv"},          {"matvec", "spmv"},        {"fc", "linear"},     {"dense", "linear"},
    {"convolution", "conv2d"}, {"swish", "silu"},         {"identity", "none"}, {"off", "none"},
    {"logistic", "sigmoid"},   {"channels_last", "nhwc"},
};

char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view without_blanks(std::string_view word) {
  const std::size_t begin = word.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return word.substr(begin, word.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

std::string meant_by(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view bare = without_blanks(word);
  for (const auto& [other, own] : other_names) {
    const bool is_it = std::ranges::equal(bare, other, {}, lower_case);
    if (is_it && std::ranges::find(names, own) != names.end())
      return "; did you mean " + std::string(own) + "?";
  }
  return did_you_mean(bare, names);
}

}  // namespace weft::tool
