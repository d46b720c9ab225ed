// What is done for the C++ type of an element type.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>

namespace weft {

/// A C++ type as a value.
template <class T>
struct ElementType {};

namespace detail {

template <class First, class... Rest, class Visit>
decltype(auto) visit_one_of(ElementList<First, Rest...>, DType dtype, const Visit& visit) {
  if (dtype == dtype_of<First>) return visit(ElementType<First>{});
  if constexpr (sizeof...(Rest) > 0) return visit_one_of(ElementList<Rest...>{}, dtype, visit);
  throw InternalError("an element type outside the list");
}

}  // namespace detail

/// `visit(ElementType<T>{})`, T being the C++ type that `dtype` stands for.
template <class Visit>
decltype(auto) with_element_type(DType dtype, const Visit& visit) {
  return detail::visit_one_of(detail::Elements{}, dtype, visit);
}

}  // namespace weft
