// Instructions that multiply tiles: rows of the instruction table, and where lanes have which elements.
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>

#include <set>
#include <tuple>

namespace weft {
namespace {

TEST(TensorInstructions, AddToTheirSums) {
  for (const Instruction* row : tensor_instructions()) {
    SCOPED_TRACE(row->name);
    const TensorProduct& tensor = *row->product;
    EXPECT_TRUE(row->effect);
    EXPECT_TRUE(row->reads_results);
    EXPECT_EQ(row->result, tensor.sum.type);
    EXPECT_EQ(tensor.sum.type, tensor.operands() == DType::i8 ? DType::i32 : DType::f32);
    EXPECT_EQ(tensor.right.type, tensor.operands());
    EXPECT_EQ(row->results, tensor.m * tensor.n / (32 * tensor.warps()));
    EXPECT_EQ(tensor.warps(), tensor.place == TensorOperands::in_shared ? 4 : 1);
    // In registers of four bytes of 32 lanes; or a descriptor of three parts a factor. One more says which
    // two of four the left factor has.
    const int factors =
        tensor.place == TensorOperands::in_shared
            ? 6
            : (tensor.m * tensor.kept() + tensor.k * tensor.n) * tensor.bytes_of_operand() / 128;
    EXPECT_EQ(row->operands.size(), static_cast<std::size_t>(factors + (tensor.two_of_four() ? 1 : 0)));
    EXPECT_EQ(find_tensor_instruction(tensor.name, tensor.operands()), row);
    EXPECT_EQ(&tensor_product(row->name), &tensor);
  }
  EXPECT_EQ(find_tensor_instruction("mma_m16n8k16", DType::f32), nullptr);
  EXPECT_THROW(tensor_product("wgmma_fence"), InternalError);
}

/// Each element is some lane's, and no other's.
void expect_whole(const Layout& layout, int rows, int columns) {
  std::set<std::tuple<int, int>> places;
  for (int warp = 0; warp < layout.warp.extent; ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < layout.elements(); ++i) {
        const auto [row, column] = layout.place(lane, i, warp);
        EXPECT_TRUE(row >= 0 && row < rows && column >= 0 && column < columns) << row << ", " << column;
        EXPECT_TRUE(places.emplace(row, column).second) << row << ", " << column;
      }
  EXPECT_EQ(places.size(), static_cast<std::size_t>(rows * columns));
  EXPECT_EQ(layout.size(), (TilePlace<int>{rows, columns}));
}

TEST(TensorInstructions, LanesShareOutTiles) {
  for (const Instruction* row : tensor_instructions()) {
    SCOPED_TRACE(row->name);
    const TensorProduct& tensor = *row->product;
    expect_whole(tensor.sum.layout, tensor.m, tensor.n);
    // Codes are of a warp, and of whole instructions.
    if (tensor.codes) {
      expect_whole(*tensor.codes, 16, tensor.codes->size().column);
      EXPECT_EQ(tensor.codes->size().column % tensor.kept(), 0);
      EXPECT_EQ(tensor.codes->elements(), 16);
    }
    if (tensor.place == TensorOperands::in_shared) continue;
    expect_whole(tensor.left.layout, tensor.m, tensor.kept());
    expect_whole(tensor.right.layout, tensor.k, tensor.n);
  }
}

using Places = std::vector<std::pair<int, int>>;

Places places(const Layout& layout, int lane, std::initializer_list<int> elements, int warp = 0) {
  Places found;
  for (const int i : elements) {
    const auto [row, column] = layout.place(lane, i, warp);
    found.emplace_back(row, column);
  }
  return found;
}

const TensorProduct& product(const char* name, DType type) {
  return *find_tensor_instruction(name, type)->product;
}

// By the figures of "Matrix fragments for mma.m16n8k…" in NVIDIA's PTX ISA: lane 5 is thread 1 of group 1.
TEST(TensorInstructions, FragmentsOfWarpsAreThoseOfPtx) {
  const TensorProduct& halves = product("mma_m16n8k16", DType::bf16);
  EXPECT_EQ(places(halves.left.layout, 5, {0, 1, 2, 4, 7}),
            (Places{{1, 2}, {1, 3}, {9, 2}, {1, 10}, {9, 11}}));
  EXPECT_EQ(places(halves.right.layout, 5, {0, 1, 2, 3}), (Places{{2, 1}, {3, 1}, {10, 1}, {11, 1}}));
  EXPECT_EQ(places(halves.sum.layout, 5, {0, 1, 2, 3}), (Places{{1, 2}, {1, 3}, {9, 2}, {9, 3}}));
  const TensorProduct& bytes = product("mma_m16n8k32", DType::i8);
  EXPECT_EQ(places(bytes.left.layout, 5, {0, 3, 4, 8, 15}),
            (Places{{1, 4}, {1, 7}, {9, 4}, {1, 20}, {9, 23}}));
  EXPECT_EQ(places(bytes.right.layout, 5, {0, 3, 4, 7}), (Places{{4, 1}, {7, 1}, {20, 1}, {23, 1}}));
  EXPECT_EQ(product("mma_m16n8k8", DType::f16).left.registers(), 2);
  EXPECT_EQ(product("mma_m16n8k8", DType::f16).right.registers(), 1);
  EXPECT_EQ(product("mma_sp_m16n8k64", DType::e4m3).left.registers(), 4);
  EXPECT_EQ(product("mma_sp_m16n8k64", DType::e4m3).right.registers(), 4);
}

// "Register fragments for wgmma", matrix D: warp 2 has rows 32 to 47.
TEST(TensorInstructions, SumsOfWarpgroupsAreThoseOfPtx) {
  const Layout& sums = product("wgmma_m64n32k16", DType::f16).sum.layout;
  EXPECT_EQ(places(sums, 5, {0, 1, 2, 4, 15}, 2), (Places{{33, 2}, {33, 3}, {41, 2}, {33, 10}, {41, 27}}));
}

// "Sparse matrix storage": of two bytes, lanes 0 and 1 of four serve selector 0, for rows of the group and
// eight below; of one byte, lanes 0 and 2 have those of the group's row, 1 and 3 of that eight below.
TEST(TensorInstructions, CodesAreThoseOfPtx) {
  const Layout& halves = *product("mma_sp_m16n8k32", DType::f16).codes;
  EXPECT_EQ(places(halves, 5, {0, 7, 8, 15}), (Places{{1, 8}, {1, 15}, {9, 8}, {9, 15}}));
  const Layout& bytes = *product("wgmma_sp_m64n16k64", DType::e5m2).codes;
  EXPECT_EQ(places(bytes, 5, {0, 15}), (Places{{9, 0}, {9, 15}}));
  EXPECT_EQ(places(bytes, 6, {0, 15}), (Places{{1, 16}, {1, 31}}));
}

}  // namespace
}  // namespace weft
