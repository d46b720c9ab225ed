// Functions, arguments, statements.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <algorithm>

namespace weft::llvm_backend {
namespace {

constexpr unsigned constant_space = 4;
constexpr std::size_t bytes_of_constant_space = 64 * 1024;
constexpr std::int64_t shared_alignment = 16;
/// Local arrays of the CPU beyond this are taken from the scratch memory of the call, so that a program never
/// outgrows the stack of a thread.
constexpr std::int64_t most_stack_bytes_of_array = 32 * 1024;
constexpr std::int64_t local_alignment = 64;

std::string identifier(std::string name) {
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

template <class Function>
void each_argument_buffer(const ir::Program& program, Function&& function) {
  for (const ir::BufferRef& buffer : program.buffers) function(*buffer);
  for (const ir::BufferRef& buffer : program.workspaces) function(*buffer);
}

}  // namespace

Emitter::Emitter(llvm::Module& module, const ThreadProgram& thread_program, const Capabilities& capabilities)
    : module_(module),
      context_(module.getContext()),
      thread_program_(thread_program),
      program_(thread_program.program),
      capabilities_(capabilities),
      builder_(context_),
      index_type_(llvm::Type::getIntNTy(context_, static_cast<unsigned>(program_.index_bits))),
      coder_(capabilities.coded),
      streams_results_(capabilities.gpu && ir::streams_results(program_)) {
  internal_check(program_.index_bits == 32 || program_.index_bits == 64, "index_bits is neither 32 nor 64");
}

Emitted Emitter::emit() {
  for (const ir::Variable& extent : program_.extents) ranges_[extent.name] = {1, {}};
  ir::visit(program_.body, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    serial_loops_ += loop != nullptr && loop->kind == LoopKind::serial ? 1 : 0;
  });
  llvm::Function* kernel = emit_kernel();
  emitted_.scratch_bytes = frame_.scratch_bytes;
  emitted_.entry = capabilities_.gpu ? kernel : emit_cpu_entry(kernel);
  if (!coder_.assembly().empty()) module_.appendModuleInlineAsm(coder_.assembly());
  return emitted_;
}

llvm::Function* Emitter::emit_kernel() {
  std::vector<llvm::Type*> types;
  each_argument_buffer(program_,
                       [&](const ir::Buffer&) { types.push_back(builder_.getPtrTy(global_space())); });
  for (const ir::Variable& scalar : program_.scalars) types.push_back(value_type(scalar.dtype));
  types.insert(types.end(), program_.extents.size(), index_type_);
  if (!capabilities_.gpu) types.insert(types.end(), 2, builder_.getPtrTy());  // scratch and runtime

  // On the CPU, programs share names with the C library: one called "erf" must not become erf.
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), types, false),
      capabilities_.gpu ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage,
      capabilities_.gpu ? identifier(program_.name) : "kernel." + identifier(program_.name), module_);
  frame_.function = function;
  describe_arguments(function);
  unsigned next = 0;
  each_argument_buffer(program_, [&](const ir::Buffer& buffer) {
    frame_.buffers[&buffer] = {function->getArg(next++), capabilities_.argument_alignment};
  });
  for (const auto* list : {&program_.scalars, &program_.extents}) {
    for (const ir::Variable& variable : *list) frame_.variables[variable.name] = function->getArg(next++);
  }
  if (!capabilities_.gpu) {
    frame_.scratch = function->getArg(next);
    frame_.runtime = function->getArg(next + 1);
  }
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  add_constants();
  if (capabilities_.gpu) add_shared_arrays();
  statement(program_.body);
  builder_.CreateRetVoid();
  return function;
}

/// Buffers come first in every function that has them as arguments.
void Emitter::describe_arguments(llvm::Function* function) {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  if (capabilities_.wide_vectors) function->addFnAttr("prefer-vector-width", "512");
  unsigned next = 0;
  each_argument_buffer(program_, [&](const ir::Buffer& buffer) {
    if (!ir::changes_meanwhile(program_, buffer)) function->addParamAttr(next, llvm::Attribute::NoAlias);
    function->addParamAttr(next, llvm::Attribute::getWithAlignment(
                                     context_, llvm::Align(static_cast<std::uint64_t>(std::max<std::int64_t>(
                                                   capabilities_.argument_alignment, 1)))));
    if (buffer.access == ir::Access::read) function->addParamAttr(next, llvm::Attribute::ReadOnly);
    function->getArg(next)->setName(identifier(buffer.name));
    ++next;
  });
}

