// Conversions between element types, rounded to nearest, ties to even, wherever the target rounds otherwise
// or not at all.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>

#include <string_view>

namespace weft::llvm_backend {
namespace {

/// The instructions of GPUs that convert two numbers: $1 becomes the upper byte of 16 bits, $2 the lower.
std::string_view pair_text(DType to) {
  if (to == DType::e4m3) return "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;";
  if (to == DType::e5m2) return "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
  return "{ .reg .b32 upper, lower; cvt.rni.s32.f32 upper, $1; cvt.rni.s32.f32 lower, $2; "
         "cvt.pack.sat.s8.s32.b32 $0, upper, lower, 0; }";
}

}  // namespace

llvm::Value* Emitter::convert(llvm::Value* from_value, DType from, DType to) {
  if (from == to) return from_value;
  llvm::Type* type = like(value_type(to), from_value);
  if (has_bytes_of(from, to)) {
    llvm::Value* bytes = bytes_of(from_value, to);
    return to == DType::i8 ? builder_.CreateSExt(bytes, type) : bytes;
  }
  if (is_float(from) && is_float(to)) {
    if (is_narrow(from)) return convert(to_f32(from_value, from), DType::f32, to);
    if (from == DType::f64 && is_narrow(to)) return convert(round_to_odd(from_value), DType::f32, to);
    if (is_narrow(to)) return narrow(from_value, to);
    return builder_.CreateFPCast(from_value, type);
  }
  if (is_float(to)) {
    // Through f64 and once more to odd, which rounds once in all; exact to 2^53.
    if (is_narrow(to)) return convert(convert(from_value, from, DType::f64), DType::f64, to);
    return from == DType::boolean ? builder_.CreateUIToFP(from_value, type)
                                  : builder_.CreateSIToFP(from_value, type);
  }
  if (is_float(from)) {
    if (is_narrow(from)) return convert(to_f32(from_value, from), DType::f32, to);
    if (to == DType::boolean)
      return builder_.CreateFCmpUNE(from_value, llvm::Constant::getNullValue(from_value->getType()));
    return saturated(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, from_value), to);
  }
  if (to == DType::boolean) return builder_.CreateICmpNE(from_value, same_integer(from_value, 0));
  if (from == DType::boolean) return builder_.CreateZExt(from_value, type);
  const auto bits = static_cast<unsigned>(8 * size_of(to));
  if (bits >= index_type_->getBitWidth()) return from_value;
  llvm::Value* low = builder_.CreateTrunc(from_value, like(builder_.getIntNTy(bits), from_value));
  return is_signed_integer(to) ? builder_.CreateSExt(low, type) : builder_.CreateZExt(low, type);
}

/// What is beyond the numbers of the type becomes the nearest of them, and NaN zero.
llvm::Value* Emitter::saturated(llvm::Value* whole, DType to) {
  llvm::Type* type = like(index_type_, whole);
  const auto bits = static_cast<unsigned>(8 * size_of(to));
  const bool is_index = bits >= index_type_->getBitWidth(), is_signed = is_index || is_signed_integer(to);
  llvm::Type* own = is_index ? type : like(builder_.getIntNTy(bits), whole);
  llvm::Value* number =
      builder_.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                               {own, whole->getType()}, {whole});
  return is_signed ? builder_.CreateSExtOrTrunc(number, type) : builder_.CreateZExtOrTrunc(number, type);
}

llvm::Value* Emitter::to_f32(llvm::Value* bits, DType from) {
  llvm::Type* single = like(builder_.getFloatTy(), bits);
  if (is_float_of_a_byte(from)) return f32_from_byte(bits, from);
  if (from == DType::f16) {
    if (!capabilities_.half_conversions) return f32_from_half(bits);
    return builder_.CreateFPExt(builder_.CreateBitCast(bits, like(builder_.getHalfTy(), bits)), single);
  }
  llvm::Value* wide = builder_.CreateZExt(bits, like(builder_.getInt32Ty(), bits));
  return builder_.CreateBitCast(builder_.CreateShl(wide, 16), single);
}

