// Rows of the instruction table that multiply from registers: their text, with elements where their layouts
// say, makes the product. How the simulator reads fragments is checked against a GPU's results
// (matrix_test.cpp) and knows nothing of the table.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <weft/backends/simulator/device.h>
#include <weft/scheduler/hardware/instructions.h>

#include <algorithm>

#include "conformance/run_matrix_kernel.h"

namespace weft::simulator::testing {
namespace {

Type type_of(DType type) {
  for (const Type each : {Type::f16, Type::bf16, Type::e4m3, Type::e5m2, Type::f32})
    if (name_of(each) == weft::name_of(type)) return each;
  return type == DType::i8 ? Type::s8 : Type::s32;
}

/// The registers of each lane, one lane after the other.
class LaneWords {
 public:
  explicit LaneWords(int of_lane) : of_lane_(of_lane), words(static_cast<std::size_t>(32 * of_lane)) {}

  void put(int lane, int first_word, int bits_of_element, int i, std::uint64_t bits) {
    const int at = first_word * 32 + i * bits_of_element;
    words.at(static_cast<std::size_t>(lane * of_lane_ + at / 32)) |= static_cast<std::uint32_t>(bits)
                                                                     << at % 32;
  }
  void put(int lane, int first_word, const TensorOperand& operand, const Operands& from) {
    for (int i = 0; i < operand.layout.elements(); ++i) {
      const auto [row, column] = operand.layout.place(lane, i);
      put(lane, first_word, 8 * static_cast<int>(size_of(operand.type)), i, from.bit(row, column));
    }
  }

 private:
  int of_lane_;

 public:
  std::vector<std::uint32_t> words;
};

/// The k of each element that a row of the left factor has: two of each four, or all.
std::vector<int> drawn_places(const TensorProduct& tensor, Draw& draw) {
  std::vector<int> places;
  for (int row = 0; row < tensor.m; ++row) {
    for (int place = 0; place < tensor.kept(); ++place) {
      if (!tensor.two_of_four())
        places.push_back(place);
      else if (place % 2 == 0)
        places.push_back(2 * place + draw.below(3));
      else
        places.push_back(places.back() + 1 + draw.below(2 * place + 1 - places.back()));
    }
  }
  return places;
}

MatrixKernel kernel_of(const weft::Instruction& row, int selector, std::uint32_t seed) {
  const TensorProduct& tensor = *row.product;
  Draw draw(seed);
  const Operands left(type_of(tensor.left.type), tensor.m, tensor.kept(), true, draw),
      right(type_of(tensor.right.type), tensor.k, tensor.n, true, draw),
      sums(type_of(tensor.sum.type), tensor.m, tensor.n, true, draw);
  const std::vector<int> places = drawn_places(tensor, draw);
  const int results = row.results, inputs = static_cast<int>(row.operands.size());
  const auto k_of = [&](int of_row, int place) {
    return places.at(static_cast<std::size_t>(of_row * tensor.kept() + place));
  };

  MatrixKernel kernel;
  kernel.name = fmt::format("{} selector {}", row.name, selector);
  kernel.result = type_of(tensor.sum.type);
  LaneWords words(results + inputs);
  for (int lane = 0; lane < 32; ++lane) {
    words.put(lane, 0, tensor.sum, sums);
    words.put(lane, results, tensor.left, left);
    words.put(lane, results + tensor.left.registers(), tensor.right, right);
    // What the other selectors are for is there too.
    for (int i = 0; tensor.codes && i < tensor.codes->elements(); ++i) {
      const auto [of_row, place] = tensor.codes->place(lane, i);
      const bool own = place / tensor.kept() == selector;
      words.put(lane, results + inputs - 1, 2, i,
                static_cast<std::uint64_t>(own ? k_of(of_row, place % tensor.kept()) % 4 : draw.below(4)));
    }
    for (int i = 0; i < results; ++i) {
      const auto [of_row, column] = tensor.sum.layout.place(lane, i);
      double products = 0;
      for (int place = 0; place < tensor.kept(); ++place)
        products += left.value(of_row, place) * right.value(k_of(of_row, place), column);
      kernel.expected.push_back(accumulated(kernel.result, sums.value(of_row, column), products, false));
    }
  }
  kernel.input = words.words;

  const std::string_view kind = tensor.sum.type == DType::f32 ? "f32" : "b32";
  std::string text(row.ptx), loads, stores;
  for (int i = results + inputs; i-- > 0;) {
    const std::string mark = fmt::format("${}", i), name = fmt::format("%{}{}", i < results ? "s" : "r", i);
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), name);
    loads += fmt::format("  ld.global.{} {}, [%a0+{}];\n", i < results ? kind : "b32", name, 4 * i);
    if (i < results) stores += fmt::format("  st.global.{} [%a1+{}], {};\n", kind, 4 * i, name);
  }
  if (const std::size_t at = text.find("#0"); at != std::string::npos)
    text.replace(at, 2, std::to_string(selector));
  kernel.ptx = fmt::format(
      ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 "
      "out)\n{{\n  .reg .b32 %r<32>, %t;\n  .reg .{} %s<8>;\n  .reg .b64 %a<2>;\n  ld.param.u64 %a0, [in];\n"
      "  ld.param.u64 %a1, [out];\n  mov.u32 %t, %tid.x;\n  mad.wide.u32 %a0, %t, {}, %a0;\n  mad.wide.u32 "
      "%a1, %t, {}, %a1;\n{}  {}\n{}  ret;\n}}\n",
      kind, 4 * (results + inputs), 4 * results, loads, text, stores);
  return kernel;
}

TEST(InstructionRows, MultiplyWhatTheirLayoutsSay) {
  const Device device = make_device("sm_90a");
  int products = 0;
  for (const weft::Instruction* row : tensor_instructions()) {
    if (row->product->place != TensorOperands::in_registers) continue;
    const int selectors = row->product->codes ? row->product->codes->size().column / row->product->kept() : 1;
    for (int selector = 0; selector < selectors; ++selector) {
      const MatrixKernel kernel = kernel_of(*row, selector, static_cast<std::uint32_t>(++products));
      EXPECT_THAT(differences(kernel, run(device, kernel), 0), ::testing::IsEmpty()) << kernel.name;
    }
  }
  EXPECT_GE(products, 13);
}

}  // namespace
}  // namespace weft::simulator::testing
