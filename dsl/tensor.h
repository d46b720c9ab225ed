// Tensors: a name, an element type, a rank and a storage in the type, a size for each dimension.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/index.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// `Tensor<f16, 2, sparse>`: pruned weights. Every other tensor is dense.
inline constexpr Storage sparse = Storage::sparse;

/// The element types that weft computes with.
template <class T>
concept ComputableElement =
    std::same_as<T, f16> || std::same_as<T, bf16> || std::same_as<T, f32> || std::same_as<T, f64>;

class Assignment;

namespace detail {

/// An access without its types. Accesses of one tensor share its operand.
struct AccessValue {
  std::shared_ptr<const Operand> operand;
  std::vector<AffineIndex> indices;
};

template <class T>
inline constexpr bool never = false;

/// The index of an access that is indexed wrongly; its message has been given.
struct BrokenAccess {};

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
    static_assert(detail::never<Element>, "weft: the right side has no sum");
  }

  const detail::AccessValue& value() const { return value_; }

 private:
  detail::AccessValue value_;
};

/// A tensor of an algorithm. Copies are the same tensor; two tensors of one algorithm have different names.
template <class Element, std::size_t rank, Storage storage = Storage::dense>
class Tensor {
 public:
  /// `Tensor<f16, 2> B("B", {K, Extent::any("N")})`: row-major without gaps.
  template <std::size_t count>
  Tensor(std::string name, const Extent (&shape)[count]) {
    static_assert(ComputableElement<Element>, "weft: an element type is not one of f16, bf16, f32 and f64");
    static_assert(count == rank, "weft: a tensor is given a number of sizes that is not its rank");
    operand_ = std::make_shared<const Operand>(
        Operand{std::move(name), dtype_of<Element>, {shape, shape + count}, {}, storage});
  }

  /// The same tensor with the distance between neighbours of each dimension, in elements:
  /// `Tensor<f32, 3>("B", {8, K, N}).strided({K * N + 64, N, 1})`.
  template <std::size_t count>
  Tensor strided(const std::int64_t (&strides)[count]) const {
    static_assert(count == rank, "weft: a tensor is given a number of strides that is not its rank");
    static_assert(storage == Storage::dense, "weft: a sparse tensor has no strides");
    Operand operand = *operand_;
    operand.strides.assign(strides, strides + count);
    return Tensor(std::make_shared<const Operand>(std::move(operand)));
  }

  template <class... Uses>
  auto operator()(const Uses&... uses) const {
    constexpr bool indices = (IndexExpression<Uses> && ...);
    static_assert(indices,
                  "weft: a tensor is indexed with something that is not an index or a sum of indices");
    static_assert(sizeof...(Uses) == rank,
                  "weft: a tensor is indexed with a number of indices that is not its rank");
    if constexpr (indices && sizeof...(Uses) == rank) {
      return Access<Element, storage, Uses...>({operand_, {uses.affine()...}});
    } else {
      return Access<Element, storage, detail::BrokenAccess>({operand_, {}});
    }
  }

  const std::string& name() const { return operand_->name; }
  const Operand& operand() const { return *operand_; }
  /// Its name, where a step asks for a tensor.
  operator std::string() const { return operand_->name; }

 private:
  explicit Tensor(std::shared_ptr<const Operand> operand) : operand_(std::move(operand)) {}

  std::shared_ptr<const Operand> operand_;
};

}  // namespace weft
