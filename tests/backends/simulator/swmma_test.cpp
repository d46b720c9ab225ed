// The sparse tensor core of HB-ELL on the simulated V100 against scalar code, what the simulator says of
// wrong uses, and what the instructions cost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/instructions/swmma.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace weft::simulator::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int size = 16;

/// One block of A as it is stored, a tile of B in rows of `stride`, sums to add to.
struct Operands {
  int width = 4;  ///< PW
  int bits = 8;   ///< bits of an offset
  int stride = size, rows = size, columns = size;
  std::vector<f16> a, b;
  std::vector<std::uint8_t> offsets;  ///< one each
  std::vector<float> sums;

  int stored() const { return is_sparse_width(width) ? width : size; }
  std::vector<std::uint8_t> packed() const {
    if (bits == 8) return offsets;
    std::vector<std::uint8_t> bytes(offsets.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(offsets[2 * i] | offsets[2 * i + 1] << 4);
    return bytes;
  }
};

/// Rows of any length up to the width, filled up as HB-ELL does. Whole numbers make sums exact.
Operands random_operands(int width, std::uint32_t seed, bool whole_numbers = true) {
  std::mt19937 random(seed);
  const auto value = [&] {
    const auto number = static_cast<float>(static_cast<int>(random() % 17) - 8);
    return f16(whole_numbers ? number : number * 0.37F);
  };
  Operands made;
  made.width = width;
  for (int i = 0; i < size * size; ++i) made.b.push_back(value());
  for (int i = 0; i < size * size; ++i) made.sums.push_back(static_cast<float>(value()));
  if (!is_sparse_width(width)) {
    for (int i = 0; i < size * size; ++i) made.a.push_back(value());
    return made;
  }
  for (int row = 0; row < size; ++row) {
    std::array<std::uint8_t, size> columns;
    std::iota(columns.begin(), columns.end(), std::uint8_t{0});
    std::ranges::shuffle(columns, random);
    const std::size_t length = random() % (static_cast<std::size_t>(width) + 1);
    std::sort(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(length));
    for (std::size_t i = 0; i < static_cast<std::size_t>(width); ++i) {
      const std::uint8_t last = length == 0 ? std::uint8_t{0} : columns[std::min(i, length - 1)];
      made.offsets.push_back(last);
      made.a.push_back(i < length ? f16(static_cast<float>(value()) + 9.F) : f16(0.F));
    }
  }
  return made;
}

std::vector<double> expected(const Operands& o) {
  std::vector<double> sums(o.sums.begin(), o.sums.end());
  for (int row = 0; row < size; ++row)
    for (int place = 0; place < o.stored(); ++place) {
      const auto at = static_cast<std::size_t>(row * o.stored() + place);
      const int k = is_sparse_width(o.width) ? o.offsets[at] : place;
      for (int n = 0; n < o.columns && k < o.rows; ++n)
        sums[static_cast<std::size_t>(row * size + n)] +=
            static_cast<double>(static_cast<float>(o.a[at])) *
            static_cast<double>(static_cast<float>(o.b[static_cast<std::size_t>(k * o.stride + n)]));
    }
  return sums;
}

/// "%f0, %f1, …"
std::string registers(std::string_view prefix, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return text;
}

std::string kernel(const Operands& o) {
  std::string sums_in, sums_out;
  for (int i = 0; i < swmma_sums.registers(); ++i) {
    const int place = 4 * (i / 2 % 2 * 8 * size + i / 4 * 8 + i % 2);
    sums_in += fmt::format("  ld.global.f32 %f{}, [%l5+{}];\n", i, place);
    sums_out += fmt::format("  st.global.f32 [%l5+{}], %f{};\n", place, i);
  }
  const int of_a = swmma_left(o.width).registers();
  const bool is_sparse = is_sparse_width(o.width);
  const std::string sums = registers("%f", 0, swmma_sums.registers());
  return fmt::format(R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry kernel(.param .u64 a, .param .u64 offsets, .param .u64 b, .param .u64 sums)
{{
  .reg .b32 %r<32>;
  .reg .b64 %l<16>;
  .reg .f32 %f<16>;
  ld.param.u64 %l1, [a];
  ld.param.u64 %l2, [offsets];
  ld.param.u64 %l3, [b];
  ld.param.u64 %l4, [sums];
  mov.u32 %r20, %tid.x;
  shr.u32 %r21, %r20, 2;
  and.b32 %r22, %r20, 3;
  shl.b32 %r21, %r21, 6;
  shl.b32 %r22, %r22, 3;
  add.u32 %r21, %r21, %r22;
  cvt.u64.u32 %l6, %r21;
  add.u64 %l5, %l4, %l6;
{}  swmma.load.a.{} {{{}}}, [%l1];
{}  swmma.load.b {{{}}}, [%l3], {}, {}, {};
  swmma.mma.f32.f32.{} {{{}}}, {{{}}}, {{{}}}, {{{}}}{};
{}  ret;
}}
)",
                     sums_in, o.width, registers("%r", 0, of_a),
                     is_sparse ? fmt::format("  swmma.load.offset.{}{} {{%r10}}, [%l2];\n", o.width,
                                             o.bits == 4 ? ".b4" : "")
                               : "",
                     registers("%r", 4, swmma_right.registers()), o.stride, o.rows, o.columns, o.width, sums,
                     registers("%r", 0, of_a), registers("%r", 4, swmma_right.registers()), sums,
                     is_sparse ? ", {%r10}" : "", sums_out);
}

