// Copies that a thread starts.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/query.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::llvm_backend {
namespace {

/// Elements after which a swizzle begins anew: multiples of it can be added before the swizzle or behind.
std::int64_t period_of_swizzle(const ir::Buffer& buffer) {
  constexpr std::int64_t chunks_of_line = 8;
  return buffer.swizzle == 0 ? 1 : chunks_of_line * ir::chunk_of(buffer) << buffer.swizzle;
}

/// Takes what is a multiple of the period out of the sum.
ir::Linear take_multiples(ir::Linear& sum, std::int64_t period) {
  ir::Linear multiples;
  const auto fits = [&](const ir::Linear::Term& term) { return term.coefficient % period == 0; };
  std::ranges::copy_if(sum.terms, std::back_inserter(multiples.terms), fits);
  std::erase_if(sum.terms, fits);
  const std::int64_t left = (sum.constant % period + period) % period;
  multiples.constant = std::exchange(sum.constant, left) - left;
  return multiples;
}

}  // namespace

/// Sums of addresses are taken apart: first what the thread's other runs share, then what comes from data,
/// then what the swizzle mixes, and last a constant, which the instruction holds. LLVM would make each
/// address anew: it does not know that a swizzle leaves multiples of its period as they are, nor that no part
/// exceeds the sum.
llvm::Value* Emitter::pointer_of_run(const ir::Buffer& buffer, const ir::Expr& logical) {
  ir::Substitution constants = known_;
  std::erase_if(constants, [](const auto& known) { return ir::integer_value(known.second) == nullptr; });
  ir::Linear mixed = ir::linear(ir::substitute(logical, constants));
  const ir::Linear sum = take_multiples(mixed, period_of_swizzle(buffer));
  llvm::Type* element = storage_type(buffer.dtype);
  llvm::Value* pointer = storage_of(buffer).pointer;
  llvm::Type* index = module_.getDataLayout().getIndexType(pointer->getType());
  const auto add = [&](const ir::Expr& atom, std::int64_t coefficient) {
    llvm::Value* distance = builder_.CreateMul(builder_.CreateSExtOrTrunc(value(atom), index),
                                               llvm::ConstantInt::getSigned(index, coefficient));
    pointer = builder_.CreateGEP(element, pointer, distance);
  };
  ir::Linear data;
  for (const ir::Linear::Term& term : sum.terms) {
    if (ir::reads_memory(term.atom))
      data.terms.push_back(term);
    else
      add(term.atom, term.coefficient);
  }
  // Where there are several terms, the sum is made with the bits of an index, once for each row.
  if (data.terms.size() == 1) {
    add(data.terms.front().atom, data.terms.front().coefficient);
  } else if (!data.terms.empty()) {
    add(data.expr(), 1);
  }
  if (!mixed.terms.empty() || mixed.constant != 0) {
    llvm::Value* chunk = builder_.CreateSExtOrTrunc(value(ir::swizzled(buffer, mixed.expr())), index);
    pointer = builder_.CreateGEP(element, pointer, chunk);
  }
  return sum.constant == 0
             ? pointer
             : builder_.CreateGEP(element, pointer, llvm::ConstantInt::getSigned(index, sum.constant));
}

/// A run that one thread copies. As text: LLVM's intrinsics have no form for shared addresses of 32 bits.
void Emitter::of(const ir::Copy& s) {
  internal_check(capabilities_.asynchronous_copies && s.asynchronous && !lanes_,
                 "a copy reached the emitter of " + program_.name);
  const std::int64_t bytes =
      *ir::integer_value(s.extents.back()) * static_cast<std::int64_t>(size_of(s.source->dtype));
  llvm::Value* to = pointer_of_run(*s.destination, ir::offset_of(*s.destination, s.destination_begin));
  llvm::Value* from = pointer_of_run(*s.source, ir::offset_of(*s.source, s.source_begin));
  std::vector<llvm::Value*> operands{to, from};
  // Runs of 16 bytes pass the first-level cache by.
  std::string text =
      fmt::format("cp.async.{}.shared.global [$0], [$1], {}", bytes == 16 ? "cg" : "ca", bytes);
  std::string constraints = "r,l";
  if (s.inside.defined()) {
    operands.push_back(builder_.CreateSelect(
        value(s.inside), builder_.getInt32(static_cast<std::uint32_t>(bytes)), builder_.getInt32(0)));
    text += ", $2";
    constraints += ",r";
  }
  inline_assembly(text + ";", constraints + ",~{memory}", builder_.getVoidTy(), operands, true);
}

void Emitter::of(const ir::CopyGroup& s) {
  internal_check(capabilities_.gpu && !lanes_, "a group of copies where there are none");
  if (s.pending < 0)
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
  else
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                             {builder_.getInt32(static_cast<std::uint32_t>(s.pending))});
}

}  // namespace weft::llvm_backend