llvm::Function* Emitter::emit_cpu_entry(llvm::Function* kernel) {
  // Not inlined: the promises about its arguments live in the kernel's signature.
  kernel->addFnAttr(llvm::Attribute::NoInline);
  llvm::Type* pointer = builder_.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), std::vector<llvm::Type*>(5, pointer), false),
      llvm::Function::ExternalLinkage, "weft_entry", module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  std::vector<llvm::Value*> arguments;
  const auto element = [&](unsigned array, llvm::Type* type, std::size_t index) {
    return builder_.CreateLoad(type,
                               builder_.CreateConstInBoundsGEP1_64(type, function->getArg(array), index));
  };
  for (std::size_t i = 0; i < program_.buffers.size() + program_.workspaces.size(); ++i)
    arguments.push_back(element(0, pointer, i));
  for (std::size_t i = 0; i < program_.scalars.size(); ++i)
    arguments.push_back(
        convert(element(1, builder_.getDoubleTy(), i), DType::f64, program_.scalars[i].dtype));
  for (std::size_t i = 0; i < program_.extents.size(); ++i)
    arguments.push_back(builder_.CreateTrunc(element(2, builder_.getInt64Ty(), i), index_type_));
  arguments.push_back(function->getArg(3));
  arguments.push_back(function->getArg(4));
  builder_.CreateCall(kernel, arguments);
  builder_.CreateRetVoid();
  return function;
}

/// Every shared array has its own place for the whole kernel: static ones while they fit, else all in one
/// dynamic array.
void Emitter::add_shared_arrays() {
  const std::vector<SharedArray> arrays = shared_arrays(program_);
  internal_check(shared_bytes_of(program_) <= thread_program_.launch.shared_bytes,
                 "the shared arrays of " + program_.name + " hold more bytes than its launch says");
  std::int64_t most_aligned = shared_alignment;
  for (const SharedArray& array : arrays)
    most_aligned = std::max(most_aligned, shared_alignment_of(*array.buffer));
  llvm::GlobalVariable* dynamic = nullptr;
  if (thread_program_.launch.shared_bytes > most_static_shared_bytes) {
    auto* type = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
    dynamic =
        new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                 "weft_shared", nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
    dynamic->setAlignment(llvm::Align(static_cast<std::uint64_t>(most_aligned)));
  }
  for (const SharedArray& place : arrays) {
    const ir::Buffer* buffer = place.buffer;
    const std::int64_t alignment = shared_alignment_of(*buffer);
    llvm::Value* pointer = nullptr;
    if (dynamic != nullptr) {
      pointer =
          builder_.CreateConstGEP1_32(builder_.getInt8Ty(), dynamic, static_cast<unsigned>(place.offset));
    } else {
      auto* type = llvm::ArrayType::get(storage_type(buffer->dtype),
                                        static_cast<std::uint64_t>(elements_of_local(*buffer)));
      auto* array = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage,
                                             llvm::UndefValue::get(type), identifier(buffer->name), nullptr,
                                             llvm::GlobalValue::NotThreadLocal, shared_space);
      array->setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
      pointer = array;
    }
    shared_[buffer] = {pointer, alignment};
  }
}

unsigned Emitter::constants_space() const {
  std::size_t bytes = 0;
  for (const ir::ConstantBuffer& constant : program_.constants)
    bytes += (constant.numbers.size() + 3) / 4 * 4 * sizeof(std::int32_t);
  return !capabilities_.gpu ? 0 : bytes <= bytes_of_constant_space ? constant_space : 1;
}

void Emitter::add_constants() {
  const unsigned space = constants_space();
  for (const ir::ConstantBuffer& constant : program_.constants) {
    auto* numbers = llvm::ConstantDataArray::get(
        context_, llvm::ArrayRef(reinterpret_cast<const std::uint32_t*>(constant.numbers.data()),
                                 constant.numbers.size()));
    auto* array = new llvm::GlobalVariable(
        module_, numbers->getType(), true, llvm::GlobalValue::InternalLinkage, numbers,
        identifier(constant.buffer->name), nullptr, llvm::GlobalValue::NotThreadLocal, space);
    array->setAlignment(llvm::Align(shared_alignment));
    frame_.buffers[constant.buffer.get()] = {array, shared_alignment};
  }
}

llvm::BasicBlock* Emitter::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, frame_.function);
}