struct Outcome {
  std::vector<float> sums;
  std::string findings;
};

Outcome run(const Operands& o, const std::string& text) {
  const Device device = make_device("sm_70_swmma", {.launch = {}, .tolerates_findings = true});
  const DeviceMemory a(device, o.a), b(device, o.b), sums(device, o.sums);
  const std::vector<std::uint8_t> bytes = o.packed();
  const DeviceMemory offsets(device, bytes.empty() ? std::vector<std::uint8_t>(4) : bytes);
  std::uint64_t addresses[] = {a.address(), offsets.address(), b.address(), sums.address()};
  void* const arguments[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3]};
  LaunchShape shape;
  shape.block = {32, 1, 1};
  Module::load(device, text).function("kernel").launch(shape, arguments, nullptr);
  Outcome outcome{sums.to_vector<float>(), {}};
  for (const Finding& finding : last_report(device).findings)
    outcome.findings += finding.kind + ": " + finding.text + "\n";
  return outcome;
}
Outcome run(const Operands& o) {
  return run(o, kernel(o));
}

void expect_product(const Operands& o, double tolerance) {
  const Outcome outcome = run(o);
  EXPECT_THAT(outcome.findings, IsEmpty());
  const std::vector<double> wanted = expected(o);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(static_cast<double>(outcome.sums[i]), wanted[i], tolerance) << "sum " << i;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the kernel has no " + std::string(from));
  return text.replace(at, from.size(), to);
}

TEST(Swmma, WholeNumbersAreExactForEveryWidth) {
  for (const int width : swmma_widths)
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
      SCOPED_TRACE(fmt::format("width {}, seed {}", width, seed));
      expect_product(random_operands(width, seed), 0);
    }
}

TEST(Swmma, RandomNumbersAreRoundedOnce) {
  for (const int width : swmma_widths) expect_product(random_operands(width, 5, false), 2e-5);
}

TEST(Swmma, OffsetsOfFourBitsAreTheSame) {
  for (const int width : {4, 8})
    for (std::uint32_t seed = 20; seed < 26; ++seed) {
      Operands o = random_operands(width, seed);
      const std::vector<float> wide = run(o).sums;
      o.bits = 4;
      expect_product(o, 0);
      EXPECT_EQ(run(o).sums, wide);
    }
}

