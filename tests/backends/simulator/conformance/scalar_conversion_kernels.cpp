#include <fmt/format.h>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {
namespace {

struct Type {
  const char* name;
  Value value;
};
constexpr Type integers[] = {{"u8", Value::b8},   {"s8", Value::b8},   {"u16", Value::u16},
                             {"s16", Value::s16}, {"u32", Value::u32}, {"s32", Value::s32},
                             {"u64", Value::u64}, {"s64", Value::s64}};
constexpr Type floatings[] = {
    {"f16", Value::f16}, {"bf16", Value::bf16}, {"f32", Value::f32}, {"f64", Value::f64}};
constexpr const char* directions[] = {"rn", "rz", "rm", "rp"};
constexpr const char* integer_directions[] = {"rni", "rzi", "rmi", "rpi"};

/// cvt to a byte gives a 32-bit register, extended.
Value result_of(const Type& to) {
  return to.value == Value::b8 ? Value::u32 : to.value;
}

void add(Kernels& kernels, const std::string& modifiers, const Type& to, const Type& from) {
  kernels.add(fmt::format("cvt.{}{}.{}", modifiers, to.name, from.name), result_of(to), {from.value});
}

/// Where it does, the ISA has no .sat.
bool holds_all(const Type& to, const Type& from) {
  const bool to_signed = to.name[0] == 's', from_signed = from.name[0] == 's';
  if (to_signed == from_signed) return bytes_of(to.value) >= bytes_of(from.value);
  return to_signed && bytes_of(to.value) > bytes_of(from.value);
}

void add_integers(Kernels& kernels) {
  for (const Type& to : integers) {
    for (const Type& from : integers) {
      add(kernels, "", to, from);
      if (!holds_all(to, from)) add(kernels, "sat.", to, from);
    }
  }
  // Registers wider than the types.
  for (const char* type : {"s8", "u8", "s16", "u16"}) {
    kernels.add(fmt::format("cvt.s64.{}", type), Value::u64, {Value::u64}).name += " of a wide register";
    kernels.add(fmt::format("cvt.{}.s64", type), Value::u64, {Value::u64}).name += " to a wide register";
  }
}

void add_mixed(Kernels& kernels) {
  for (const Type& integer : integers) {
    for (const Type& floating : floatings) {
      const bool is_bfloat = floating.value == Value::bf16;
      if (is_bfloat && integer.value == Value::b8) continue;
      for (const char* direction : directions) add(kernels, fmt::format("{}.", direction), floating, integer);
      for (const char* direction : integer_directions) {
        add(kernels, fmt::format("{}.", direction), integer, floating);
        if (floating.value == Value::f32) add(kernels, fmt::format("{}.ftz.", direction), integer, floating);
      }
      if (!is_bfloat) add(kernels, "rn.sat.", floating, integer);
    }
  }
}

void add_floatings(Kernels& kernels) {
  const Type half = floatings[0], bfloat = floatings[1], single = floatings[2], wide = floatings[3];
  for (const char* direction : directions) {
    const std::string rounded = fmt::format("{}.", direction);
    add(kernels, rounded, half, single);
    add(kernels, rounded, half, wide);
    add(kernels, rounded, single, wide);
    add(kernels, rounded + "ftz.", single, wide);
    add(kernels, rounded + "sat.", single, wide);
    add(kernels, rounded + "sat.", half, single);
    add(kernels, rounded + "ftz.", half, single);
    add(kernels, rounded, bfloat, single);
    add(kernels, rounded, bfloat, wide);
    add(kernels, rounded, bfloat, half);
    add(kernels, rounded, half, bfloat);
  }
  for (const char* direction : {"rn.", "rz."}) {
    for (const Type& to : {half, bfloat}) {
      for (const char* more : {"relu.", "satfinite.", "relu.satfinite."})
        add(kernels, fmt::format("{}{}", direction, more), to, single);
    }
    for (const Type& to : {Type{"f16x2", Value::f16x2}, Type{"bf16x2", Value::bf16x2}}) {
      for (const char* more : {"", "relu.", "satfinite.", "relu.satfinite."})
        kernels.add(fmt::format("cvt.{}{}{}.f32", direction, more, to.name), to.value,
                    {Value::f32, Value::f32});
    }
    for (const char* more : {"", "relu."})
      kernels.add(fmt::format("cvt.{}{}tf32.f32", direction, more), Value::f32, {Value::f32});
  }
  kernels.add("cvt.rna.tf32.f32", Value::f32, {Value::f32});
  kernels.add("cvt.rna.satfinite.tf32.f32", Value::f32, {Value::f32});
  add(kernels, "", single, half);
  add(kernels, "ftz.", single, half);
  add(kernels, "sat.", single, half);
  add(kernels, "", single, bfloat);
  add(kernels, "", wide, half);
  add(kernels, "", wide, bfloat);
  add(kernels, "", wide, single);
  add(kernels, "ftz.", wide, single);
  add(kernels, "sat.", wide, single);
  add(kernels, "sat.", single, single);
  add(kernels, "ftz.", single, single);
  add(kernels, "sat.", wide, wide);
  add(kernels, "sat.", half, half);
  for (const char* direction : integer_directions) {
    for (const Type& of : {half, bfloat, single, wide}) add(kernels, fmt::format("{}.", direction), of, of);
    add(kernels, fmt::format("{}.ftz.", direction), single, single);
    add(kernels, fmt::format("{}.sat.", direction), single, single);
  }
}

void add_packing(Kernels& kernels) {
  const Value s = Value::s32, u = Value::u32;
  for (const char* type : {"u16", "s16"}) kernels.add(fmt::format("cvt.pack.sat.{}.s32", type), u, {s, s});
  for (const char* type : {"u8", "s8"})
    kernels.add(fmt::format("cvt.pack.sat.{}.s32.b32", type), u, {s, s, u});
  kernels.add_body("mov.b32 packed", "mov.b32 $d, {$a, $b};", u, {Value::u16, Value::u16});
  kernels.add_body("mov.b64 packed", "mov.b64 $d, {$a, $b};", Value::u64, {u, u});
  kernels.add_body("mov.b64 packed of four", "mov.b64 $d, {$a, $b, $c, $e};", Value::u64,
                   {Value::u16, Value::u16, Value::u16, Value::u16});
  kernels.add_body("mov.b32 low", "mov.b32 {$d, _}, $a;", Value::u16, {u});
  kernels.add_body("mov.b32 high", "mov.b32 {_, $d}, $a;", Value::u16, {u});
  kernels.add_body("mov.b64 low", "mov.b64 {$d, $t}, $a;", u, {Value::u64});
  kernels.add_body("mov.b64 high", "mov.b64 {$t, $d}, $a;", u, {Value::u64});
  kernels.add_body("mov.b64 third of four", "mov.b64 {_, _, $d, _}, $a;", Value::u16, {Value::u64});
  kernels.add_body("mov.pred", "mov.pred $d, $a;", Value::predicate, {Value::predicate});
  kernels.add_body("mov.f32 of a constant", "mov.f32 $t, 0f3FC00000; add.f32 $d, $t, $a;", Value::f32,
                   {Value::f32});
  kernels.add_body("mov.f64 of a constant", "mov.f64 $u, 0d3FF8000000000000; mul.f64 $d, $u, $a;", Value::f64,
                   {Value::f64});
}

}  // namespace

void add_conversion_kernels(Kernels& kernels) {
  add_integers(kernels);
  add_mixed(kernels);
  add_floatings(kernels);
  add_packing(kernels);
}

}  // namespace weft::simulator::scalar_tests