void Emitter::statement(const ir::Stmt& stmt) {
  if (!stmt.defined()) return;
  if (const Piece* piece = pieced_ != nullptr ? pieced_->find(stmt) : nullptr) return call_piece(*piece);
  const bool may_be_nest = stmt.as<ir::For>() != nullptr || stmt.as<ir::Allocate>() != nullptr;
  if (may_be_nest && !lanes_) {
    if (const auto nest = coder_.nest(stmt)) return emit(*nest);
  }
  if (!lanes_) {
    if (const auto sum = coder_.coded(stmt)) return call(*sum);
  }
  std::visit([this](const auto& node) { of(node); }, stmt.node().kind());
}

void Emitter::of(const ir::Sequence& s) {
  for (const ir::Stmt& each : s.statements) statement(each);
}

void Emitter::call(const CodedSum& sum) {
  llvm::Type* pointer = builder_.getPtrTy();
  const llvm::FunctionCallee function = module_.getOrInsertFunction(
      sum.name, llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false));
  builder_.CreateCall(function, {pointer_to(*sum.dense, sum.of_dense), storage_of(*sum.sums).pointer});
}

/// All loops go through a piece of the code before the next one.
void Emitter::emit(const CodedNest& nest) {
  if (nest.own != nullptr) frame_.buffers[nest.own.get()] = local_array(*nest.own);
  emit(nest, nest.block.sums);
  if (nest.block.results.defined()) in_loops(nest.loops, [&] { statement(nest.block.results); });
  if (nest.own != nullptr) frame_.buffers.erase(nest.own.get());
}

void Emitter::emit(const CodedNest& nest, const ir::Stmt& sums) {
  if (const auto* choice = sums.as<ir::If>())
    return branch(
        value(choice->condition), [&] { emit(nest, choice->then); }, [&] { emit(nest, choice->otherwise); });
  const SumCoder::Leaf leaf = coder_.leaf(nest.block, sums);
  if (!leaf.without.empty()) {
    in_loops(nest.loops, [&] {
      for (const std::int64_t row : leaf.without)
        statement(ir::substitute(nest.block.zero_of_row, {{nest.block.row, ir::integer(row)}}));
    });
  }
  for (const CodedSum& piece : leaf.pieces) in_loops(nest.loops, [&] { call(piece, nest); });
}

