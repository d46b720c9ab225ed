#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/simulator/ptx/parse.h>
#include <weft/dsl/errors.h>

#include <bit>
#include <fstream>
#include <sstream>

namespace weft::simulator::ptx {
namespace {

using ::testing::ElementsAre;
using Kind = Operand::Kind;

const std::string head = ".version 8.3\n.target sm_90a\n.address_size 64\n";

/// The module whose one kernel has this body.
Module kernel(const std::string& body) {
  return parse(head + ".visible .entry k(.param .u64 input) {\n" + body + "\n}\n");
}

/// The operands of the last instruction.
std::vector<Operand> operands(const std::string& instruction) {
  const Module module = kernel(
      ".reg .b32 %r<10>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<5>; .reg .v2 .f32 v;\n"
      ".shared .b32 tile[8];\n" +
      instruction);
  return module.functions.at(0).instructions.back().operands;
}

Operand operand(const std::string& text) {
  return operands("mov.b64 %rd1, " + text + ";").at(1);
}
std::string name_of_register(const Module& module, int index) {
  return module.functions.at(0).registers.at(static_cast<std::size_t>(index)).name;
}

TEST(PtxOperands, Numbers) {
  EXPECT_EQ(operand("12").bits, 12U);
  EXPECT_EQ(operand("0x1fU").bits, 31U);
  EXPECT_EQ(operand("017").bits, 15U);
  EXPECT_EQ(operand("0b101").bits, 5U);
  EXPECT_EQ(operand("-1").bits, ~std::uint64_t{0});
  EXPECT_EQ(operand("18446744073709551615").bits, ~std::uint64_t{0});
  EXPECT_EQ(operand("WARP_SZ").bits, 32U);
  EXPECT_EQ(operand("12").kind, Kind::integer);
  const Operand single = operand("0f3F800000");
  EXPECT_EQ(single.kind, Kind::real);
  EXPECT_TRUE(single.is_single);
  EXPECT_EQ(single.bits, 0x3F800000U);
  EXPECT_EQ(operand("-0f3F800000").bits, 0xBF800000U);
  EXPECT_EQ(operand("0d3FF8000000000000").bits, std::bit_cast<std::uint64_t>(1.5));
  EXPECT_EQ(operand("1.5e-3").bits, std::bit_cast<std::uint64_t>(1.5e-3));
  EXPECT_FALSE(operand("1.5").is_single);
}

TEST(PtxOperands, ConstantExpressions) {
  const auto value = [](const std::string& text) { return static_cast<std::int64_t>(operand(text).bits); };
  EXPECT_EQ(value("(1<<4)+3"), 19);
  EXPECT_EQ(value("2+3*4-10/3 % 2"), 13);
  EXPECT_EQ(value("10-4-3"), 3);
  EXPECT_EQ(value("~0 & 0xF0 | 1 ^ 3"), 0xF2);
  EXPECT_EQ(value("-7/2"), -3);
  EXPECT_EQ(value("-8>>1"), -4);
  EXPECT_EQ(value("(.u64)-8>>60"), 15);
  EXPECT_EQ(value("1 < 2 && 3 != 3 || !0"), 1);
  EXPECT_EQ(value("-1 < 1"), 1);
  EXPECT_EQ(value("-1 < 1U"), 0);
  EXPECT_EQ(value("1 == 2 ? 10 : 20"), 20);
  EXPECT_EQ(value("1 << 64"), 0);
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), std::numeric_limits<std::int64_t>::min());
}

