// What a kernel is called with.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/loop.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/array.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {

class SparseTensor;

/// Dense operands by name, the output among them, and scalars by name. Arrays are borrowed.
struct Arguments {
  std::map<std::string, Array*> tensors;
  std::map<std::string, double> scalars;
  /// For kernels of any weights (Algorithm::takes_any_weights): those of this launch. Null: the schedule's.
  std::shared_ptr<const SparseTensor> weights = {};
};

namespace detail {

/// An Array and nothing that one could be made of.
struct ArrayByValue {
  template <std::same_as<Array> Given>
  ArrayByValue(const Given&) {}
};

}  // namespace detail
/// What a call is given by mistake, to be refused in a sentence.
struct ArgumentsByValue {
  std::map<std::string, detail::ArrayByValue> tensors;
  std::map<std::string, double> scalars;
};
namespace detail {

/// The address of something, or something else, where the address of an Array is meant. Arrays themselves
/// have a sentence of their own.
struct AnyAddress {
  template <class Given>
    requires(!std::is_array_v<Given> && !std::same_as<Given, Array> && !std::same_as<Given, AnyAddress>)
  AnyAddress(const Given&) {
    static_assert(std::same_as<Given, Array*>,
                  "weft: an operand is not the address of an Array that a kernel may take; found: the type "
                  "beside Given; accepted: Array b, not const, and &b; numbers of a std::vector as "
                  "Array b = Array::of(values).reshaped({64, 32}); scalars of the algorithm in the second "
                  "braces: {{{\"B\", &b}, {\"C\", &c}}, {{\"alpha\", 0.5}}}");
  }
};

}  // namespace detail
/// Likewise.
struct ArgumentsOfAddresses {
  std::map<std::string, detail::AnyAddress> tensors;
  std::map<std::string, double> scalars;
};
namespace detail {

/// Arrays by name alone. A map would also be made of what Arguments have, the second braces as its allocator.
struct LooseArrays {
  LooseArrays(std::initializer_list<std::pair<const std::string, Array*>>) {}
};
struct LooseArraysByValue {
  LooseArraysByValue(std::initializer_list<std::pair<const std::string, ArrayByValue>>) {}
};

/// What a call gives back, which is nothing.
struct NoResult {
  template <class Wanted>
    requires(!std::same_as<std::remove_cvref_t<Wanted>, NoResult>)
  operator Wanted() const {
    static_assert(
        never<Wanted>,
        "weft: the result of a call is used, and a kernel gives nothing back; found: it as the type beside "
        "Wanted; "
        "accepted: its output among the arrays that it is given the addresses of, kernel(Device::cpu(), "
        "{{{\"B\", &b}, {\"C\", &c}}, {}});, after which c has the result");
    return refused_result<Wanted>();
  }
  WEFT_NO_MEMBER(double, get, "the output c among the arrays that the kernel is given, and c.get(i)")
  WEFT_NO_MEMBER(const double*, data, "the output c among the arrays that the kernel is given, and c.data()")
  WEFT_NO_MEMBER(int, shape, "the output c among the arrays that the kernel is given, and c.shape()")
  WEFT_NO_MEMBER(int, size, "the output c among the arrays that the kernel is given, and c.size()")
};

template <class Given>
constexpr void refuse_copied() {
  static_assert(never<Given>,
                "weft: an array is copied to or from a device without itself behind its name; found: its "
                "address, or the name alone; accepted: bound.upload(\"B\", b) and bound.download(\"C\", c)");
}

template <class Never>
constexpr void refuse_arrays_by_value() {
  static_assert(never<Never>,
                "weft: a kernel is given arrays by value, and writes into them; accepted: their addresses, "
                "such as {{{\"B\", &b}, {\"C\", &c}}, {}}");
}

template <class Never>
constexpr void refuse_loose_arrays() {
  static_assert(
      never<Never>,
      "weft: a kernel is not called with what it takes; found: arrays by name without braces of their "
      "own; accepted: their addresses in one pair of braces, scalars in another: {{{\"B\", &b}, "
      "{\"C\", &c}}, {}}");
}
template <class Never>
constexpr void refuse_loose_arrays_by_value() {
  static_assert(
      never<Never>,
      "weft: a kernel is given arrays by value, and writes into them; found: arrays by value without "
      "braces of their own; accepted: their addresses in one pair of braces, scalars in another: "
      "{{{\"B\", &b}, {\"C\", &c}}, {}}");
}

template <class Given>
constexpr void refuse_device_function() {
  static_assert(never<Given>,
                "weft: a device is a function that is not called; accepted: Device::cpu(), Device::cuda() or "
                "Device::simulator(\"sm_80\"), with parentheses");
}

#define WEFT_LAUNCH_WRITTEN                                                                                  \
  "accepted: a device, then arrays by name and scalars by name in braces of their own: kernel(Device::cpu()" \
  ", {{{\"B\", &b}, {\"C\", &c}}, {}})"
/// Of braces no types are known.
template <class Never>
constexpr void refuse_launch() {
  static_assert(never<Never>,
                "weft: a kernel is not called with what it takes; found: braces that do not fit, or what "
                "stands before them; " WEFT_LAUNCH_WRITTEN);
}

template <class... Given>
constexpr void refuse_launch_with() {
  static_assert(
      never<Given...>,
      "weft: a kernel is not called with what it takes; found: the types beside Given; " WEFT_LAUNCH_WRITTEN);
}
#undef WEFT_LAUNCH_WRITTEN

}  // namespace detail

/// The sizes that the algorithm left open, as the arrays and the weights (null where no operand is sparse)
/// have them. UserError, naming the operand, when one is missing, has another element type or shape, or two
/// disagree about a size; when a scalar is missing; when an array or a scalar is given that the algorithm
/// does not have; as require_sizes_from_launch.
std::map<std::string, std::int64_t> check_arguments(const Algorithm& algorithm, const SparseTensor* weights,
                                                    const Arguments& arguments, CallPlace place = {});

/// Throws UserError where a size is open that no launch could tell: arrays of operands with strides have any
/// shape, so that a size is found in one without strides, or in the weights.
void require_sizes_from_launch(const Algorithm& algorithm);

/// The weights of a launch, null where no operand is sparse: those of the arguments in place of the
/// `example` that the kernel was made with. UserError when the kernel takes no others, as check_weights says,
/// or when they are not packed like the example: format, parameters, element types, layout.
const SparseTensor* weights_of(const Algorithm& algorithm, const SparseTensor* example,
                               const Arguments& arguments, CallPlace place = {});

}  // namespace weft
