// Loads and stores.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace weft::llvm_backend {

llvm::Value* Emitter::from_storage(llvm::Value* stored, DType dtype) {
  if (is_float(dtype)) return stored;
  llvm::Type* type = like(index_type_, stored);
  return is_signed_integer(dtype) ? builder_.CreateSExtOrTrunc(stored, type)
                                  : builder_.CreateZExtOrTrunc(stored, type);
}

llvm::Value* Emitter::to_storage(llvm::Value* computed, DType from, DType dtype) {
  if (is_float(from) != is_float(dtype) || (is_float(from) && from != dtype))
    internal_check(false, "a stored value has another type than its buffer");
  if (is_float(dtype)) return computed;
  llvm::Type* type = like(storage_type(dtype), computed);
  if (from == DType::boolean) return builder_.CreateZExtOrTrunc(computed, type);
  if (dtype != DType::boolean) return builder_.CreateSExtOrTrunc(computed, type);
  return builder_.CreateZExt(builder_.CreateICmpNE(computed, same_integer(computed, 0)), type);
}

llvm::Value* Emitter::stored_sum(llvm::Value* before, llvm::Value* added, DType dtype) {
  match(before, added);
  if (is_narrow(dtype))
    return narrow(builder_.CreateFAdd(to_f32(before, dtype), to_f32(added, dtype)), dtype);
  return is_float(dtype) ? builder_.CreateFAdd(before, added) : builder_.CreateAdd(before, added);
}

const Emitter::Storage& Emitter::storage_of(const ir::Buffer& buffer) const {
  const auto found = frame_.buffers.find(&buffer);
  if (found == frame_.buffers.end())
    internal_check(false, "buffer " + buffer.name + " is used where it does not live");
  return found->second;
}

Access Emitter::access_of(const ir::Buffer& buffer, const ir::Expr& offset) const {
  const Access access = classify(offset, {lanes_->variable, lanes_->first, known_, lanes_->varying});
  if (buffer.swizzle == 0 || access.pattern != Pattern::contiguous) return access;
  // What is contiguous stays so within a chunk.
  const auto lanes = static_cast<std::int64_t>(lanes_->count);
  const bool in_chunk = ir::chunk_of(buffer) % lanes == 0 && access.alignment % lanes == 0;
  return in_chunk ? Access{Pattern::contiguous, lanes} : Access{};
}

llvm::Align Emitter::alignment_of(const ir::Buffer& buffer, std::int64_t elements) const {
  const auto size = static_cast<std::int64_t>(size_of(buffer.dtype));
  const std::int64_t base = std::max(storage_of(buffer).alignment, size);
  return llvm::Align(static_cast<std::uint64_t>(std::min(base, elements * size)));
}

llvm::Value* Emitter::active_lanes() {
  if (lanes_->mask != nullptr) return lanes_->mask;
  return llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(builder_.getInt1Ty(), lanes_->count));
}

/// The offset as lane 0 has it, in variables that are the same in all lanes.
ir::Expr Emitter::in_first_lane(const ir::Expr& offset) const {
  return ir::substitute(ir::substitute(offset, lanes_->lets),
                        {{lanes_->variable, ir::variable(first_lane_of(lanes_->variable))}});
}

/// Null where the offset has no constant part to set apart, or a part is negative: what is left without the
/// constant could be more than index_bits hold.
llvm::Value* Emitter::pointer_from_base(const ir::Buffer& buffer, const ir::Expr& offset) {
  ir::Substitution constants = known_;
  std::erase_if(constants, [](const auto& known) { return ir::integer_value(known.second) == nullptr; });
  ir::Linear sum = ir::linear(constants.empty() ? offset : ir::substitute(offset, constants));
  const bool rising = std::ranges::all_of(sum.terms, [](const auto& term) { return term.coefficient > 0; });
  if (sum.constant <= 0 || sum.terms.empty() || !rising) return nullptr;
  const auto distance = static_cast<std::uint64_t>(std::exchange(sum.constant, 0));
  llvm::Type* element = storage_type(buffer.dtype);
  llvm::Value* base = builder_.CreateGEP(element, storage_of(buffer).pointer, value(sum.expr()));
  return builder_.CreateConstGEP1_64(element, base, distance);
}

