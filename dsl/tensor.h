// Tensors: a name, an element type, a rank and a storage in the type, a size for each dimension.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/index.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

namespace detail {

/// The rank of a tensor about which a message has been given.
inline constexpr std::size_t told_rank = static_cast<std::size_t>(-1);

/// What `sparse` is: a storage, and where a number is asked for, the rank of a tensor that was left out.
struct SparseWord {
  constexpr operator Storage() const { return Storage::sparse; }
  template <std::integral Number>
  constexpr operator Number() const {
    static_assert(never<Number>,
                  "weft: a tensor has its storage where its rank belongs; found: sparse in the second place; "
                  "accepted: the rank between element type and storage, such as Tensor<f32, 2, sparse>");
    return static_cast<Number>(told_rank);
  }
};

struct DenseWord {};

}  // namespace detail

/// `Tensor<f16, 2, sparse>`: pruned weights. Every other tensor is dense.
inline constexpr detail::SparseWord sparse{};
/// `Tensor<f16, 2, dense>`: what Tensor<f16, 2> is. A function, so that variables may be called so.
constexpr Storage dense(detail::DenseWord) {
  return Storage::dense;
}

/// The element types that weft computes with.
template <class T>
concept ComputableElement =
    std::same_as<T, f16> || std::same_as<T, bf16> || std::same_as<T, f32> || std::same_as<T, f64> ||
    std::same_as<T, e4m3> || std::same_as<T, e5m2> || std::same_as<T, i8>;

class Assignment;

namespace detail {

#define WEFT_NO_ELEMENT(holds, found)                                                                       \
  static_assert(!(holds),                                                                                   \
                "weft: an element type is not one of f16, bf16, f32, f64, e4m3, e5m2 and i8; found: " found \
                "; accepted: one of these, such as Tensor<f32, 2>")
/// A sentence for each type that somebody may want to compute with; one for all tensors of that type.
template <class Element>
constexpr void check_element() {
  constexpr bool boolean = std::same_as<Element, bool>;
  constexpr bool integer = std::integral<Element> && !boolean;
  constexpr bool left_out = std::is_void_v<Element>;
  constexpr bool extended = std::same_as<Element, long double>;
  constexpr bool computable = ComputableElement<Element>;
  // Of void there is no size.
  constexpr std::size_t size = sizeof(std::conditional_t<left_out, bool, Element>);
  WEFT_NO_ELEMENT(left_out, "none");
  WEFT_NO_ELEMENT(boolean, "bool");
  WEFT_NO_ELEMENT(integer && size == 1 && !computable, "an 8-bit integer other than i8");
  WEFT_NO_ELEMENT(integer && size == 2, "a 16-bit integer");
  WEFT_NO_ELEMENT(integer && size == 4, "a 32-bit integer");
  WEFT_NO_ELEMENT(integer && size == 8, "a 64-bit integer");
  WEFT_NO_ELEMENT(extended, "long double");
  WEFT_NO_ELEMENT(!computable && !boolean && !integer && !left_out && !extended,
                  "a type that is no number of C++ or weft");
}
#undef WEFT_NO_ELEMENT

/// An access without its types. Accesses of one tensor share its operand.
struct AccessValue {
  std::shared_ptr<const Operand> operand;
  std::vector<AffineIndex> indices;
};

/// The storage in the type of a tensor, however it is written.
struct StorageOf {
  Storage value;
  bool is_number = false;  ///< what stands there is a number: told by the tensor, which knows its rank

  constexpr StorageOf(Storage storage) : value(storage) {}
  constexpr StorageOf(SparseWord) : value(Storage::sparse) {}
  constexpr StorageOf(Storage (*word)(DenseWord)) : value(word({})) {}
  template <std::integral Number>
  constexpr StorageOf(Number) : value(Storage::dense), is_number(true) {}
  template <class Given>
    requires(!std::integral<Given> && !std::convertible_to<const Given&, Storage> &&
             !std::convertible_to<const Given&, Storage (*)(DenseWord)>)
  constexpr StorageOf(const Given&) : value(Storage::dense) {
    static_assert(
        never<Given>,
        "weft: a tensor is given something else than its storage; accepted: Tensor<f32, 2, sparse>, "
        "or Tensor<f32, 2> for a dense one; the format of weights is chosen where they are packed, "
        "as in pack(weights, formats::csr())");
  }
  constexpr operator Storage() const { return value; }
};

template <class... Others>
constexpr void refuse_parts_of_tensor() {
  static_assert(never<Others...>,
                "weft: a tensor is not made of a name and its sizes in braces; found: the types beside "
                "Others; accepted: Tensor<f32, 2> "
                "A(\"A\", {4, 5}), the name first; the format of weights is chosen where they are packed, as "
                "in pack(weights, formats::csr())");
}

template <class T>
inline constexpr bool is_shape = false;
template <std::size_t count>
inline constexpr bool is_shape<Extent[count]> = true;

}  // namespace detail

