// What mma and wgmma have in common in their modifiers.
#pragma once

#include <weft/backends/simulator/execute/matrix_fragments.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::simulator::matrix {

/// The modifiers of a matrix instruction.
struct Modifiers {
  Shape shape{.rows = 0};  ///< M and K of mMnNkK
  int columns = 0;
  bool is_row_by_column = false;        ///< .row.col
  std::vector<std::string_view> types;  ///< in order
};

/// Reads them; nothing for a word that is none of theirs.
std::optional<Modifiers> read_modifiers(const ptx::Instruction& instruction);
std::optional<Element> element_of(std::string_view type);
std::optional<Sum> sum_of(std::string_view type);

/// Types that multiply, and what their products are summed in.
struct Product {
  Element a, b;
  Sum sum;
};
constexpr std::array<Product, 17> products{{
    {Element::f16, Element::f16, Sum::f16},
    {Element::f16, Element::f16, Sum::f32},
    {Element::bf16, Element::bf16, Sum::f32},
    {Element::tf32, Element::tf32, Sum::f32},
    {Element::f64, Element::f64, Sum::f64},
    {Element::s8, Element::s8, Sum::s32},
    {Element::s8, Element::u8, Sum::s32},
    {Element::u8, Element::s8, Sum::s32},
    {Element::u8, Element::u8, Sum::s32},
    {Element::e4m3, Element::e4m3, Sum::f16},
    {Element::e4m3, Element::e4m3, Sum::f32},
    {Element::e4m3, Element::e5m2, Sum::f16},
    {Element::e4m3, Element::e5m2, Sum::f32},
    {Element::e5m2, Element::e4m3, Sum::f16},
    {Element::e5m2, Element::e4m3, Sum::f32},
    {Element::e5m2, Element::e5m2, Sum::f16},
    {Element::e5m2, Element::e5m2, Sum::f32},
}};

/// Calls make.operator()<a, b, sum>() for a product of the table; null for another.
template <class Make>
Handler for_product(Element a, Element b, Sum sum, Make make) {
  Handler made = nullptr;
  const auto try_product = [&]<std::size_t which>() {
    constexpr Product product = products[which];
    if (product.a == a && product.b == b && product.sum == sum)
      made = make.template operator()<product.a, product.b, product.sum>();
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (try_product.template operator()<I>(), ...);
  }(std::make_index_sequence<products.size()>{});
  return made;
}

}  // namespace weft::simulator::matrix