llvm::Value* Emitter::pointer_to(const ir::Buffer& buffer, const ir::Expr& logical) {
  const ir::Expr offset = ir::swizzled(buffer, logical);
  if (capabilities_.constants_apart && !lanes_ && buffer.scope != ir::Scope::registers) {
    if (llvm::Value* pointer = pointer_from_base(buffer, offset)) return pointer;
  }
  known_elements_.erase(storage_of(buffer).pointer);
  llvm::Value* index = value(offset);
  // Pointers of lanes that do not run may lie anywhere.
  const bool inside = !lanes_ || (lanes_->mask == nullptr && !is_vector(index));
  llvm::Type* element = storage_type(buffer.dtype);
  return inside ? builder_.CreateInBoundsGEP(element, storage_of(buffer).pointer, index)
                : builder_.CreateGEP(element, storage_of(buffer).pointer, index);
}

/// Local arrays that no masked instruction touches can live in registers. True for those of this function
/// where even the lanes that do not run stay inside.
bool Emitter::may_touch_all_lanes(const ir::Buffer& buffer, const ir::Expr& offset) const {
  if (!llvm::isa<llvm::AllocaInst>(storage_of(buffer).pointer)) return false;
  const ir::Range range = ir::range_of(ir::substitute(offset, known_), ranges_);
  std::int64_t elements = 1;
  for (const ir::Expr& extent : buffer.shape) elements *= *ir::integer_value(extent);
  return range.minimum && range.maximum && *range.minimum >= 0 && *range.maximum < elements;
}

/// The constant place of an element that is followed, else nothing.
std::optional<std::uint64_t> Emitter::place_in_registers(const ir::Buffer& buffer,
                                                         const ir::Expr& offset) const {
  if (!capabilities_.follow_registers || lanes_ || buffer.scope != ir::Scope::registers) return {};
  const ir::Expr place = known_.empty() ? offset : ir::substitute(offset, known_);
  const std::int64_t* number = ir::integer_value(place);
  if (number == nullptr || *number < 0) return {};
  return static_cast<std::uint64_t>(*number);
}

/// LLVM would find the same, at several times the price of all the rest for a long program.
llvm::Value* Emitter::read_element(const ir::Buffer& buffer, std::uint64_t place) {
  llvm::Value* array = storage_of(buffer).pointer;
  KnownElement& known = known_elements_[array][place];
  if (known.block != builder_.GetInsertBlock()) {
    llvm::Type* type = storage_type(buffer.dtype);
    llvm::Value* pointer = builder_.CreateConstInBoundsGEP1_64(type, array, place);
    llvm::Value* loaded = builder_.CreateAlignedLoad(type, pointer, alignment_of(buffer, 1));
    known = {builder_.GetInsertBlock(), loaded, nullptr};
  }
  return known.value;
}

void Emitter::write_element(const ir::Buffer& buffer, std::uint64_t place, llvm::Value* stored) {
  llvm::Value* array = storage_of(buffer).pointer;
  KnownElement& known = known_elements_[array][place];
  llvm::Value* pointer = nullptr;
  if (known.block == builder_.GetInsertBlock() && known.store != nullptr) {
    pointer = known.store->getPointerOperand();
    known.store->eraseFromParent();
  } else {
    pointer = builder_.CreateConstInBoundsGEP1_64(storage_type(buffer.dtype), array, place);
  }
  llvm::StoreInst* store = builder_.CreateAlignedStore(stored, pointer, alignment_of(buffer, 1));
  known = {builder_.GetInsertBlock(), stored, store};
}