llvm::Value* Emitter::narrow(llvm::Value* f32_value, DType to) {
  if (is_float_of_a_byte(to)) return byte_from_f32(f32_value, to);
  const bool half = to == DType::f16;
  if (half && !capabilities_.half_conversions) return half_from_f32(f32_value);
  if (!half && !capabilities_.bfloat_conversions) return bfloat_from_f32(f32_value);
  llvm::Type* type = like(half ? builder_.getHalfTy() : builder_.getBFloatTy(), f32_value);
  return builder_.CreateBitCast(builder_.CreateFPTrunc(f32_value, type),
                                like(builder_.getInt16Ty(), f32_value));
}

/// An f64 as the f32 with an odd last bit next to it, unless it is an f32. Rounding that to a narrower type
/// rounds the f64 once.
llvm::Value* Emitter::round_to_odd(llvm::Value* f64_value) {
  llvm::Value* nearest = builder_.CreateFPTrunc(f64_value, like(builder_.getFloatTy(), f64_value));
  llvm::Value* back = builder_.CreateFPExt(nearest, f64_value->getType());
  llvm::Value* bits = builder_.CreateBitCast(nearest, like(builder_.getInt32Ty(), f64_value));
  llvm::Value* even =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, same_integer(bits, 1)), same_integer(bits, 0));
  llvm::Value* inexact = builder_.CreateFCmpONE(back, f64_value);
  llvm::Value* above =
      builder_.CreateFCmpOGT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                             builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, f64_value));
  llvm::Value* neighbour = builder_.CreateSelect(above, builder_.CreateSub(bits, same_integer(bits, 1)),
                                                 builder_.CreateAdd(bits, same_integer(bits, 1)));
  bits = builder_.CreateSelect(builder_.CreateAnd(inexact, even), neighbour, bits);
  return builder_.CreateBitCast(bits, nearest->getType());
}

/// Numbers of e4m3 are, moved up, those of f32 with an exponent that is 120 less; e5m2 is half of an f16.
llvm::Value* Emitter::f32_from_byte(llvm::Value* bits, DType from) {
  if (from == DType::e5m2) {
    llvm::Value* upper = builder_.CreateZExt(bits, like(builder_.getInt16Ty(), bits));
    return to_f32(builder_.CreateShl(upper, 8), DType::f16);
  }
  llvm::Type* single = like(builder_.getFloatTy(), bits);
  llvm::Value* wide = builder_.CreateZExt(bits, like(builder_.getInt32Ty(), bits));
  const auto number = [&](std::uint64_t n) { return same_integer(wide, n); };
  llvm::Value* sign = builder_.CreateShl(builder_.CreateAnd(wide, number(0x80)), 24);
  llvm::Value* size = builder_.CreateAnd(wide, number(0x7F));
  llvm::Value* moved = builder_.CreateBitCast(builder_.CreateShl(size, 20), single);
  llvm::Value* scaled = builder_.CreateBitCast(
      builder_.CreateFMul(moved, llvm::ConstantFP::get(single, 0x1p120)), wide->getType());
  llvm::Value* result =
      builder_.CreateSelect(builder_.CreateICmpEQ(size, number(0x7F)), number(0x7FC00000), scaled);
  return builder_.CreateBitCast(builder_.CreateOr(result, sign), single);
}