TEST(PtxOperands, Addresses) {
  const auto address = [](const std::string& text) { return operands("ld.u32 %r1, " + text + ";").at(1); };
  const Operand plain = address("[%rd1+-16]");
  EXPECT_EQ(plain.kind, Kind::address);
  EXPECT_EQ(plain.offset, -16);
  EXPECT_EQ(plain.elements.at(0).kind, Kind::reg);
  EXPECT_EQ(address("[%rd1-16+4]").offset, -12);
  EXPECT_EQ(address("[%rd1]").offset, 0);
  EXPECT_EQ(address("[tile+4]").offset, 4);
  EXPECT_EQ(address("[tile+4]").elements.at(0).name, "tile");
  EXPECT_EQ(address("[tile+4]").elements.at(0).offset, 0);
  EXPECT_EQ(address("[64]").elements.at(0).bits, 64U);
  EXPECT_EQ(address("tile[3]").kind, Kind::address);
  EXPECT_EQ(address("tile[3]").offset, 12);
  EXPECT_EQ(operand("tile[3]").kind, Kind::symbol);
  EXPECT_EQ(operand("tile[3]").offset, 12);
  EXPECT_EQ(operand("tile+8").offset, 8);
  EXPECT_EQ(operand("input").name, "input");
  const Operand tensor = address("[%rd1, {%r2, 7}]");
  EXPECT_EQ(tensor.kind, Kind::tensor);
  ASSERT_EQ(tensor.elements.size(), 3U);
  EXPECT_EQ(tensor.elements[0].kind, Kind::reg);
  EXPECT_EQ(tensor.elements[2].bits, 7U);
  const Operand offsets = address("[%rd1, {%r2}, {1, 2}]");
  ASSERT_EQ(offsets.elements.size(), 3U);
  EXPECT_EQ(offsets.elements[2].kind, Kind::vector);
}

TEST(PtxOperands, RegistersAndTheRest) {
  const auto vector = operands("ld.v4.f32 {%f1, _, %f3, %f4}, [%rd1];").at(0);
  EXPECT_EQ(vector.kind, Kind::vector);
  ASSERT_EQ(vector.elements.size(), 4U);
  EXPECT_EQ(vector.elements[1].kind, Kind::sink);
  const auto pair = operands("setp.lt.and.s32 %p1|_, %r1, -5, !%p2;");
  EXPECT_EQ(pair.at(0).kind, Kind::pair);
  EXPECT_EQ(pair.at(0).elements.at(1).kind, Kind::sink);
  EXPECT_EQ(pair.at(2).kind, Kind::integer);
  EXPECT_TRUE(pair.at(3).negated);
  EXPECT_FALSE(pair.at(1).negated);
  EXPECT_TRUE(operand("-%r1").negated);
  EXPECT_EQ(operand("%tid.x").kind, Kind::special);
  EXPECT_EQ(operand("%tid.x").name, "%tid.x");
  EXPECT_EQ(operand("%clock64").name, "%clock64");
  EXPECT_EQ(operand("%envreg31").name, "%envreg31");
  EXPECT_EQ(operand("v").elements.size(), 2U);
  EXPECT_EQ(operand("v.y").index, operand("v.x").index + 1);
}

TEST(PtxInstructions, ModifiersTypesAndText) {
  const Module module = kernel(
      ".reg .b64 %rd<2>; .reg .pred p; .reg .f32 %f<2>;\n"
      "@!p mbarrier.try_wait.parity.shared::cta.b64 p, [%rd1], 0;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%rd1], [%rd1], 16, "
      "[%rd1];\n"
      "cvt.rn.f16x2.f32 %f1, %f1;\n");
  const auto& code = module.functions.at(0).instructions;
  EXPECT_EQ(code[0].line, 6);
  EXPECT_TRUE(code[0].guard_negated);
  EXPECT_EQ(name_of_register(module, code[0].guard), "p");
  EXPECT_TRUE(code[0].has("shared::cta"));
  EXPECT_EQ(code[0].type(), Type::b64);
  EXPECT_THAT(code[1].modifiers, ElementsAre("async", "bulk", "shared::cluster", "global",
                                             "mbarrier::complete_tx::bytes", "L2::cache_hint"));
  EXPECT_EQ(code[1].guard, -1);
  EXPECT_EQ(code[1].type(), Type::none);
  EXPECT_THAT(code[2].types(), ElementsAre(Type::f16x2, Type::f32));
  EXPECT_EQ(code[2].type(), Type::f16x2);
  EXPECT_EQ(code[2].text(), "cvt.rn.f16x2.f32");
}