TEST(Swmma, TilesOfBAtTheEdgeAreZeroBeyondIt) {
  for (const auto& [stride, rows, columns] : std::vector<std::array<int, 3>>{
           {16, 7, 16}, {13, 16, 13}, {5, 3, 5}, {18, 16, 9}, {12, 1, 1}, {40, 16, 16}}) {
    SCOPED_TRACE(fmt::format("stride {}, {} x {}", stride, rows, columns));
    for (const int width : {8, 16}) {
      Operands o = random_operands(width, 77);
      o.stride = stride, o.rows = rows, o.columns = columns;
      // No more than there is: a read beyond would be out of bounds.
      o.b.resize(static_cast<std::size_t>(stride * (rows - 1) + columns), f16(3.F));
      expect_product(o, 0);
    }
  }
}

TEST(Swmma, PaddingMeetsInfinityAsTheHardwareWould) {
  Operands o = random_operands(4, 3);
  std::ranges::fill(o.a, f16(0.F));
  std::ranges::fill(o.offsets, std::uint8_t{0});
  o.b[0] = f16(INFINITY);
  const Outcome outcome = run(o);
  EXPECT_TRUE(std::isnan(outcome.sums[0]));
  EXPECT_EQ(outcome.sums[1], o.sums[1]);
  // Zeros that fill up a row behind an entry name its column, and leave its product alone.
  for (std::size_t row = 0; row < 16; ++row) o.a[4 * row] = f16(2.F);
  EXPECT_EQ(run(o).sums[0], INFINITY);
}

TEST(SwmmaFindings, OffsetsOutsideTheBlock) {
  Operands o = random_operands(4, 9);
  o.offsets[4 * 3 + 2] = 21;
  EXPECT_THAT(run(o).findings, HasSubstr("sparse offset: row 3, place 2: the offset is 21"));
}

TEST(SwmmaFindings, EveryFlippedBitThatBreaksTheOrderOrTheRange) {
  const Operands right = random_operands(8, 31);
  int found = 0, wrong = 0;
  for (std::size_t i = 0; i < right.offsets.size(); i += 3)
    for (int bit = 0; bit < 8; ++bit) {
      Operands o = right;
      o.offsets[i] ^= static_cast<std::uint8_t>(1U << bit);
      const std::size_t row = i / 8 * 8;
      bool is_valid = true;
      for (std::size_t place = row; place < row + 8; ++place) {
        const bool first = place == row;
        const bool follows =
            first || o.offsets[place - 1] < o.offsets[place] ||
            (o.offsets[place - 1] == o.offsets[place] && static_cast<float>(o.a[place]) == 0);
        is_valid = is_valid && follows && o.offsets[place] < size;
      }
      const bool is_reported = run(o).findings.find("sparse offset") != std::string::npos;
      EXPECT_EQ(is_reported, !is_valid) << "offset " << i << ", bit " << bit;
      found += is_reported ? 1 : 0;
      wrong += is_valid ? 0 : 1;
    }
  EXPECT_GT(found, 200);
  EXPECT_EQ(found, wrong);
}

TEST(SwmmaFindings, MemoryThatIsNotThere) {
  for (const int width : {4, 8, 16}) {
    Operands o = random_operands(width, 4);
    o.a.pop_back();
    EXPECT_THAT(run(o).findings, HasSubstr("out of bounds")) << width;
  }
  Operands o = random_operands(4, 4);
  o.offsets.pop_back();
  EXPECT_THAT(run(o).findings, HasSubstr("out of bounds"));
  o = random_operands(4, 4);
  o.stride = 17;
  EXPECT_THAT(run(o).findings, HasSubstr("out of bounds"));
}

TEST(SwmmaFindings, PlacesThatAreNotAligned) {
  const Operands o = random_operands(8, 4);
  EXPECT_THAT(run(o, replaced(kernel(o), "[%l1];", "[%l1+2];")).findings, HasSubstr("misaligned: 8 bytes"));
  EXPECT_THAT(run(o, replaced(kernel(o), "[%l2];", "[%l2+1];")).findings, HasSubstr("misaligned: 4 bytes"));
  EXPECT_THAT(run(o, replaced(kernel(o), "[%l3]", "[%l3+1]")).findings, HasSubstr("misaligned: 2 bytes"));
}