/// A tensor with its indices, `A(m, k)`: a value in an expression, or the left side of an algorithm. `Uses`
/// are the types of its indices and sums of indices.
template <class Element, Storage storage, class... Uses>
class Access {
 public:
  explicit Access(detail::AccessValue value) : value_(std::move(value)) {}
  Access(const Access&) = default;

  /// What the algorithm computes: `C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m))`. The rules that the
  /// types decide stand in dsl/assignment.h; each that is broken fails to compile with a sentence of its own.
  template <class Right>
  Assignment operator=(const Right& right) const;
  void operator=(const Access&) const {
    static_assert(detail::never<Element>,
                  "weft: the right side has no sum; accepted: one sum of a product of two accesses, such as "
                  "C(m, n) = sum(k, A(m, k) * B(k, n)) + D(m, n)");
  }

  template <class Use>
  auto operator[](const Use&) const {
    return refused_use<Use>();
  }
  template <class... Given>
  auto operator()(const Given&...) const {
    return refused_use<Given...>();
  }

  const detail::AccessValue& value() const { return value_; }

 private:
  template <class... Given>
  auto refused_use() const {
    static_assert(detail::never<Given...> || (std::same_as<Uses, detail::BrokenIndex> || ...),
                  "weft: an access is indexed once more; accepted: all indices between one ( ), such as A(m, "
                  "k)");
    return Access<Element, storage, detail::BrokenIndex>({value_.operand, {}});
  }

  detail::AccessValue value_;
};

/// A tensor of an algorithm. Copies are the same tensor; two tensors of one algorithm have different names.
template <class Element, std::size_t rank = 0, detail::StorageOf storage = Storage::dense>
class Tensor {
 public:
  /// `Tensor<f16, 2> B("B", {K, Extent::any("N")})`: row-major without gaps.
  template <std::size_t count>
  Tensor(std::string name, const Extent (&shape)[count]) {
    detail::check_element<Element>();
    static_assert(!ComputableElement<Element> || count == rank || rank == detail::told_rank,
                  "weft: a tensor is given a number of sizes that is not its rank; found: the number beside "
                  "count, the rank beside rank; accepted: one size a "
                  "dimension, such as Tensor<f32, 2> A(\"A\", {4, 5})");
    static_assert(
        !storage.is_number || rank == detail::told_rank,
        "weft: a tensor has a number where its storage belongs; found: a number in the third place; "
        "accepted: Tensor<f32, 2, sparse>, or Tensor<f32, 2> for a dense one");
    if constexpr (ComputableElement<Element>)
      operand_ = std::make_shared<const Operand>(
          Operand{std::move(name), dtype_of<Element>, {shape, shape + count}, {}, storage.value});
  }
  template <class... Others>
    requires(!((std::same_as<Others, Tensor> || detail::is_shape<Others>) || ...))
  explicit Tensor(const Others&...) {
    detail::refuse_parts_of_tensor<Element, Others...>();
  }
  /// Always refused: sizes before the name, and something else beside them. A list as the only one that has
  /// to be given would take the braces of `A{"A", {4, 5}}`.
  template <class Never = void>
  Tensor(std::initializer_list<detail::Anything>, detail::Anything) {
    detail::refuse_parts_of_tensor<std::initializer_list<Never>>();
  }
  template <class Never = void>
  Tensor(const std::string&, detail::Anything, std::initializer_list<detail::Anything>) {
    detail::refuse_parts_of_tensor<std::initializer_list<Never>>();
  }
  template <class Never = void>
  Tensor(const std::string&, std::initializer_list<detail::Anything>, detail::Anything) {
    detail::refuse_parts_of_tensor<std::initializer_list<Never>>();
  }

