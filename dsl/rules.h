// What the types decide about an assignment. Each rule is a constant, so that tests can ask for it; the
// sentences stand in assignment.h.
#pragma once

#include <weft/dsl/expression.h>

#include <boost/hana/contains.hpp>
#include <boost/hana/difference.hpp>
#include <boost/hana/intersection.hpp>
#include <boost/hana/is_subset.hpp>
#include <boost/hana/set.hpp>
#include <boost/hana/size.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/union.hpp>
#include <cstddef>

namespace weft::detail {

namespace hana = boost::hana;

template <class... Indices>
using Set = decltype(hana::make_set(hana::type_c<Indices>...));
template <class Left, class Right>
using Union = decltype(hana::union_(Left{}, Right{}));

template <class Set>
inline constexpr std::size_t size_of_set = decltype(hana::size(Set{}))::value;
template <class Left, class Right>
inline constexpr bool is_subset_of = decltype(hana::is_subset(Left{}, Right{}))::value;
template <class Left, class Right>
inline constexpr bool are_disjoint = size_of_set<decltype(hana::intersection(Left{}, Right{}))> == 0;
template <class Set, class Index>
inline constexpr bool has_index = decltype(hana::contains(Set{}, hana::type_c<Index>))::value;

/// The indices of a list that may name one twice.
template <class List, class Found = Set<>>
struct SetOfList {
  using Type = Found;
};
template <class Index, class... Rest, class Found>
struct SetOfList<Types<Index, Rest...>, Found>
    : SetOfList<Types<Rest...>, decltype(hana::insert(Found{}, hana::type_c<Index>))> {};
template <class List>
using SetOf = typename SetOfList<List>::Type;

template <class Use>
struct IndicesOfUse {
  using Type = Types<Use>;
};
template <class... Indices>
struct IndicesOfUse<IndexSum<Indices...>> {
  using Type = Types<Indices...>;
};

/// Why the indices of an access are not those of a matrix of weights.
enum class NoMatrix { none, reduced_first, output_behind, lacks_reduction, index_twice };

template <class T>
struct AccessFacts;
template <class E, Storage s, class... Uses>
struct AccessFacts<Access<E, s, Uses...>> {
  using Element = E;
  using List = Chained<typename IndicesOfUse<Uses>::Type...>;
  using Indices = SetOf<List>;
  static constexpr std::size_t rank = sizeof...(Uses);
  static constexpr bool is_sparse = s == Storage::sparse;
  static constexpr bool is_plain = (is_index<Uses> && ...);
  static constexpr bool names_no_index_twice = size_of_set<Indices> == rank;

