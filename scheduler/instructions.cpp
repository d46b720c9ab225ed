#include <weft/dsl/errors.h>
#include <weft/scheduler/instructions.h>

namespace weft {
namespace {

ir::Expr multiply_add(std::span<const ir::Expr> operands) { return operands[0] * operands[1] + operands[2]; }

constexpr DType f32_ = DType::f32;
constexpr DType f64_ = DType::f64;
constexpr DType i64_ = DType::i64;

const std::vector<Instruction>& table() {
  static const std::vector<Instruction> rows{
      // Rounded once, so that every back end gives the same bits.
      {"fma_f32", f32_, {f32_, f32_, f32_}, "fma.rn.f32 $0, $1, $2, $3;", "__fmaf_rn($1, $2, $3)", "llvm.fma",
       "fmaf", 0, multiply_add},
      {"fma_f64", f64_, {f64_, f64_, f64_}, "fma.rn.f64 $0, $1, $2, $3;", "__fma_rn($1, $2, $3)", "llvm.fma",
       "fma", 0, multiply_add},
      {"erf_f64", f64_, {f64_}, "", "", "", "erf", -1, nullptr},
      {"block_x", i64_, {}, "mov.u32 $0, %ctaid.x;", "blockIdx.x", "llvm.nvvm.read.ptx.sreg.ctaid.x", "", 0,
       nullptr},
      {"block_y", i64_, {}, "mov.u32 $0, %ctaid.y;", "blockIdx.y", "llvm.nvvm.read.ptx.sreg.ctaid.y", "", 0,
       nullptr},
      {"block_z", i64_, {}, "mov.u32 $0, %ctaid.z;", "blockIdx.z", "llvm.nvvm.read.ptx.sreg.ctaid.z", "", 0,
       nullptr},
      {"thread", i64_, {}, "mov.u32 $0, %tid.x;", "threadIdx.x", "llvm.nvvm.read.ptx.sreg.tid.x", "", 0, nullptr},
  };
  return rows;
}

}  // namespace

std::span<const Instruction> instructions() { return table(); }

const Instruction& instruction(std::string_view name) {
  for (const Instruction& row : table()) {
    if (row.name == name) return row;
  }
  throw InternalError("no instruction is called '" + std::string(name) + "'");
}

}  // namespace weft