void Emitter::call(const CodedSum& sum, const CodedNest& nest) {
  const CodedBlock& block = nest.block;
  llvm::Type* pointer = builder_.getPtrTy();
  std::vector<llvm::Type*> types{pointer, pointer, builder_.getInt32Ty(), builder_.getInt64Ty()};
  if (sum.fetched.defined()) types.push_back(pointer);
  const llvm::FunctionCallee function =
      module_.getOrInsertFunction(sum.name, llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  const ir::Expr elements = ir::maximum(ir::minimum(block.elements, block.lanes), 0);
  llvm::Value* stored = builder_.CreateZExtOrTrunc(value(elements), builder_.getInt32Ty());
  stored = builder_.CreateSub(builder_.CreateShl(builder_.getInt32(1), stored), builder_.getInt32(1));
  ir::Expr number = 0;
  if (sum.ahead > 0) {
    for (const auto& [loop, guard] : nest.loops)
      number = number * loop->extent + ir::variable(loop->name) - loop->begin;
  }
  llvm::Value* ahead = builder_.CreateSExtOrTrunc(value(number * sum.ahead), builder_.getInt64Ty());
  std::vector<llvm::Value*> arguments{pointer_to(*sum.dense, sum.of_dense),
                                      pointer_to(*block.stored, block.place), stored, ahead};
  if (sum.fetched.defined()) arguments.push_back(pointer_to(*sum.dense, sum.fetched));
  builder_.CreateCall(function, arguments);
}

void Emitter::of(const ir::TensorOperation& s) {
  internal_check(false, s.instruction + " reached the emitter of " + program_.name);
}

void Emitter::of(const ir::Barrier&) {
  internal_check(capabilities_.gpu, "a barrier in a program for the CPU");
  internal_check(!lanes_, "a barrier inside a vectorized loop");
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

void Emitter::of(const ir::Let& s) {
  llvm::Value* bound = value(s.value);
  const bool varies = lanes_ && is_vector(bound);
  if (varies) {
    lanes_->varying.insert(s.name);
    if (!is_float(s.value.dtype()) && !ir::reads_memory(s.value))
      lanes_->lets[s.name] = ir::substitute(s.value, lanes_->lets);
  }
  with_let(s.name, s.value, bound, [&] { statement(s.body); });
  if (varies) {
    lanes_->varying.erase(s.name);
    lanes_->lets.erase(s.name);
  }
}

void Emitter::of(const ir::Allocate& s) {
  internal_check(!lanes_, "an allocation inside a vectorized loop");
  const ir::Buffer& buffer = *s.buffer;
  const auto shared = shared_.find(&buffer);
  frame_.buffers[&buffer] = shared != shared_.end() ? shared->second : local_array(buffer);
  if (capabilities_.gpu && buffer.scope == ir::Scope::registers) clear_registers(frame_.buffers[&buffer]);
  statement(s.body);
  frame_.buffers.erase(&buffer);
}

/// LLVM reads registers ahead of the condition under which they are written. The value does not matter there,
/// but one that was never written is what a checker of the kernel reports.
void Emitter::clear_registers(const Storage& storage) {
  const auto* array = llvm::cast<llvm::AllocaInst>(storage.pointer);
  const auto bytes = array->getAllocationSize(module_.getDataLayout());
  builder_.CreateMemSet(storage.pointer, builder_.getInt8(0), bytes->getFixedValue(), array->getAlign());
}

Emitter::Storage Emitter::local_array(const ir::Buffer& buffer) {
  const std::int64_t elements = elements_of_local(buffer);
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(buffer.dtype));
  if (!capabilities_.gpu && bytes > most_stack_bytes_of_array) {
    llvm::Value* pointer = builder_.CreateConstInBoundsGEP1_64(
        builder_.getInt8Ty(), frame_.scratch, static_cast<std::uint64_t>(frame_.scratch_bytes));
    frame_.scratch_bytes += ceil_divide(bytes, local_alignment) * local_alignment;
    return {pointer, local_alignment};
  }
  // In the entry block, where it is allocated once and can become registers.
  llvm::BasicBlock& entry = frame_.function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* type = llvm::ArrayType::get(storage_type(buffer.dtype), static_cast<std::uint64_t>(elements));
  auto* array = at_entry.CreateAlloca(type, nullptr, identifier(buffer.name));
  const std::int64_t alignment = capabilities_.gpu ? 16 : local_alignment;
  array->setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
  return {array, alignment};
}

void Emitter::branch(llvm::Value* condition, const std::function<void()>& then,
                     const std::function<void()>& otherwise) {
  llvm::BasicBlock* then_block = new_block("then");
  llvm::BasicBlock* else_block = otherwise ? new_block("else") : nullptr;
  llvm::BasicBlock* join = new_block("join");
  builder_.CreateCondBr(condition, then_block, else_block != nullptr ? else_block : join);
  ++branches_;
  builder_.SetInsertPoint(then_block);
  then();
  builder_.CreateBr(join);
  if (else_block != nullptr) {
    builder_.SetInsertPoint(else_block);
    otherwise();
    builder_.CreateBr(join);
  }
  builder_.SetInsertPoint(join);
}

void Emitter::of(const ir::If& s) {
  llvm::Value* condition = value(s.condition);
  if (!is_vector(condition)) {
    std::function<void()> otherwise;
    if (s.otherwise.defined()) otherwise = [&] { statement(s.otherwise); };
    branch(condition, [&] { statement(s.then); }, otherwise);
  } else if (capabilities_.gpu) {
    each_lane_if(condition, s);
  } else {
    masked_if(condition, s);
  }
}

/// Runs the branches for the lanes that take them. A branch that no lane takes is jumped over, because what
/// is the same in all lanes is not masked.
void Emitter::masked_if(llvm::Value* condition, const ir::If& s) {
  llvm::Value* outer = lanes_->mask;
  const auto under = [&](llvm::Value* taken, const ir::Stmt& body) {
    if (!body.defined()) return;
    llvm::Value* mask = outer != nullptr ? builder_.CreateAnd(outer, taken) : taken;
    branch(builder_.CreateOrReduce(mask),
           [&] {
             lanes_->mask = mask;
             statement(body);
             lanes_->mask = outer;
           },
           {});
  };
  under(condition, s.then);
  under(builder_.CreateNot(condition), s.otherwise);
}

/// GPUs have no masked memory instructions: where all lanes agree vectors stay, else lanes run one by one.
void Emitter::each_lane_if(llvm::Value* condition, const ir::If& s) {
  const unsigned count = lanes_->count;
  branch(
      builder_.CreateAndReduce(condition), [&] { statement(s.then); },
      [&] {
        for (unsigned lane = 0; lane < count; ++lane) {
          std::function<void()> otherwise;
          if (s.otherwise.defined()) otherwise = [&] { scalar_lane(lane, [&] { statement(s.otherwise); }); };
          branch(
              builder_.CreateExtractElement(condition, lane),
              [&] { scalar_lane(lane, [&] { statement(s.then); }); }, otherwise);
        }
      });
}

}  // namespace weft::llvm_backend
