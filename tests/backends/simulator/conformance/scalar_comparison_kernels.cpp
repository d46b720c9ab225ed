#include <fmt/format.h>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {
namespace {

struct Type {
  const char* name;
  Value value;
};
constexpr Type unsigned_types[] = {{"u16", Value::u16}, {"u32", Value::u32}, {"u64", Value::u64}};
constexpr Type signed_types[] = {{"s16", Value::s16}, {"s32", Value::s32}, {"s64", Value::s64}};
constexpr Type bit_types[] = {{"b16", Value::u16}, {"b32", Value::u32}, {"b64", Value::u64}};
constexpr Type floating_types[] = {
    {"f32", Value::f32}, {"f64", Value::f64}, {"f16", Value::f16}, {"bf16", Value::bf16}};
constexpr const char* ordered[] = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr const char* unordered[] = {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

void add_setp(Kernels& kernels, const std::string& comparison, const Type& of) {
  kernels.add(fmt::format("setp.{}.{}", comparison, of.name), Value::predicate, {of.value, of.value});
}

/// With a predicate operand, as the first result and as the second.
void add_combined(Kernels& kernels, const Type& of) {
  const Value p = Value::predicate, v = of.value;
  const bool has_second = v != Value::f16 && v != Value::bf16;
  for (const char* combine : {"and", "or", "xor"}) {
    const std::string name = fmt::format("setp.lt.{}.{}", combine, of.name);
    kernels.add(name, p, {v, v, p});
    if (has_second) kernels.add_body(name + " second", name + " $q|$d, $a, $b, $c;", p, {v, v, p});
    kernels.add_body(name + " negated", name + " $d, $a, $b, !$c;", p, {v, v, p});
  }
  if (has_second)
    kernels.add_body(fmt::format("setp.ge.{} second", of.name),
                     fmt::format("setp.ge.{} $q|$d, $a, $b;", of.name), p, {v, v});
}

void add_pairs(Kernels& kernels, const Type& of) {
  for (const char* comparison : {"eq", "ne", "lt", "geu", "num", "nan"}) {
    const std::string name = fmt::format("setp.{}.{}", comparison, of.name);
    kernels.add_body(name + " low", name + " $d|$q, $a, $b;", Value::predicate, {of.value, of.value});
    kernels.add_body(name + " high", name + " $q|$d, $a, $b;", Value::predicate, {of.value, of.value});
    kernels.add(fmt::format("set.{}.{}.{}", comparison, of.name, of.name), of.value, {of.value, of.value});
  }
}

void add_set(Kernels& kernels) {
  const Value p = Value::predicate;
  for (const Type& from : {Type{"u32", Value::u32}, Type{"s32", Value::s32}, Type{"u64", Value::u64},
                           Type{"s16", Value::s16}, Type{"f32", Value::f32}, Type{"f64", Value::f64}}) {
    for (const Type& to : {Type{"u32", Value::u32}, Type{"s32", Value::u32}, Type{"f32", Value::f32}}) {
      kernels.add(fmt::format("set.lt.{}.{}", to.name, from.name), to.value, {from.value, from.value});
      kernels.add(fmt::format("set.ge.or.{}.{}", to.name, from.name), to.value, {from.value, from.value, p});
    }
  }
  for (const char* comparison : unordered)
    kernels.add(fmt::format("set.{}.ftz.u32.f32", comparison), Value::u32, {Value::f32, Value::f32});
}

void add_selections(Kernels& kernels) {
  for (const Type& of :
       {Type{"b16", Value::u16}, Type{"b32", Value::u32}, Type{"b64", Value::u64}, Type{"s16", Value::s16},
        Type{"u32", Value::u32}, Type{"s64", Value::s64}, Type{"f32", Value::f32}, Type{"f64", Value::f64}}) {
    kernels.add(fmt::format("selp.{}", of.name), of.value, {of.value, of.value, Value::predicate});
    kernels.add(fmt::format("slct.{}.s32", of.name), of.value, {of.value, of.value, Value::s32});
    kernels.add(fmt::format("slct.{}.f32", of.name), of.value, {of.value, of.value, Value::f32});
    kernels.add(fmt::format("slct.ftz.{}.f32", of.name), of.value, {of.value, of.value, Value::f32});
  }
}

}  // namespace

void add_comparison_kernels(Kernels& kernels) {
  for (const Type& of : unsigned_types) {
    for (const char* comparison : ordered) add_setp(kernels, comparison, of);
    for (const char* comparison : {"lo", "ls", "hi", "hs"}) add_setp(kernels, comparison, of);
    add_combined(kernels, of);
  }
  for (const Type& of : signed_types) {
    for (const char* comparison : ordered) add_setp(kernels, comparison, of);
    add_combined(kernels, of);
  }
  for (const Type& of : bit_types) {
    for (const char* comparison : {"eq", "ne"}) add_setp(kernels, comparison, of);
  }
  for (const Type& of : floating_types) {
    for (const char* comparison : ordered) add_setp(kernels, comparison, of);
    for (const char* comparison : unordered) add_setp(kernels, comparison, of);
    add_combined(kernels, of);
  }
  for (const char* comparison : ordered) {
    add_setp(kernels, fmt::format("{}.ftz", comparison), {"f32", Value::f32});
    add_setp(kernels, fmt::format("{}.ftz", comparison), {"f16", Value::f16});
  }
  add_pairs(kernels, {"f16x2", Value::f16x2});
  add_pairs(kernels, {"bf16x2", Value::bf16x2});
  add_set(kernels);
  add_selections(kernels);
}

}  // namespace weft::simulator::scalar_tests
