#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/simulator/ptx/parse.h>
#include <weft/dsl/errors.h>

#include <ctime>
#include <fstream>
#include <random>
#include <sstream>

#include "support/sanitizers.h"

namespace weft::simulator::ptx {
namespace {

using ::testing::HasSubstr;

const std::string head = ".version 8.3\n.target sm_90a\n.address_size 64\n";

std::string in_kernel(const std::string& body) {
  return head +
         ".visible .entry k(.param .u64 p) {\n.reg .b32 %r<10>; .reg .pred q; .shared .b32 tile[8];\n" +
         body + "\n}\n";
}

struct Wrong {
  std::string text;
  int line;
  std::string found, accepted;
};

void expect_refused(const Wrong& wrong) {
  try {
    parse(wrong.text);
    ADD_FAILURE() << "accepted: " << wrong.text;
  } catch (const UserError& error) {
    EXPECT_EQ(error.report().where, "line " + std::to_string(wrong.line)) << wrong.text << error.what();
    EXPECT_THAT(error.report().found, HasSubstr(wrong.found)) << wrong.text;
    EXPECT_THAT(error.report().accepted, HasSubstr(wrong.accepted)) << wrong.text;
  }
}

TEST(PtxErrors, OfModules) {
  const std::vector<Wrong> all{
      {"", 1, "the end of the text", ".version"},
      {"hello", 1, "'hello'", ".version"},
      {".version 8\n.target sm_80", 1, "'8'", "8.3"},
      {".version 8.0\n.visible", 2, "'.visible'", ".target"},
      {".version 8.0\n.target debug\n", 3, "the end", "architecture"},
      {head + ".frobnicate 3;", 4, "'.frobnicate'", ".entry"},
      {head + "mov.u32 a, b;", 4, "'mov'", ".entry"},
      {head + ".global .b32 a;\n\n.global .b32 a;", 6, "which line 4 declares already", "once"},
      {head + ".global .b99 a;", 4, "'.b99'", "a type"},
      {head + ".global .b32 a[2] = {1, 2, 3};", 4, "'3'", "2 values"},
      {head + ".global .b32 a[2] = {1, b};", 4, "'b'", "declared before"},
      {head + ".global .b32 a[2] = {1, 1/0};", 4, "division by zero", "not zero"},
      {head + ".global .b8 a[2][1000000] = {{}, {1}};", 4, "'}'", "gaps"},
      {head + ".global .b8 a[281474976710656][2];", 4, "larger", "size"},
      {head + ".global .b8 a[];", 4, "without a size", "bound"},
      {head + ".global .align 3 .b8 a;", 4, "'3'", "power of two"},
      {head + ".shared .b32 a = 1;", 4, "'='", "initial values"},
      {head + ".global .b64 a = 99999999999999999999;", 4, "99999", "64 bits"},
      {head + ".file 4000000000 \"x\"", 4, "4000000000", "65535"},
      {head + ".section .debug {\n\n{ }", 4, "never ends", "}"},
      {head + "/* \n\n", 4, "comment", "*/"},
      {head + ".pragma \"nounroll;\n", 4, "closing quote", "one line"},
      {head + "\n#include \"x\"", 5, "preprocessor", "PTX"},
      {head + "\n\x01", 5, "\\x01", "ASCII"},
      {head + ".func f() { ret; }\n.func f() { ret; }", 5, "which line 4 defines already", "one definition"},
      {head + ".func f();\n.entry f() { ret; }", 5, "declares otherwise", "all declarations"},
      {head + ".func f();\n.func g();\n.alias f, g;", 6, "'g'", "defined"},
      {head + ".entry f() .maxntid 1, 2, 3, 4 { }", 4, "','", "limit"},
      {head + ".entry f() .maxntid 4294967296 { }", 4, "4294967296", "2147483647"},
  };
  for (const Wrong& wrong : all) expect_refused(wrong);
}

TEST(PtxErrors, OfBodies) {
  const std::vector<Wrong> all{
      {in_kernel("mov.u32 %r1, %r2\nret;"), 7, "'ret'", "';'"},
      {in_kernel("mov.u32 %r1, %r10;"), 6, "the register '%r10', which is not declared", ".reg"},
      {in_kernel("mov.u32 %r1, %r01;"), 6, "'%r01'", ".reg"},
      {in_kernel("mov.u32 %r1, other;"), 6, "the name 'other', which is not declared", "declared before"},
      {in_kernel("\nmov.u32 %r1, %tid.q;"), 7, "%tid.q", ".x, .y or .z"},
      {in_kernel("mov.u32 %r1, %laneid.x;"), 6, "%laneid.x", "no components"},
      {in_kernel("mov.u32 %r1, %r2.x;"), 6, "'.x'", "vector registers"},
      {in_kernel("L: ret;\nL: ret;"), 7, "which line 6 declares already", "once"},
      {in_kernel("ret;\nbra L;\nbra M;"), 7, "the label 'L'", "a label"},
      {in_kernel("bra L; { L: ret; }"), 6, "the label 'L'", "around it"},
      {in_kernel("T: .branchtargets L;\nbrx.idx %r1, T;"), 6, "the label 'L'", "a label"},
      {in_kernel("brx.idx %r1, tile;"), 6, "'tile'", ".branchtargets"},
      {in_kernel("@%r1 ret;"), 6, "'%r1' as a guard", ".pred"},
      {in_kernel(".reg .b32 %r3;"), 6, "which line 5 declares already", "once"},
      {in_kernel(".reg .b32 %r<4>;"), 6, "%r<...>", "once"},
      {in_kernel(".reg .b32 x3;\n.reg .b32 x<4>;"), 7, "x<...>", "once"},
      {in_kernel(".reg .b32 %r1<5>;\nmov.u32 %r12, 0; .reg .b32 %r<20>;"), 7, "%r<...>", "once"},
      {in_kernel(".reg .b32 x<2000000000>;"), 6, "2000000000", "4000000"},
      {in_kernel(".reg .b32 x<0>;"), 6, "'0'", "from 1"},
      {in_kernel(".frobnicate;"), 6, "'.frobnicate'", ".reg"},
      {in_kernel("= 3;"), 6, "'='", "an instruction"},
      {in_kernel("ld.u32 %r1, [%r2;"), 6, "';'", "']'"},
      {in_kernel("ld.u32 %r1, [%r2+%r3];"), 6, "'%r3'", "a constant"},
      {in_kernel("ld.u32 {%r1, %r2, [%r3];"), 6, "'['", "an operand"},
      {in_kernel("ld.u32 %r1, tile[%r2];"), 6, "'%r2'", "constant index"},
      {in_kernel("mov.b32 %r1, 0f3F8;"), 6, "'0f3F8'", "8 hexadecimal digits"},
      {in_kernel("mov.b32 %r1, 089;"), 6, "'089'", "an integer"},
      {in_kernel("mov.b32 %r1, 12abc;"), 6, "'12abc'", "an integer"},
      {in_kernel("mov.b32 %r1, 1.5+2;"), 6, "a real number", "integers"},
      {in_kernel("call f, (%r1);"), 6, "'f'", "declared"},
      {in_kernel("call (%r1), tile;"), 6, "'tile'", "a function"},
      {in_kernel("setp.eq.u32 q|3, %r1, %r2;"), 6, "'3'", "a register or _"},
      {in_kernel("{ {"), 8, "the end of the text", "'{' of line 6"},
      {in_kernel("mov.b32 %r1, " + std::string(100000, '(') + "1;"), 6, "nested deeper", "64"},
      {in_kernel(std::string(100000, '{')), 6, "nested deeper", "32"},
  };
  for (const Wrong& wrong : all) expect_refused(wrong);
}

TEST(PtxErrors, RangesThatOverlap) {
  expect_refused(
      {in_kernel(".reg .b32 a<20>; .reg .b32 a1<5>;\nmov.u32 a12, 0;"), 7, "both declare", "once"});
}

std::string forms() {
  std::ifstream file(std::string(WEFT_TESTS_DIR) + "/backends/simulator/ptx/forms.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The parse or a UserError with a line of the text; anything else that is thrown fails the test.
bool is_answered(const std::string& text) {
  try {
    parse(text);
    return true;
  } catch (const UserError& error) {
    const std::string& where = error.report().where;
    EXPECT_TRUE(where.starts_with("line ")) << error.what();
    EXPECT_FALSE(error.report().found.empty() || error.report().accepted.empty()) << error.what();
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    EXPECT_LE(std::stol(where.substr(5)), lines);
    EXPECT_LT(std::string(error.what()).size(), 1000U);
    return false;
  }
}

TEST(PtxErrors, TruncatedAnywhere) {
  const std::string whole = forms();
  ASSERT_TRUE(is_answered(whole));
  const std::size_t body = whole.find("ld.param.u64"), body_end = whole.find("$L__end:");
  ASSERT_LT(body, body_end);
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    const bool read = is_answered(whole.substr(0, size));
    EXPECT_FALSE(read && size > body && size < body_end) << size;
  }
}

TEST(PtxErrors, RandomBytes) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> any(0, 255);
  int read = 0;
  for (int round = 0; round < 300; ++round) {
    std::string noise(1000, ' ');
    for (char& c : noise) c = static_cast<char>(any(random));
    read += is_answered(noise) || is_answered(head + noise) ? 1 : 0;
  }
  EXPECT_EQ(read, 0);
}

TEST(PtxErrors, FlippedBytes) {
  const std::string whole = forms();
  std::mt19937 random(8);
  std::uniform_int_distribution<std::size_t> where(0, whole.size() - 1);
  std::uniform_int_distribution<int> any(1, 255);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    char& c = text[where(random)];
    c = static_cast<char>(c ^ any(random));
    refused += is_answered(text) ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

/// Of the processor, not of the clock: other tests run at the same time.
double seconds_to_read(const std::string& text, bool is_good) {
  const std::clock_t start = std::clock();
  EXPECT_EQ(is_answered(text), is_good);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + unit.size());
  while (text.size() < bytes) text += unit;
  return text;
}

constexpr std::size_t ten_megabytes = 10'000'000;
constexpr double enough_seconds = under_sanitizer ? 300 : 10;  // half a second where nothing else runs

TEST(PtxTime, TenMegabytesOfOneBlock) {
  const std::string code =
      repeated("fma.rn.f32 %r1, %r2, %r3, 0f3F800000;\nld.u32 %r4, [%r5+16];\n", ten_megabytes);
  const std::string text = in_kernel(code);
  EXPECT_LT(seconds_to_read(text, true), enough_seconds);
  EXPECT_EQ(parse(text).functions.at(0).instructions.size(), std::count(code.begin(), code.end(), ';'));
  EXPECT_LT(seconds_to_read(text.substr(0, text.size() - 5), false), enough_seconds);
}

TEST(PtxTime, TenMegabytesThatAreHardToRead) {
  const std::string deep_end(30, '}'), deep(30, '{');
  EXPECT_LT(seconds_to_read(in_kernel(deep + repeated("bra L;", ten_megabytes) + deep_end + "L:"), true),
            enough_seconds);
  EXPECT_LT(seconds_to_read(
                in_kernel(deep + ".reg .b32 %r<2>;" + repeated("mov.b32 %r9,%r8;", ten_megabytes) + deep_end),
                true),
            enough_seconds);
  EXPECT_LT(seconds_to_read(
                in_kernel(repeated("{.reg .b32 %r<4000000>; mov.b32 %r3999999, 0;}", ten_megabytes)), true),
            enough_seconds);
  EXPECT_LT(seconds_to_read(in_kernel(repeated("(", ten_megabytes)), false), enough_seconds);
  EXPECT_LT(seconds_to_read(head + repeated(".func f(); ", ten_megabytes), true), enough_seconds);
}

}  // namespace
}  // namespace weft::simulator::ptx
