#include <fmt/format.h>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {
namespace {

struct Integer {
  const char* name;
  Value value, divisor;
  bool is_signed;
};
constexpr Integer integers[] = {
    {"u16", Value::u16, Value::divisor16, false}, {"s16", Value::s16, Value::divisor16, true},
    {"u32", Value::u32, Value::divisor32, false}, {"s32", Value::s32, Value::divisor32, true},
    {"u64", Value::u64, Value::divisor64, false}, {"s64", Value::s64, Value::divisor64, true},
};

void add_products(Kernels& kernels, const Integer& of) {
  const Value v = of.value;
  for (const char* part : {"lo", "hi"}) {
    kernels.add(fmt::format("mul.{}.{}", part, of.name), v, {v, v});
    kernels.add(fmt::format("mad.{}.{}", part, of.name), v, {v, v, v});
  }
  if (bytes_of(v) == 8) return;
  const Value wide = bytes_of(v) == 2 ? Value::u32 : Value::u64;
  kernels.add(fmt::format("mul.wide.{}", of.name), wide, {v, v});
  kernels.add(fmt::format("mad.wide.{}", of.name), wide, {v, v, wide});
}

void add_products24(Kernels& kernels) {
  for (const char* type : {"u32", "s32"}) {
    for (const char* part : {"lo", "hi"}) {
      kernels.add(fmt::format("mul24.{}.{}", part, type), Value::u32, {Value::u32, Value::u32});
      kernels.add(fmt::format("mad24.{}.{}", part, type), Value::u32, {Value::u32, Value::u32, Value::u32});
    }
  }
  const Value s = Value::s32;
  kernels.add("mad24.hi.sat.s32", s, {s, s, s});
  kernels.add("mad.hi.sat.s32", s, {s, s, s});
  kernels.add("add.sat.s32", s, {s, s});
  kernels.add("sub.sat.s32", s, {s, s});
}

void add_dot_products(Kernels& kernels) {
  const Value u = Value::u32;
  for (const char* a : {"u32", "s32"}) {
    for (const char* b : {"u32", "s32"}) {
      kernels.add(fmt::format("dp4a.{}.{}", a, b), u, {u, u, u});
      kernels.add(fmt::format("dp2a.lo.{}.{}", a, b), u, {u, u, u});
      kernels.add(fmt::format("dp2a.hi.{}.{}", a, b), u, {u, u, u});
    }
  }
}

void add_packed(Kernels& kernels) {
  const Value u = Value::u32;
  for (const char* name : {"add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2",
                           "min.relu.s16x2", "max.relu.s16x2", "min.relu.s32", "max.relu.s32"})
    kernels.add(name, u, {u, u});
}

/// Sums of four words that the flag joins; the last instruction shows the flag.
void add_carries(Kernels& kernels) {
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const bool wide = type[1] == '6';
    const Value v = wide ? Value::u64 : Value::u32;
    const char* temporary = wide ? "$u" : "$t";
    const auto body = [&](std::string_view form) { return fmt::format(fmt::runtime(form), type, temporary); };
    kernels.add_body(fmt::format("add.cc.{} addc", type),
                     body("add.cc.{0} {1}, $a, $b; addc.{0} $d, $c, $e;"), v, {v, v, v, v});
    kernels.add_body(fmt::format("sub.cc.{} subc", type),
                     body("sub.cc.{0} {1}, $a, $b; subc.{0} $d, $c, $e;"), v, {v, v, v, v});
    kernels.add_body(fmt::format("addc.cc.{}", type),
                     body("add.cc.{0} {1}, $a, $b; addc.cc.{0} {1}, $c, $e; addc.{0} $d, {1}, $a;"), v,
                     {v, v, v, v});
    kernels.add_body(fmt::format("subc.cc.{}", type),
                     body("sub.cc.{0} {1}, $a, $b; subc.cc.{0} {1}, $c, $e; subc.{0} $d, {1}, $a;"), v,
                     {v, v, v, v});
    for (const char* part : {"lo", "hi"}) {
      kernels.add_body(
          fmt::format("mad.{}.cc.{} madc", part, type),
          fmt::format("mad.{0}.cc.{1} {2}, $a, $b, $c; madc.{0}.{1} $d, $a, $c, $e;", part, type, temporary),
          v, {v, v, v, v});
      kernels.add_body(
          fmt::format("madc.{}.cc.{}", part, type),
          fmt::format("mad.{0}.cc.{1} {2}, $a, $b, $c; madc.{0}.cc.{1} {2}, $a, $c, $e; addc.{1} "
                      "$d, {2}, $b;",
                      part, type, temporary),
          v, {v, v, v, v});
    }
  }
}