TEST(SwmmaFindings, WhatNobodyWrote) {
  const Operands o = random_operands(4, 4);
  EXPECT_THAT(
      run(o, replaced(kernel(o), "swmma.load.offset.4 {%r10}", "swmma.load.offset.4 {%r11}")).findings,
      HasSubstr("unwritten register: reads %r10"));
}

TEST(SwmmaFindings, LanesThatDisagree) {
  const Operands o = random_operands(4, 4);
  EXPECT_THAT(run(o, replaced(kernel(o), "[%l1];", "[%l5];")).findings,
              HasSubstr("not uniform: the address"));
  EXPECT_THAT(run(o, replaced(kernel(o), "[%l3], 16", "[%l3], %r20")).findings,
              HasSubstr("not uniform: the stride"));
  const std::string guard = "  .reg .pred %q;\n  setp.lt.u32 %q, %r20, 31;\n  @%q ";
  for (const char* name : {"swmma.mma", "swmma.load.a", "swmma.load.b", "swmma.load.offset"})
    EXPECT_THAT(run(o, replaced(kernel(o), fmt::format("  {}", name), guard + name)).findings,
                HasSubstr("partial warp"))
        << name;
}

TEST(SwmmaFindings, InstructionsThatThereAreNot) {
  const Operands o = random_operands(4, 4);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"swmma.mma.f32.f32.4", "swmma.mma.f32.f32.5"},
           {"swmma.mma.f32.f32.4", "swmma.mma.f32.f16.4"},
           {"swmma.mma.f32.f32.4", "swmma.mma.f32.f32.8"},
           {"swmma.load.a.4", "swmma.load.a.6"},
           {"swmma.load.offset.4", "swmma.load.offset.12"},
           {"swmma.load.offset.4 {%r10}", "swmma.load.offset.4 {%r10, %r11}"}}) {
    EXPECT_THROW(run(o, replaced(kernel(o), from, to)), UserError) << to;
  }
}

TEST(SwmmaCosts, MoreValuesTakeLonger) {
  double clocks = 0, latency = 0;
  for (const int width : swmma_widths) {
    const weft::Instruction& row = instruction(swmma_mma(width));
    EXPECT_EQ(row.lowest_sm, simulated_only);
    EXPECT_GE(row.clocks, clocks) << width;
    EXPECT_GE(row.latency, latency) << width;
    clocks = row.clocks;
    latency = row.latency;
  }
  // A quarter and half of the dense instruction's time, and the selection.
  EXPECT_EQ(instruction(swmma_mma(4)).clocks, 2.5);
  EXPECT_EQ(instruction(swmma_mma(8)).clocks, 4.5);
  EXPECT_EQ(instruction(swmma_mma(12)).clocks, 8);
  EXPECT_EQ(instruction(swmma_mma(16)).clocks, 8);
  EXPECT_EQ(instruction(swmma_mma(16)).latency, 54);
}

TEST(SwmmaCosts, TheTimeModelChargesThem) {
  std::array<double, 3> clocks{};
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const Operands o = random_operands(std::array{4, 8, 16}[i], 4);
    const Device device = make_device("sm_70_swmma");
    const DeviceMemory a(device, o.a), b(device, o.b), sums(device, o.sums);
    const DeviceMemory offsets(device, o.offsets.empty() ? std::vector<std::uint8_t>(4) : o.offsets);
    std::uint64_t addresses[] = {a.address(), offsets.address(), b.address(), sums.address()};
    void* const arguments[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3]};
    LaunchShape shape;
    shape.block = {32, 1, 1};
    Module::load(device, kernel(o)).function("kernel").launch(shape, arguments, nullptr);
    for (const TimeEstimate::Part& part : last_estimate(device).parts)
      if (part.resource == "extension pipe") clocks[i] = part.microseconds * 1e3 * 1.53;
  }
  EXPECT_NEAR(clocks[0], 2.5, 1e-3);
  EXPECT_NEAR(clocks[1], 4.5, 1e-3);
  EXPECT_NEAR(clocks[2], 8, 1e-3);
}

}  // namespace
}  // namespace weft::simulator::testing