  /// The same tensor with the distance between neighbours of each dimension, in elements:
  /// `Tensor<f32, 3>("B", {8, K, N}).strided({K * N + 64, N, 1})`.
  template <std::size_t count>
  Tensor strided(const std::int64_t (&strides)[count]) const {
    static_assert(count == rank,
                  "weft: a tensor is given a number of strides that is not its rank; found: the number "
                  "beside count, the rank beside rank; accepted: one stride a "
                  "dimension, in elements, such as .strided({5, 1}) for a Tensor<f32, 2>");
    static_assert(count != rank || storage == Storage::dense,
                  "weft: a sparse tensor has no strides; accepted: a sparse tensor without .strided(), or a "
                  "dense one, Tensor<f32, 2>");
    Operand operand = *operand_;
    operand.strides.assign(strides, strides + count);
    return Tensor(std::make_shared<const Operand>(std::move(operand)));
  }

  template <class... Uses>
  auto operator()(const Uses&... uses) const {
    constexpr bool indices = (IndexExpression<Uses> && ...);
    constexpr bool fits = sizeof...(Uses) == rank || rank == detail::told_rank || rank == 0;
    constexpr bool number = !indices && fits && ((IndexExpression<Uses> || std::integral<Uses>) && ...);
    static_assert(!number,
                  "weft: a tensor is indexed with a number alone; accepted: an index a dimension, such as "
                  "B(k, n) and C(m, n), where n has one iteration: sizes {K, 1} and {M, 1}; or a tensor "
                  "without that dimension, such as x(k)");
    static_assert(indices || number,
                  "weft: a tensor is indexed with something that is not an index or a sum of indices; "
                  "accepted: indices of WEFT_INDEX and their sums, such as A(m, 2 * k + 1)");
    static_assert(!indices || fits,
                  "weft: a tensor is indexed with a number of indices that is not its rank; found: the "
                  "indices beside Uses, the rank beside rank; accepted: one "
                  "index a dimension, such as A(m, k) of a Tensor<f32, 2>");
    if constexpr (indices && fits && ComputableElement<Element>)
      return Access<Element, storage, Uses...>({operand_, {uses.affine()...}});
    else
      return Access<Element, storage, detail::BrokenIndex>({operand_, {}});
  }
  template <class Use>
  auto operator[](const Use&) const {
    static_assert(detail::never<Use>, "weft: a tensor is indexed with [ ]; accepted: ( ), such as A(m, k)");
    return Access<Element, storage, detail::BrokenIndex>({operand_, {}});
  }
  template <class Never = void>
  auto operator()(std::initializer_list<detail::Anything>) const {
    static_assert(detail::never<Never>,
                  "weft: the indices of a tensor stand in braces; accepted: ( ) alone, such as A(m, k)");
    return Access<Element, storage, detail::BrokenIndex>({operand_, {}});
  }
  // An algorithm turns a tensor over by the order of its indices.
  WEFT_NO_MEMBER(Tensor, transpose,
                 "sizes and indices in the other order: B(n, k) of Tensor<f32, 2> B(\"B\", {N, K})")
  WEFT_NO_MEMBER(Tensor, T,
                 "sizes and indices in the other order: B(n, k) of Tensor<f32, 2> B(\"B\", {N, K})")
  /// Always refused: what is computed is assigned to a tensor with its indices.
  template <class Right>
  Assignment operator=(const Right& right) const;

  const std::string& name() const { return operand_->name; }
  const Operand& operand() const { return *operand_; }
  /// Its name, where a step asks for a tensor.
  operator std::string() const { return operand_->name; }

 private:
  explicit Tensor(std::shared_ptr<const Operand> operand) : operand_(std::move(operand)) {}

  std::shared_ptr<const Operand> operand_;
};
/// Always refused, by the rule about element types: `Tensor A("A", {4, 5})` does not say one.
template <std::size_t count>
Tensor(std::string, const Extent (&)[count]) -> Tensor<void, count>;
template <class... Others>
Tensor(const std::string&, const Others&...) -> Tensor<void>;
Tensor(const std::string&, std::initializer_list<detail::Anything>, detail::Anything) -> Tensor<void>;
Tensor(const std::string&, detail::Anything, std::initializer_list<detail::Anything>) -> Tensor<void>;

}  // namespace weft