TEST(PtxTypes, NamesAndSizes) {
  for (const auto& [word, bytes] : std::vector<std::pair<std::string, std::size_t>>{{"pred", 1},
                                                                                    {"b8", 1},
                                                                                    {"u16", 2},
                                                                                    {"s32", 4},
                                                                                    {"b64", 8},
                                                                                    {"b128", 16},
                                                                                    {"bf16x2", 4},
                                                                                    {"tf32", 4},
                                                                                    {"f64", 8}}) {
    EXPECT_EQ(name_of(parse_type(word)), word);
    EXPECT_EQ(size_of(parse_type(word)), bytes) << word;
  }
  EXPECT_EQ(parse_type("v4"), Type::none);
  EXPECT_EQ(parse_type(""), Type::none);
  EXPECT_EQ(size_of(Type::none), 0U);
}

TEST(PtxScopes, RegistersAndLabelsOfNestedBlocks) {
  const Module module = kernel(R"(.reg .b32 %r<5>; .reg .pred p;
    mov.b32 %r1, 0;
    { .reg .b32 %r<3>; .reg .pred p; mov.b32 %r1, 1; mov.b32 %r4, 2; @p bra L; bra M; L: mov.b32 %r2, 3; }
    { .reg .b32 %r1; L: mov.b32 %r1, 4; bra L; }
    L: mov.b32 %r1, 5;
    M:)");
  const Function& function = module.functions.at(0);
  const auto& code = function.instructions;
  const auto written = [&](std::size_t i) { return name_of_register(module, code[i].operands[0].index); };
  EXPECT_EQ(written(0), "%r1");
  EXPECT_EQ(written(1), "%r1#2");
  EXPECT_EQ(written(2), "%r4");  // the outer block's: the inner one has %r0 to %r2
  EXPECT_EQ(code[3].operands[0].index, 5);
  EXPECT_EQ(code[4].operands[0].index, 9);  // the end of the function
  EXPECT_EQ(written(6), "%r1#3");
  EXPECT_EQ(code[7].operands[0].index, 6);
  EXPECT_EQ(written(8), "%r1");
  EXPECT_EQ(code[8].operands[0].index, code[0].operands[0].index);
}

TEST(PtxScopes, ARangeMayHaveTheNameOfARegister) {
  for (const char* text : {".reg .b64 %c; .reg .b32 %c<4>; mov.b64 %c, 0; mov.b32 %c3, 1;",
                           ".reg .b32 %c<4>; .reg .b64 %c; mov.b64 %c, 0; mov.b32 %c3, 1;"}) {
    const Module module = kernel(text);
    const auto& code = module.functions.at(0).instructions;
    EXPECT_EQ(name_of_register(module, code[0].operands[0].index), "%c");
    EXPECT_EQ(name_of_register(module, code[1].operands[0].index), "%c3");
  }
}

TEST(PtxCalls, AlwaysResultsFunctionArguments) {
  const Module module = parse(head + R"(.func (.param .b32 r) f (.param .b32 a);
.func g () { ret; }
.visible .entry k() {
  .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred p;
  { .param .b32 param0; .param .b32 retval0; call.uni (retval0), f, (param0); }
  { .param .b32 param0; .param .b32 retval0; t: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (retval0), %rd1, (param0), t; }
  @p call g;
})");
  const Function& function = *module.find("k");
  ASSERT_EQ(function.variables.size(), 4U);
  EXPECT_EQ(function.variables[2].name, "param0#2");
  const auto& direct = function.instructions[0].operands;
  ASSERT_EQ(direct.size(), 3U);
  EXPECT_EQ(direct[0].elements.at(0).name, "retval0");
  EXPECT_EQ(direct[1].name, "f");
  EXPECT_EQ(direct[2].elements.at(0).name, "param0");
  const auto& indirect = function.instructions[1].operands;
  ASSERT_EQ(indirect.size(), 4U);
  EXPECT_EQ(indirect[1].kind, Kind::reg);
  EXPECT_EQ(indirect[2].elements.at(0).name, "param0#2");
  EXPECT_EQ(indirect[3].name, "t");
  const auto& bare = function.instructions[2].operands;
  ASSERT_EQ(bare.size(), 3U);
  EXPECT_TRUE(bare[0].elements.empty() && bare[2].elements.empty());
  EXPECT_TRUE(module.find("f")->is_declared_only);
  EXPECT_EQ(module.find("nobody"), nullptr);
}

