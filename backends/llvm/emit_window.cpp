// Elements of a window of two registers, which an instruction picks where LLVM would gather: a gather takes
// as long as reading every element by itself.
#include <llvm/IR/IntrinsicsX86.h>
#include <weft/backends/llvm/emit.h>

#include <algorithm>

namespace weft::llvm_backend {
namespace {

constexpr std::int64_t lanes_of_register = 16, elements_of_window = 2 * lanes_of_register;

/// The number itself where it is cut to a window, as the instruction does.
const ir::Expr& before_cut(const ir::Expr& number) {
  const auto* cut = ir::as_binary(number, ir::BinaryOperator::remainder);
  return cut != nullptr && ir::same(cut->right, ir::integer(elements_of_window)) ? cut->left : number;
}

/// From the first element to behind the last one; 0 where only a launch says it.
std::int64_t known_elements_of(const ir::Buffer& buffer) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const std::int64_t *extent = ir::integer_value(buffer.shape[i]),
                       *stride = ir::integer_value(buffer.strides[i]);
    if (extent == nullptr || stride == nullptr || *extent < 1 || *stride < 0) return 0;
    last += (*extent - 1) * *stride;
  }
  return last + 1;
}

}  // namespace

/// Null where the lanes read no such window, or not all of it lies inside of the buffer.
llvm::Value* Emitter::read_window(llvm::VectorType* type, const ir::Buffer& buffer, const ir::Expr& offset) {
  if (!capabilities_.wide_vectors || lanes_->count != lanes_of_register || buffer.dtype != DType::f32 ||
      buffer.swizzle != 0)
    return nullptr;
  ir::Linear begin = ir::linear(ir::substitute(offset, lanes_->lets));
  const auto differs = [&](const ir::Linear::Term& term) { return differs_between_lanes(term.atom); };
  const auto own = std::ranges::find_if(begin.terms, differs);
  if (own == begin.terms.end() || own->coefficient != 1) return nullptr;
  const ir::Expr number = own->atom;
  begin.terms.erase(own);
  if (std::ranges::any_of(begin.terms, differs)) return nullptr;
  const ir::Range inside = range_of(number), first = range_of(begin.expr());
  const std::int64_t elements = known_elements_of(buffer);
  const bool is_window = inside.minimum && *inside.minimum >= 0 && inside.maximum &&
                         *inside.maximum < elements_of_window && first.minimum && *first.minimum >= 0 &&
                         first.maximum && *first.maximum <= elements - elements_of_window;
  if (!is_window) return nullptr;
  llvm::Value* pointer =
      builder_.CreateInBoundsGEP(type->getElementType(), storage_of(buffer).pointer, value(begin.expr()));
  llvm::Value* behind = builder_.CreateConstInBoundsGEP1_64(type, pointer, 1);
  llvm::Value* place = builder_.CreateZExtOrTrunc(
      spread(value(before_cut(number))), llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes_->count));
  return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                                  {load(type, pointer, buffer, 1), place, load(type, behind, buffer, 1)});
}

}  // namespace weft::llvm_backend