/// LLVM knows by the kernel's arguments what a kernel only reads, but has to be told in other functions.
llvm::Value* Emitter::load(llvm::Type* type, llvm::Value* pointer, const ir::Buffer& buffer,
                           std::int64_t elements) {
  llvm::LoadInst* loaded = builder_.CreateAlignedLoad(type, pointer, alignment_of(buffer, elements));
  if (in_piece_ && never_changes(buffer))
    loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return loaded;
}

/// Two vectors that overlap in one element, which together end with the last lane's, and of both every second
/// element: a gather takes several times as long.
llvm::Value* Emitter::read_every_second(llvm::VectorType* type, const ir::Buffer& buffer,
                                        const ir::Expr& offset) {
  const auto lanes = static_cast<int>(lanes_->count);
  llvm::Value* begin = pointer_to(buffer, in_first_lane(offset));
  llvm::Value* none = llvm::Constant::getNullValue(active_lanes()->getType());
  std::array<llvm::Value*, 2> halves{};
  std::vector<int> of_both;
  for (const int half : {0, 1}) {
    std::vector<int> of_mask;  // from `lanes` on: elements that no lane reads
    for (int i = 0; i < lanes; ++i) of_mask.push_back(i % 2 == half ? (half * lanes + i) / 2 : lanes);
    for (int i = half; i < lanes; i += 2) of_both.push_back(half * lanes + i);
    llvm::Value* pointer = builder_.CreateConstInBoundsGEP1_64(
        type->getElementType(), begin, static_cast<std::uint64_t>(half * (lanes - 1)));
    halves[static_cast<std::size_t>(half)] =
        lanes_->mask == nullptr
            ? load(type, pointer, buffer, 1)
            : builder_.CreateMaskedLoad(type, pointer, alignment_of(buffer, 1),
                                        builder_.CreateShuffleVector(lanes_->mask, none, of_mask),
                                        llvm::Constant::getNullValue(type));
  }
  return builder_.CreateShuffleVector(halves[0], halves[1], of_both);
}

llvm::Value* Emitter::read(const ir::Buffer& buffer, const ir::Expr& offset) {
  if (const auto place = place_in_registers(buffer, offset)) return read_element(buffer, *place);
  llvm::Type* element = storage_type(buffer.dtype);
  if (!lanes_) return load(element, pointer_to(buffer, offset), buffer, 1);
  const Access access = access_of(buffer, offset);
  if (access.pattern == Pattern::uniform)
    return load(element, pointer_to(buffer, in_first_lane(offset)), buffer, 1);
  auto* type = llvm::FixedVectorType::get(element, lanes_->count);
  if (access.pattern == Pattern::contiguous) {
    llvm::Value* pointer = pointer_to(buffer, in_first_lane(offset));
    const llvm::Align alignment = alignment_of(buffer, access.alignment);
    if (lanes_->mask == nullptr || may_touch_all_lanes(buffer, offset))
      return load(type, pointer, buffer, access.alignment);
    return builder_.CreateMaskedLoad(type, pointer, alignment, lanes_->mask,
                                     llvm::Constant::getNullValue(type));
  }
  if (access.pattern == Pattern::every_second && !capabilities_.gpu && lanes_->count % 2 == 0)
    return read_every_second(type, buffer, offset);
  if (llvm::Value* picked = read_window(type, buffer, offset)) return picked;
  llvm::Value* pointers = pointer_to(buffer, offset);
  // Divisions by what differs from lane to lane may leave the offset scalar only where all lanes agree.
  if (!is_vector(pointers)) return builder_.CreateAlignedLoad(element, pointers, alignment_of(buffer, 1));
  return builder_.CreateMaskedGather(type, pointers, alignment_of(buffer, 1), active_lanes(),
                                     llvm::Constant::getNullValue(type));
}

