#include <fmt/format.h>

#include <cmath>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {
namespace {

constexpr const char* directions[] = {".rn", ".rz", ".rm", ".rp"};
constexpr const char* flushes[] = {"", ".ftz"};

void add_single(Kernels& kernels) {
  const Value f = Value::f32;
  for (const char* direction : directions) {
    for (const char* flush : flushes) {
      for (const char* saturate : {"", ".sat"}) {
        const std::string form = fmt::format("{}{}{}.f32", direction, flush, saturate);
        for (const char* name : {"add", "sub", "mul"}) kernels.add(name + form, f, {f, f});
        kernels.add("fma" + form, f, {f, f, f});
      }
      const std::string form = fmt::format("{}{}.f32", direction, flush);
      kernels.add("mad" + form, f, {f, f, f});
      kernels.add("div" + form, f, {f, f});
      kernels.add("rcp" + form, f, {f});
      kernels.add("sqrt" + form, f, {f});
    }
  }
  for (const char* flush : flushes) {
    kernels.add(fmt::format("abs{}.f32", flush), f, {f});
    kernels.add(fmt::format("neg{}.f32", flush), f, {f});
  }
  kernels.add("copysign.f32", f, {f, f});
}

void add_double(Kernels& kernels) {
  const Value f = Value::f64;
  for (const char* direction : directions) {
    for (const char* name : {"add", "sub", "mul", "div"})
      kernels.add(fmt::format("{}{}.f64", name, direction), f, {f, f});
    kernels.add(fmt::format("fma{}.f64", direction), f, {f, f, f});
    kernels.add(fmt::format("mad{}.f64", direction), f, {f, f, f});
    kernels.add(fmt::format("rcp{}.f64", direction), f, {f});
    kernels.add(fmt::format("sqrt{}.f64", direction), f, {f});
  }
  for (const char* name : {"min.f64", "max.f64", "copysign.f64"}) kernels.add(name, f, {f, f});
  for (const char* name : {"abs.f64", "neg.f64"}) kernels.add(name, f, {f});
}

struct Narrow {
  const char* name;
  Value value;
  bool is_half;
};
constexpr Narrow narrow_formats[] = {{"f16", Value::f16, true},
                                     {"f16x2", Value::f16x2, true},
                                     {"bf16", Value::bf16, false},
                                     {"bf16x2", Value::bf16x2, false}};

void add_narrow(Kernels& kernels, const Narrow& of) {
  const Value v = of.value;
  const auto add_all = [&](const std::string& form) {
    for (const char* name : {"add", "sub", "mul"})
      kernels.add(fmt::format("{}.rn{}.{}", name, form, of.name), v, {v, v});
    kernels.add(fmt::format("fma.rn{}.{}", form, of.name), v, {v, v, v});
  };
  add_all("");
  kernels.add(fmt::format("fma.rn.relu.{}", of.name), v, {v, v, v});
  if (of.is_half) {
    for (const char* form : {".ftz", ".sat", ".ftz.sat"}) add_all(form);
    kernels.add(fmt::format("fma.rn.ftz.relu.{}", of.name), v, {v, v, v});
  }
  for (const char* name : {"abs", "neg"}) {
    kernels.add(fmt::format("{}.{}", name, of.name), v, {v});
    if (of.is_half) kernels.add(fmt::format("{}.ftz.{}", name, of.name), v, {v});
  }
}

void add_extremes(Kernels& kernels, const char* type, Value v, bool can_flush) {
  for (const char* name : {"min", "max"}) {
    for (const char* flush : flushes) {
      if (*flush != 0 && !can_flush) continue;
      for (const char* nan : {"", ".NaN"}) {
        for (const char* sign : {"", ".xorsign.abs"})
          kernels.add(fmt::format("{}{}{}{}.{}", name, flush, nan, sign, type), v, {v, v});
      }
    }
  }
}

/// `relative` in units of 2^-23.
void add_near(Kernels& kernels, const std::string& name, Value operand, double relative,
              double absolute = 0) {
  Kernel& kernel = kernels.add(name, Value::f32, {operand});
  kernel.relative = relative * 0x1p-23;
  kernel.absolute = absolute + 0x1p-148;
}

void add_near_narrow(Kernels& kernels, const std::string& name, Value v, double relative, double absolute) {
  Kernel& kernel = kernels.add(name, v, {v});
  kernel.relative = relative;
  kernel.absolute = absolute;
}

}  // namespace

void add_floating_kernels(Kernels& kernels) {
  add_single(kernels);
  add_double(kernels);
  for (const Narrow& of : narrow_formats) {
    add_narrow(kernels, of);
    add_extremes(kernels, of.name, of.value, of.is_half);
  }
  add_extremes(kernels, "f32", Value::f32, true);
  for (const char* property : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    kernels.add(fmt::format("testp.{}.f32", property), Value::predicate, {Value::f32});
    kernels.add(fmt::format("testp.{}.f64", property), Value::predicate, {Value::f64});
  }
}

/// The bounds are those of the PTX ISA plus one unit for the simulator's own rounding.
void add_special_kernels(Kernels& kernels) {
  for (const char* flush : flushes) {
    const auto named = [flush](const char* name) { return fmt::format("{}.approx{}.f32", name, flush); };
    add_near(kernels, named("rcp"), Value::f32, 2);
    add_near(kernels, named("sqrt"), Value::f32, 3);
    add_near(kernels, named("rsqrt"), Value::f32, 3);
    add_near(kernels, named("ex2"), Value::f32, 3);
    add_near(kernels, named("lg2"), Value::f32, 3, 0x1p-21);
    add_near(kernels, named("sin"), Value::angle, 0, 0x1p-20);
    add_near(kernels, named("cos"), Value::angle, 0, 0x1p-20);
    for (const char* kind : {"approx", "full"}) {
      Kernel& kernel =
          kernels.add(fmt::format("div.{}{}.f32", kind, flush), Value::f32, {Value::f32, Value::f32});
      kernel.relative = 3 * 0x1p-23;
      kernel.absolute = 0x1p-148;
    }
  }
  add_near(kernels, "tanh.approx.f32", Value::f32, 0x1p13);
  for (const char* name : {"rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"}) {
    Kernel& kernel = kernels.add(name, Value::f64, {Value::f64});
    kernel.relative = 0x1p-19;
  }
  add_near_narrow(kernels, "ex2.approx.f16", Value::f16, 0x1p-9, 0x1p-23);
  add_near_narrow(kernels, "ex2.approx.f16x2", Value::f16x2, 0x1p-9, 0x1p-23);
  add_near_narrow(kernels, "ex2.approx.ftz.bf16", Value::bf16, 0x1p-6, 0);
  add_near_narrow(kernels, "ex2.approx.ftz.bf16x2", Value::bf16x2, 0x1p-6, 0);
  add_near_narrow(kernels, "tanh.approx.f16", Value::f16, 0x1p-9, 0x1p-10);
  add_near_narrow(kernels, "tanh.approx.f16x2", Value::f16x2, 0x1p-9, 0x1p-10);
  add_near_narrow(kernels, "tanh.approx.bf16", Value::bf16, 0x1p-6, 0x1p-132);
  add_near_narrow(kernels, "tanh.approx.bf16x2", Value::bf16x2, 0x1p-6, 0x1p-132);
}

}  // namespace weft::simulator::scalar_tests
