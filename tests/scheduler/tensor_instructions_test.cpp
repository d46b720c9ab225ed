// Instructions that multiply tiles, and the rows of the instruction table that execute them.
#include <gtest/gtest.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/tensor_instructions.h>

namespace weft {
namespace {

TEST(TensorInstructions, EachHasTheRowThatExecutesIt) {
  for (const TensorInstruction& tensor : tensor_instructions()) {
    SCOPED_TRACE(tensor.executed);
    int rows = 0;
    for (const Instruction& row : instructions()) {
      if (row.name != tensor.executed) continue;
      ++rows;
      EXPECT_TRUE(row.effect);
      EXPECT_TRUE(row.reads_results);
      EXPECT_EQ(row.result, tensor.operands == DType::i8 ? DType::i32 : DType::f32);
      EXPECT_EQ(row.results, tensor.m * tensor.n / (32 * tensor.warps));
      EXPECT_EQ(row.lowest_sm, tensor.lowest_sm);
      // In registers of four bytes of 32 lanes; or a descriptor of three parts a factor.
      // One more says which two of four the left factor has.
      const int bytes = static_cast<int>(size_of(tensor.operands));
      const int factors = tensor.place == TensorOperands::shared
                              ? 6
                              : (tensor.m * tensor.kept() + tensor.k * tensor.n) * bytes / 128;
      const int operands = factors + (tensor.two_of_four ? 1 : 0);
      EXPECT_EQ(row.operands.size(), static_cast<std::size_t>(operands));
    }
    EXPECT_EQ(rows, 1);
    EXPECT_EQ(find_tensor_instruction(tensor.name, tensor.operands), &tensor);
  }
}

}  // namespace
}  // namespace weft