/// LLVM 19 cannot mark a store as streaming, so the text of a kernel whose results stream is marked: all its
/// stores to memory but those which are volatile. So is what goes to buffers that do not stream.
bool Emitter::is_beside_streams(const ir::Buffer& buffer) const {
  return streams_results_ && !in_piece_ && buffer.scope == ir::Scope::global && !buffer.streams;
}

void Emitter::write(const ir::Buffer& buffer, const ir::Expr& offset, llvm::Value* stored) {
  if (const auto place = place_in_registers(buffer, offset)) return write_element(buffer, *place, stored);
  if (!lanes_) {
    builder_.CreateAlignedStore(stored, pointer_to(buffer, offset), alignment_of(buffer, 1),
                                is_beside_streams(buffer));
    return;
  }
  const Access access = access_of(buffer, offset);
  if (access.pattern == Pattern::uniform) {
    internal_check(!is_vector(stored), "lanes store different values in one element of " + buffer.name);
    builder_.CreateAlignedStore(stored, pointer_to(buffer, in_first_lane(offset)), alignment_of(buffer, 1));
    return;
  }
  stored = spread(stored);
  if (access.pattern == Pattern::contiguous) {
    llvm::Value* pointer = pointer_to(buffer, in_first_lane(offset));
    const llvm::Align alignment = alignment_of(buffer, access.alignment);
    if (lanes_->mask != nullptr && may_touch_all_lanes(buffer, offset)) {
      llvm::Value* before = builder_.CreateAlignedLoad(stored->getType(), pointer, alignment);
      builder_.CreateAlignedStore(builder_.CreateSelect(lanes_->mask, stored, before), pointer, alignment);
    } else if (lanes_->mask == nullptr) {
      builder_.CreateAlignedStore(stored, pointer, alignment);
    } else {
      builder_.CreateMaskedStore(stored, pointer, alignment, lanes_->mask);
    }
    return;
  }
  builder_.CreateMaskedScatter(stored, spread(pointer_to(buffer, offset)), alignment_of(buffer, 1),
                               active_lanes());
}

llvm::Value* Emitter::raw_load(const ir::Load& e) {
  return read(*e.buffer, ir::offset_of(*e.buffer, e.indices));
}

/// Order among the additions of others is none, so nothing but the addition itself is atomic.
void Emitter::add_atomically(const ir::Store& s) {
  if (lanes_) {
    for (unsigned lane = 0, count = lanes_->count; lane < count; ++lane)
      scalar_lane(lane, [&] { add_atomically(s); });
    return;
  }
  const DType dtype = s.buffer->dtype;
  llvm::Value* added = to_storage(value(s.value), s.value.dtype(), dtype);
  builder_.CreateAtomicRMW(is_float(dtype) ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add,
                           pointer_to(*s.buffer, ir::offset_of(*s.buffer, s.indices)), added,
                           alignment_of(*s.buffer, 1), llvm::AtomicOrdering::Monotonic);
}

void Emitter::of(const ir::Store& s) {
  if (s.accumulate && s.buffer->between_blocks && capabilities_.gpu) return add_atomically(s);
  // Instructions for lanes that lie apart cannot be volatile.
  if (lanes_ && is_beside_streams(*s.buffer)) {
    for (unsigned lane = 0, count = lanes_->count; lane < count; ++lane) scalar_lane(lane, [&] { of(s); });
    return;
  }
  const ir::Expr offset = ir::offset_of(*s.buffer, s.indices);
  const DType dtype = s.buffer->dtype;
  // Integers that are only moved keep all their bits, however wide indices are.
  const auto* moved = s.value.as<ir::Load>();
  llvm::Value* stored = moved != nullptr && moved->buffer->dtype == dtype
                            ? raw_load(*moved)
                            : to_storage(value(s.value), s.value.dtype(), dtype);
  if (s.accumulate) stored = stored_sum(read(*s.buffer, offset), stored, dtype);
  write(*s.buffer, offset, stored);
}

}  // namespace weft::llvm_backend