  /// Output indices, then every reduction index: the rows and the columns of a matrix of weights.
  template <class Reductions>
  static constexpr NoMatrix no_matrix() {
    const bool reduced[] = {has_index<Reductions, Uses>...};
    if (reduced[0]) return NoMatrix::reduced_first;
    for (std::size_t i = 1; i < rank; ++i) {
      if (reduced[i - 1] && !reduced[i]) return NoMatrix::output_behind;
    }
    if (!is_subset_of<Reductions, Indices>) return NoMatrix::lacks_reduction;
    return names_no_index_twice ? NoMatrix::none : NoMatrix::index_twice;
  }
};

template <class Accesses>
struct EpilogueFacts;
template <class... Accesses>
struct EpilogueFacts<Types<Accesses...>> {
  using List = Chained<typename AccessFacts<Accesses>::List...>;
  using Indices = SetOf<List>;
  static constexpr bool is_dense = !(AccessFacts<Accesses>::is_sparse || ...);
  template <class Accumulator>
  static constexpr bool fits =
      ((sizeof(typename AccessFacts<Accesses>::Element) <= sizeof(Accumulator)) && ...);
};

/// The indices of a list that a set has (`wanted`) or lacks, each once: what a message is about.
template <class Found, class Set, bool wanted, class... Indices>
struct Picked {
  using Type = Found;
};
template <class... Found, class Set, bool wanted, class Index, class... Rest>
struct Picked<Types<Found...>, Set, wanted, Index, Rest...>
    : Picked<std::conditional_t<has_index<Set, Index> == wanted && !(std::same_as<Found, Index> || ...),
                                Types<Found..., Index>, Types<Found...>>,
             Set, wanted, Rest...> {};
template <class List, class Set, bool wanted>
struct PickedOfList;
template <class... Indices, class Set, bool wanted>
struct PickedOfList<Types<Indices...>, Set, wanted> : Picked<Types<>, Set, wanted, Indices...> {};
template <class List, class Set>
using Inside = typename PickedOfList<List, Set, true>::Type;
template <class List, class Set>
using Outside = typename PickedOfList<List, Set, false>::Type;

/// The indices that a list names again.
template <class Seen, class... Indices>
struct Repeats {
  using Type = Types<>;
};
template <class... Seen, class Index, class... Rest>
struct Repeats<Types<Seen...>, Index, Rest...> {
  using Type = Chained<std::conditional_t<(std::same_as<Seen, Index> || ...), Types<Index>, Types<>>,
                       typename Repeats<Types<Seen..., Index>, Rest...>::Type>;
};
template <class List>
struct RepeatsOfList;
template <class... Indices>
struct RepeatsOfList<Types<Indices...>> : Repeats<Types<>, Indices...> {};

/// The first rule that an assignment breaks: the user gets one sentence about it, not one about each
/// consequence.
enum class Broken {
  none,
  output_plain,
  output_twice,
  output_reduction,
  reduction_twice,
  output_sparse,
  factors_sparse,
  epilogue_sparse,
  output_unknown,
  reduction_unknown,
  factor_unknown,
  epilogue_reduction,
  epilogue_unknown,
  sparse_plain,
  sparse_matrix,
  factors_type,
  output_type,
  epilogue_type
};

template <class Output, class Sum, class Accesses>
struct Rules;
/// The rules of `output = epilogue(sum(reductions, left * right))`.
template <class Output, class... Reduced, class Left, class Right, class Accesses>
struct Rules<Output, SumOf<Types<Reduced...>, Left, Right>, Accesses> {
  using OutputFacts = AccessFacts<Output>;
  using LeftFacts = AccessFacts<Left>;
  using RightFacts = AccessFacts<Right>;
  using Epilogue = EpilogueFacts<Accesses>;
  using Outputs = typename OutputFacts::Indices;
  using Reductions = SetOf<Types<Reduced...>>;
  using Factors = Union<typename LeftFacts::Indices, typename RightFacts::Indices>;
  using All = Union<Outputs, Reductions>;
  using Element = typename LeftFacts::Element;
  using Accumulator = std::conditional_t<std::same_as<Element, f64>, f64, f32>;

  static constexpr bool output_is_plain = OutputFacts::is_plain;
  static constexpr bool output_indices_differ = !OutputFacts::is_plain || OutputFacts::names_no_index_twice;
  static constexpr bool output_indices_are_in_factors = is_subset_of<Outputs, Factors>;
  static constexpr bool output_has_no_reduction = are_disjoint<Outputs, Reductions>;
  static constexpr bool reductions_differ = size_of_set<Reductions> == sizeof...(Reduced);
  static constexpr bool reductions_are_in_factors = is_subset_of<Reductions, Factors>;
  static constexpr bool factor_indices_are_known = is_subset_of<Factors, All>;
  static constexpr bool epilogue_has_no_reduction = are_disjoint<typename Epilogue::Indices, Reductions>;
  static constexpr bool epilogue_indices_are_known = is_subset_of<typename Epilogue::Indices, All>;

  static constexpr bool one_factor_is_dense = !(LeftFacts::is_sparse && RightFacts::is_sparse);
  static constexpr bool output_is_dense = !OutputFacts::is_sparse;
  static constexpr bool epilogue_is_dense = Epilogue::is_dense;
  static constexpr bool sparse_is_plain =
      (!LeftFacts::is_sparse || LeftFacts::is_plain) && (!RightFacts::is_sparse || RightFacts::is_plain);

  template <class Facts>
  static constexpr NoMatrix no_matrix_of() {
    if constexpr (Facts::is_sparse && Facts::is_plain) return Facts::template no_matrix<Reductions>();
    return NoMatrix::none;
  }
  static constexpr NoMatrix sparse_is_no_matrix =
      LeftFacts::is_sparse ? no_matrix_of<LeftFacts>() : no_matrix_of<RightFacts>();
  static constexpr bool sparse_is_matrix = sparse_is_no_matrix == NoMatrix::none;

