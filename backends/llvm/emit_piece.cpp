// Pieces of a program as functions of their own.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <algorithm>

namespace weft::llvm_backend {
bool Emitter::never_changes(const ir::Buffer& buffer) const {
  return buffer.scope == ir::Scope::global && buffer.access == ir::Access::read &&
         !ir::changes_meanwhile(program_, buffer);
}

unsigned Emitter::space_of(const ir::Buffer& buffer) const {
  if (buffer.scope == ir::Scope::shared) return shared_space;
  const bool constant = std::ranges::any_of(
      program_.constants, [&](const ir::ConstantBuffer& each) { return each.buffer.get() == &buffer; });
  return constant ? constants_space() : global_space();
}

/// Declared in the module that calls it as in the one that has it.
llvm::Function* Emitter::piece_function(const Piece& piece) {
  std::vector<llvm::Type*> types;
  for (const ir::BufferRef& buffer : piece.buffers) types.push_back(builder_.getPtrTy(space_of(*buffer)));
  for (const ir::Variable& variable : piece.variables) types.push_back(value_type(variable.dtype));
  auto* function = llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                                          llvm::Function::ExternalLinkage, piece.name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  // Threads meet at barriers inside.
  function->addFnAttr(llvm::Attribute::Convergent);
  return function;
}

void Emitter::call_piece(const Piece& piece) {
  std::vector<llvm::Value*> arguments;
  for (const ir::BufferRef& buffer : piece.buffers) {
    const auto shared = shared_.find(buffer.get());
    arguments.push_back(shared != shared_.end() ? shared->second.pointer : storage_of(*buffer).pointer);
  }
  for (const ir::Variable& variable : piece.variables)
    arguments.push_back(frame_.variables.at(variable.name));
  builder_.CreateCall(piece_function(piece), arguments)->setConvergent();
}

Emitted Emitter::emit_around(const PiecedProgram& pieced) {
  internal_check(capabilities_.gpu, "pieces of a program for the CPU");
  pieced_ = &pieced;
  return emit();
}

/// Runs `body` as if inside these Lets. The frame has the variables that are used; of the others only what is
/// known of their values matters.
void Emitter::inside(const std::vector<ir::Let>& around, std::size_t next,
                     const std::function<void()>& body) {
  if (next == around.size()) return body();
  const ir::Let& bound = around[next];
  const auto found = frame_.variables.find(bound.name);
  llvm::Value* given = found == frame_.variables.end() ? nullptr : found->second;
  with_let(bound.name, bound.value, given, [&] { inside(around, next + 1, body); });
}

void Emitter::emit_piece(const Piece& piece) {
  for (const ir::Variable& extent : program_.extents) ranges_[extent.name] = {1, {}};
  llvm::Function* function = piece_function(piece);
  frame_ = Frame{};
  frame_.function = function;
  in_piece_ = true;
  unsigned next = 0;
  for (const ir::BufferRef& buffer : piece.buffers) {
    llvm::Argument* pointer = function->getArg(next++);
    const bool shared = buffer->scope == ir::Scope::shared;
    const bool argument = space_of(*buffer) == global_space();
    const std::int64_t alignment = shared     ? shared_alignment_of(*buffer)
                                   : argument ? capabilities_.argument_alignment
                                              : static_cast<std::int64_t>(size_of(buffer->dtype));
    if (shared) shared_[buffer.get()] = {pointer, alignment};
    frame_.buffers[buffer.get()] = {pointer, alignment};
    if (!ir::changes_meanwhile(program_, *buffer))
      function->addParamAttr(pointer->getArgNo(), llvm::Attribute::NoAlias);
  }
  for (const ir::Variable& variable : piece.variables)
    frame_.variables[variable.name] = function->getArg(next++);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  inside(piece.around, 0, [&] { statement(piece.body); });
  builder_.CreateRetVoid();
  shared_.clear();
  known_elements_.clear();
}

}  // namespace weft::llvm_backend