void add_counts(Kernels& kernels) {
  for (const char* width : {"32", "64"}) {
    const Value v = width[0] == '3' ? Value::u32 : Value::u64;
    kernels.add(fmt::format("popc.b{}", width), Value::u32, {v});
    kernels.add(fmt::format("clz.b{}", width), Value::u32, {v});
    kernels.add(fmt::format("brev.b{}", width), v, {v});
    kernels.add(fmt::format("bfi.b{}", width), v, {v, v, Value::count, Value::count});
    for (const char* sign : {"u", "s"}) {
      kernels.add(fmt::format("bfind.{}{}", sign, width), Value::u32, {v});
      kernels.add(fmt::format("bfind.shiftamt.{}{}", sign, width), Value::u32, {v});
      kernels.add(fmt::format("bfe.{}{}", sign, width), v, {v, Value::count, Value::count});
    }
  }
  kernels.add("fns.b32", Value::u32, {Value::u32, Value::position, Value::small});
  for (const char* mode : {"clamp", "wrap"}) {
    kernels.add(fmt::format("bmsk.{}.b32", mode), Value::u32, {Value::count, Value::count});
    kernels.add(fmt::format("szext.{}.u32", mode), Value::u32, {Value::u32, Value::count});
    kernels.add(fmt::format("szext.{}.s32", mode), Value::u32, {Value::u32, Value::count});
  }
}

void add_logic(Kernels& kernels) {
  struct Width {
    const char* name;
    Value value;
  };
  for (const Width& of : {Width{"16", Value::u16}, Width{"32", Value::u32}, Width{"64", Value::u64}}) {
    const Value v = of.value;
    for (const char* name : {"and", "or", "xor"})
      kernels.add(fmt::format("{}.b{}", name, of.name), v, {v, v});
    for (const char* name : {"not", "cnot"}) kernels.add(fmt::format("{}.b{}", name, of.name), v, {v});
    kernels.add(fmt::format("shl.b{}", of.name), v, {v, Value::count});
    for (const char* kind : {"b", "u", "s"})
      kernels.add(fmt::format("shr.{}{}", kind, of.name), v, {v, Value::count});
  }
  const Value p = Value::predicate;
  for (const char* name : {"and.pred", "or.pred", "xor.pred"}) kernels.add(name, p, {p, p});
  kernels.add("not.pred", p, {p});
  kernels.add_body("and.pred of a negation", "not.pred $q, $a; and.pred $d, $q, $b;", p, {p, p});
}

void add_permutations(Kernels& kernels) {
  const Value u = Value::u32;
  for (const char* way : {"l", "r"}) {
    for (const char* mode : {"clamp", "wrap"})
      kernels.add(fmt::format("shf.{}.{}.b32", way, mode), u, {u, u, Value::count});
  }
  kernels.add("prmt.b32", u, {u, u, u});
  for (const char* mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    kernels.add(fmt::format("prmt.b32.{}", mode), u, {u, u, u});
  for (const int table : {0, 0x01, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xEA, 0xFF}) {
    kernels.add_body(fmt::format("lop3.b32 {}", table), fmt::format("lop3.b32 $d, $a, $b, $c, {};", table), u,
                     {u, u, u});
  }
  for (const char* combine : {"and", "or"}) {
    kernels.add_body(fmt::format("lop3.{}.b32 value", combine),
                     fmt::format("lop3.{}.b32 $d|$q, $a, $b, $c, 128, $e;", combine), u,
                     {u, u, u, Value::predicate});
    kernels.add_body(fmt::format("lop3.{}.b32 predicate", combine),
                     fmt::format("lop3.{}.b32 $t|$d, $a, $b, $c, 128, $e;", combine), Value::predicate,
                     {u, u, u, Value::predicate});
  }
}

}  // namespace

void add_integer_kernels(Kernels& kernels) {
  for (const Integer& of : integers) {
    const Value v = of.value;
    for (const char* name : {"add", "sub", "min", "max"})
      kernels.add(fmt::format("{}.{}", name, of.name), v, {v, v});
    for (const char* name : {"div", "rem"})
      kernels.add(fmt::format("{}.{}", name, of.name), v, {v, of.divisor});
    kernels.add(fmt::format("sad.{}", of.name), v, {v, v, v});
    if (of.is_signed) {
      kernels.add(fmt::format("abs.{}", of.name), v, {v});
      kernels.add(fmt::format("neg.{}", of.name), v, {v});
    }
    add_products(kernels, of);
  }
  add_products24(kernels);
  add_dot_products(kernels);
  add_packed(kernels);
  add_carries(kernels);
}

void add_bit_kernels(Kernels& kernels) {
  add_counts(kernels);
  add_logic(kernels);
  add_permutations(kernels);
}

}  // namespace weft::simulator::scalar_tests