class PtxForms : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(std::string(WEFT_TESTS_DIR) + "/backends/simulator/ptx/forms.ptx");
    std::stringstream text;
    text << file.rdbuf();
    module = parse(text.str());
  }
  const Variable& variable(std::string_view name) const {
    for (const Variable& each : module.variables) {
      if (each.name == name) return each;
    }
    throw std::out_of_range(std::string(name));
  }
  static std::vector<int> bytes(const Variable& variable) {
    std::vector<int> all;
    for (const std::byte byte : variable.initial) all.push_back(std::to_integer<int>(byte));
    return all;
  }
  Module module;
};

TEST_F(PtxForms, Module) {
  EXPECT_EQ(module.version, 83);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.address_bits, 64);
  EXPECT_THAT(module.files, ElementsAre("", "forms.cu", "other.cu"));
  EXPECT_FALSE(module.find("twice")->is_declared_only);
  EXPECT_EQ(module.find("other_name"), module.find("actual"));
  EXPECT_EQ(module.find("add_registers")->registers.at(0).name, "sum");
  EXPECT_EQ(module.find("add_registers")->parameters.at(1).space, Space::reg);
}

TEST_F(PtxForms, Variables) {
  EXPECT_THAT(bytes(variable("text")), ElementsAre(104, 105, 33, 10, 3));
  EXPECT_EQ(variable("text").bytes, 6U);
  EXPECT_EQ(variable("dynamic").bytes, 0U);
  EXPECT_TRUE(variable("dynamic").is_extern);
  EXPECT_EQ(variable("dynamic").alignment, 16U);
  EXPECT_THAT(bytes(variable("later")), ElementsAre(7, 0, 0, 0));
  EXPECT_FALSE(variable("later").is_extern);
  EXPECT_THAT(bytes(variable("reals")),
              ElementsAre(0, 0, 0xC0, 0x3F, 0, 0, 0, 0xC0, 0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x3F));
  EXPECT_THAT(bytes(variable("matrix")), ElementsAre(1, 0, 255, 255, 2, 0, 0, 0, 19, 0, 255, 255));
  EXPECT_EQ(variable("matrix").bytes, 12U);
  EXPECT_EQ(variable("four").bytes, 16U);
  EXPECT_EQ(variable("four").alignment, 16U);
  const auto& pointers = variable("pointers").references;
  ASSERT_EQ(pointers.size(), 3U);
  EXPECT_TRUE(pointers[0].is_generic);
  EXPECT_EQ(pointers[0].addend, 2);
  EXPECT_EQ(pointers[1].offset, 8U);
  EXPECT_EQ(pointers[2].symbol, "twice");
  const auto& packed = variable("packed").references;
  ASSERT_EQ(packed.size(), 2U);
  EXPECT_EQ(packed[1].shift, 8);
  EXPECT_EQ(packed[1].bytes, 1U);
}

TEST_F(PtxForms, Kernel) {
  const Function& kernel = *module.find("kernel");
  EXPECT_TRUE(kernel.is_entry);
  EXPECT_THAT(kernel.max_threads, ElementsAre(128, 2, 1));
  EXPECT_THAT(kernel.required_threads, ElementsAre(64, 1, 1));
  EXPECT_THAT(kernel.required_cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(kernel.min_blocks, 2);
  EXPECT_EQ(kernel.max_registers, 96);
  ASSERT_EQ(kernel.parameters.size(), 3U);
  EXPECT_EQ(kernel.parameters[0].alignment, 8U);  // .ptr's .align is what it points to
  EXPECT_EQ(kernel.parameters[1].bytes, 128U);
  EXPECT_EQ(kernel.parameters[1].alignment, 64U);
  EXPECT_EQ(kernel.variables.at(2).name, "tile");
  EXPECT_EQ(kernel.variables.at(2).bytes, 256U);
  EXPECT_EQ(kernel.variables.at(2).space, Space::shared);
  ASSERT_EQ(kernel.branch_tables.size(), 1U);
  const int end = static_cast<int>(kernel.instructions.size());
  EXPECT_THAT(kernel.branch_tables[0].targets, ElementsAre(end - 2, end));
  ASSERT_EQ(kernel.places.size(), kernel.instructions.size());
  EXPECT_EQ(kernel.places.front().line, 12);
  EXPECT_EQ(kernel.places.back().file, 2);
}

}  // namespace
}  // namespace weft::simulator::ptx