/// As e4m3(float) and e5m2(float) of dsl/dtype.h do it.
llvm::Value* Emitter::byte_from_f32(llvm::Value* f32_value, DType to) {
  const bool four = to == DType::e4m3;
  const std::uint64_t dropped = four ? 20 : 21, distance = four ? 120 : 112, largest = four ? 0x7E : 0x7B;
  llvm::Type* word = like(builder_.getInt32Ty(), f32_value);
  llvm::Value* bits = builder_.CreateBitCast(f32_value, word);
  const auto number = [&](std::uint64_t n) { return same_integer(bits, n); };
  llvm::Value* sign = builder_.CreateAnd(builder_.CreateLShr(bits, 24), number(0x80));
  llvm::Value* size = builder_.CreateAnd(bits, number(0x7FFFFFFF));
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(size, dropped), number(1));
  const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1;
  llvm::Value* normal = builder_.CreateLShr(
      builder_.CreateAdd(builder_.CreateSub(size, number((distance << 23) - half)), odd), dropped);
  const std::uint64_t beside = (distance + 1 + dropped) << 23;
  llvm::Value* shifted = builder_.CreateFAdd(builder_.CreateBitCast(size, f32_value->getType()),
                                             builder_.CreateBitCast(number(beside), f32_value->getType()));
  llvm::Value* small = builder_.CreateSub(builder_.CreateBitCast(shifted, word), number(beside));
  llvm::Value* result =
      builder_.CreateSelect(builder_.CreateICmpULT(size, number((distance + 1) << 23)), small, normal);
  result = builder_.CreateSelect(builder_.CreateICmpUGT(result, number(largest)), number(largest), result);
  result = builder_.CreateSelect(builder_.CreateICmpUGT(size, number(0x7F800000)), number(0x7F), result);
  return builder_.CreateTrunc(builder_.CreateOr(result, sign), like(builder_.getInt8Ty(), f32_value));
}

llvm::Value* Emitter::half_from_f32(llvm::Value* f32_value) {
  llvm::Type* word = like(builder_.getInt32Ty(), f32_value);
  llvm::Value* bits = builder_.CreateBitCast(f32_value, word);
  const auto number = [&](std::uint64_t n) { return same_integer(bits, n); };
  llvm::Value* sign = builder_.CreateAnd(builder_.CreateLShr(bits, 16), number(0x8000));
  llvm::Value* size = builder_.CreateAnd(bits, number(0x7FFFFFFF));
  llvm::Value* odd = builder_.CreateAnd(builder_.CreateLShr(size, 13), number(1));
  // Exponents differ by 112; adding just under half a unit, or half where the last bit is odd, rounds.
  llvm::Value* normal =
      builder_.CreateLShr(builder_.CreateAdd(builder_.CreateSub(size, number(0x38000000 - 0xFFF)), odd), 13);
  // Halves below 2^-14 are multiples of 2^-24, the unit of floats near 0.5: that sum rounds.
  llvm::Value* shifted = builder_.CreateFAdd(builder_.CreateBitCast(size, f32_value->getType()),
                                             llvm::ConstantFP::get(f32_value->getType(), 0.5));
  llvm::Value* small = builder_.CreateSub(builder_.CreateBitCast(shifted, word), number(0x3F000000));
  llvm::Value* nan =
      builder_.CreateOr(builder_.CreateAnd(builder_.CreateLShr(size, 13), number(0x3FF)), number(0x7E00));
  llvm::Value* half = builder_.CreateSelect(builder_.CreateICmpULT(size, number(0x38800000)), small, normal);
  half = builder_.CreateSelect(builder_.CreateICmpUGE(size, number(0x477FF000)), number(0x7C00), half);
  half = builder_.CreateSelect(builder_.CreateICmpUGT(size, number(0x7F800000)), nan, half);
  return builder_.CreateTrunc(builder_.CreateOr(half, sign), like(builder_.getInt16Ty(), f32_value));
}

llvm::Value* Emitter::bfloat_from_f32(llvm::Value* f32_value) {
  llvm::Value* bits = builder_.CreateBitCast(f32_value, like(builder_.getInt32Ty(), f32_value));
  const auto number = [&](std::uint64_t n) { return same_integer(bits, n); };
  llvm::Value* top = builder_.CreateLShr(bits, 16);
  llvm::Value* odd = builder_.CreateAnd(top, number(1));
  llvm::Value* rounded =
      builder_.CreateLShr(builder_.CreateAdd(builder_.CreateAdd(bits, number(0x7FFF)), odd), 16);
  // Rounding could carry a NaN into infinity or zero; it keeps its upper bits and is made quiet.
  llvm::Value* is_nan = builder_.CreateFCmpUNO(f32_value, f32_value);
  llvm::Value* result = builder_.CreateSelect(is_nan, builder_.CreateOr(top, number(0x40)), rounded);
  return builder_.CreateTrunc(result, like(builder_.getInt16Ty(), f32_value));
}

