// A kernel against the reference, on a device.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/backends/reference.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <iosfwd>
#include <string>
#include <type_traits>

namespace weft {

/// What a verification found.
struct Verification {
  Difference difference;
  double tolerance = 0;  ///< bound on difference.largest_scaled
  bool passed = false;
  std::string text() const;
  explicit operator bool() const { return passed; }
};

std::ostream& operator<<(std::ostream& stream, const Verification& verification);

/// Compares an output with the reference, element by element, within the rounding of the algorithm's types.
Verification verify(const Algorithm& algorithm, const Array& output, const Reference& expected,
                    CallPlace place = {});

/// Runs the kernel once into a poisoned output and compares. The output in `arguments` receives the result.
/// Errors as Kernel::bind.
Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments,
                    CallPlace place = {});
/// The same for one of several kernels, whose reference is computed once.
Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments,
                    const Reference& expected, CallPlace place = {});

WEFT_CALL_REFUSED(
    Verification, verify,
    "verify(kernel, Device::cpu(), {{{\"B\", &b}, {\"C\", &c}}, {}}): arrays by name and scalars "
    "by name in braces of their own")
/// Always refused: a kernel writes into the arrays that it is given.
template <class Never = void>
Verification verify(const Kernel&, const Device&, const ArgumentsByValue&) {
  detail::refuse_arrays_by_value<Never>();
  return {};
}
/// Always refused: a device that is not called, and addresses of others than arrays.
template <class Given>
  requires std::is_function_v<Given>
Verification verify(const Kernel&, Given&, detail::Anything, detail::Anything = {}) {
  detail::refuse_device_function<Given>();
  return {};
}
template <class Never = void>
Verification verify(const Kernel&, const Device&, const ArgumentsOfAddresses&) {
  return {};
}
/// Always refused: arrays and scalars stand in braces of their own.
template <class Never = void>
Verification verify(const Kernel&, const Device&, const detail::LooseArrays&) {
  detail::refuse_loose_arrays<Never>();
  return {};
}
template <class Never = void>
Verification verify(const Kernel&, const Device&, const detail::LooseArraysByValue&) {
  detail::refuse_loose_arrays_by_value<Never>();
  return {};
}
/// Always refused: what an output may differ by follows from the types.
template <class Tolerance>
  requires std::is_arithmetic_v<Tolerance>
Verification verify(const Kernel& kernel, const Device& device, const Arguments& arguments, Tolerance,
                    Tolerance = {}) {
  static_assert(detail::never<Tolerance>,
                "weft: verify is given a tolerance, which follows from the types of the algorithm; accepted: "
                "verify(kernel, device, arguments), whose result has .tolerance and .difference");
  return verify(kernel, device, arguments);
}

}  // namespace weft