  static constexpr bool factors_have_one_type = std::same_as<Element, typename RightFacts::Element>;
  using Stored = typename OutputFacts::Element;
  template <class T>
  static constexpr bool has_a_byte = std::same_as<T, e4m3> || std::same_as<T, e5m2> || std::same_as<T, i8>;
  static constexpr bool output_has_a_fitting_type =
      std::same_as<Stored, Element> || std::same_as<Stored, f32> || has_a_byte<Stored> ||
      (has_a_byte<Element> && (std::same_as<Stored, f16> || std::same_as<Stored, bf16>));
  static constexpr bool epilogue_fits_accumulator = Epilogue::template fits<Accumulator>;

  static constexpr Broken broken = !output_is_plain                 ? Broken::output_plain
                                   : !output_indices_differ         ? Broken::output_twice
                                   : !output_has_no_reduction       ? Broken::output_reduction
                                   : !reductions_differ             ? Broken::reduction_twice
                                   : !output_is_dense               ? Broken::output_sparse
                                   : !one_factor_is_dense           ? Broken::factors_sparse
                                   : !epilogue_is_dense             ? Broken::epilogue_sparse
                                   : !output_indices_are_in_factors ? Broken::output_unknown
                                   : !reductions_are_in_factors     ? Broken::reduction_unknown
                                   : !factor_indices_are_known      ? Broken::factor_unknown
                                   : !epilogue_has_no_reduction     ? Broken::epilogue_reduction
                                   : !epilogue_indices_are_known    ? Broken::epilogue_unknown
                                   : !sparse_is_plain               ? Broken::sparse_plain
                                   : !sparse_is_matrix              ? Broken::sparse_matrix
                                   : !factors_have_one_type         ? Broken::factors_type
                                   : !output_has_a_fitting_type     ? Broken::output_type
                                   : !epilogue_fits_accumulator     ? Broken::epilogue_type
                                                                    : Broken::none;
  static constexpr bool all = broken == Broken::none;

  /// What breaks it: the indices, or else the accesses. The compiler shows them beside the sentence.
  static constexpr auto found() {
    using FactorList = Chained<typename LeftFacts::List, typename RightFacts::List>;
    using EpilogueList = typename Epilogue::List;
    if constexpr (broken == Broken::output_twice) {
      return typename RepeatsOfList<typename OutputFacts::List>::Type{};
    } else if constexpr (broken == Broken::output_reduction) {
      return Inside<typename OutputFacts::List, Reductions>{};
    } else if constexpr (broken == Broken::reduction_twice) {
      return typename RepeatsOfList<Types<Reduced...>>::Type{};
    } else if constexpr (broken == Broken::output_unknown) {
      return Outside<typename OutputFacts::List, Factors>{};
    } else if constexpr (broken == Broken::reduction_unknown) {
      return Outside<Types<Reduced...>, Factors>{};
    } else if constexpr (broken == Broken::factor_unknown) {
      return Outside<FactorList, All>{};
    } else if constexpr (broken == Broken::epilogue_reduction) {
      return Inside<EpilogueList, Reductions>{};
    } else if constexpr (broken == Broken::epilogue_unknown) {
      return Outside<EpilogueList, All>{};
    } else if constexpr (broken == Broken::output_plain || broken == Broken::output_sparse) {
      return Types<Output>{};
    } else if constexpr (broken == Broken::epilogue_sparse || broken == Broken::epilogue_type) {
      return Accesses{};
    } else if constexpr (broken == Broken::output_type) {
      return Types<Output, Left>{};
    } else if constexpr (broken == Broken::sparse_plain || broken == Broken::sparse_matrix) {
      return Types<std::conditional_t<LeftFacts::is_sparse, Left, Right>>{};
    } else {
      return Types<Left, Right>{};
    }
  }
};

/// Rules of an expression with exactly one sum; `all` is false for every other right side.
template <class Output, class Right>
struct RulesOf {
  static constexpr bool all = false;
};
template <class Output, class Sum, class Accesses>
struct RulesOf<Output, Expression<Types<Sum>, Accesses>> : Rules<Output, Sum, Accesses> {};
template <class Output, class Accesses>
struct RulesOf<Output, Expression<Types<BrokenSum>, Accesses>> {
  static constexpr bool all = false;
};

}  // namespace weft::detail