llvm::Value* Emitter::f32_from_half(llvm::Value* bits) {
  llvm::Type* word = like(builder_.getInt32Ty(), bits);
  llvm::Type* single = like(builder_.getFloatTy(), bits);
  llvm::Value* wide = builder_.CreateZExt(bits, word);
  const auto number = [&](std::uint64_t n) { return same_integer(wide, n); };
  llvm::Value* sign = builder_.CreateShl(builder_.CreateAnd(wide, number(0x8000)), 16);
  llvm::Value* size = builder_.CreateAnd(wide, number(0x7FFF));
  llvm::Value* moved = builder_.CreateShl(size, 13);
  llvm::Value* normal = builder_.CreateAdd(moved, number(0x38000000));
  // NaN becomes quiet, as the instruction makes it.
  llvm::Value* quiet =
      builder_.CreateSelect(builder_.CreateICmpUGT(size, number(0x7C00)), number(0x400000), number(0));
  llvm::Value* special = builder_.CreateOr(builder_.CreateOr(moved, quiet), number(0x7F800000));
  llvm::Value* small = builder_.CreateBitCast(
      builder_.CreateFMul(builder_.CreateUIToFP(size, single), llvm::ConstantFP::get(single, 0x1p-24)), word);
  llvm::Value* result = builder_.CreateSelect(builder_.CreateICmpULT(size, number(0x400)), small, normal);
  result = builder_.CreateSelect(builder_.CreateICmpUGE(size, number(0x7C00)), special, result);
  return builder_.CreateBitCast(builder_.CreateOr(result, sign), single);
}

bool Emitter::has_bytes_of(DType from, DType to) const {
  if (!capabilities_.gpu || from != DType::f32) return false;
  return to == DType::i8 ? capabilities_.integer_packs
                         : is_float_of_a_byte(to) && capabilities_.byte_conversions;
}

llvm::Value* Emitter::pair_of_bytes(llvm::Value* upper, llvm::Value* lower, DType to) {
  const bool whole = to == DType::i8;
  llvm::Type* type = whole ? builder_.getInt32Ty() : builder_.getInt16Ty();
  llvm::Value* pair =
      inline_assembly(pair_text(to), whole ? "=r,f,f" : "=h,f,f", type, {upper, lower}, false);
  return whole ? builder_.CreateTrunc(pair, builder_.getInt16Ty()) : pair;
}

/// The bytes of a number, or of each element of a vector.
llvm::Value* Emitter::bytes_of(llvm::Value* f32_value, DType to) {
  llvm::Type* byte = builder_.getInt8Ty();
  llvm::Value* zero = llvm::ConstantFP::get(builder_.getFloatTy(), 0);
  if (!is_vector(f32_value)) return builder_.CreateTrunc(pair_of_bytes(zero, f32_value, to), byte);
  const unsigned count = llvm::cast<llvm::FixedVectorType>(f32_value->getType())->getNumElements();
  const unsigned pairs = (count + 1) / 2;
  const auto element = [&](unsigned i) {
    return i < count ? builder_.CreateExtractElement(f32_value, i) : zero;
  };
  llvm::Value* all = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getInt16Ty(), pairs));
  for (unsigned i = 0; i < pairs; ++i)
    all = builder_.CreateInsertElement(all, pair_of_bytes(element(2 * i + 1), element(2 * i), to), i);
  llvm::Value* bytes = builder_.CreateBitCast(all, llvm::FixedVectorType::get(byte, 2 * pairs));
  if (count == 2 * pairs) return bytes;
  llvm::SmallVector<int> kept(count);
  for (unsigned i = 0; i < count; ++i) kept[i] = static_cast<int>(i);
  return builder_.CreateShuffleVector(bytes, kept);
}

}  // namespace weft::llvm_backend
