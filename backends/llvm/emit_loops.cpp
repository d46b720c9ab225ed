// Loops: counted, written out, as vectors, by threads.
#include <weft/backends/llvm/emit.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/query.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace weft::llvm_backend {
namespace {

/// Nodes that an unrolled loop may be written out to; beyond, LLVM is told to unroll it and may refuse.
constexpr std::int64_t most_unrolled_nodes = 1 << 18;
/// Vectorized loops of more pieces than this become a loop over pieces.
constexpr std::int64_t most_pieces = 8;

/// Loops in code that is written out more often than this are not unrolled by LLVM as well: what it then has
/// to look at grows with the product, and the time it takes with the square of that.
constexpr std::int64_t most_copies_to_unroll_in = 8;
/// The same of all loops of a program that has more than these, counted as often as they are written out.
constexpr std::int64_t most_loops_to_unroll = 128;

/// LLVM's vectorizer looks at every path through the conditions of a loop, after it unrolled those inside.
constexpr std::int64_t most_branches_to_vectorize = 16;
/// Its unroller writes such loops out one in the other, and looks at all of what it has so far each time.
constexpr std::int64_t most_branches_to_unroll = 256;
constexpr std::int64_t many_branches = std::int64_t{1} << 40;

/// What LLVM is told of a loop; nothing where there are no words.
llvm::MDNode* hints_of(llvm::LLVMContext& context, const std::vector<llvm::MDNode*>& words) {
  if (words.empty()) return nullptr;
  std::vector<llvm::Metadata*> operands{nullptr};
  operands.insert(operands.end(), words.begin(), words.end());
  llvm::MDNode* hint = llvm::MDNode::getDistinct(context, operands);
  hint->replaceOperandWith(0, hint);
  return hint;
}

std::int64_t written_out(std::int64_t branches, const llvm::Value* begin, const llvm::Value* end) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first == nullptr || last == nullptr) return branches;
  std::int64_t product = 0;
  if (__builtin_mul_overflow(branches, last->getSExtValue() - first->getSExtValue(), &product))
    return many_branches;
  return std::clamp<std::int64_t>(product, 0, many_branches);
}

}  // namespace

void Emitter::of(const ir::For& s) {
  const std::int64_t* extent = ir::integer_value(s.extent);
  internal_check(!ir::is_bound(s.kind), "loop " + s.name + " is bound and reached the emitter");
  switch (s.kind) {
    case LoopKind::unrolled:
      internal_check(extent != nullptr, "unrolled loop " + s.name + " has no constant extent");
      return unrolled_loop(s);
    case LoopKind::vectorized:
      internal_check(extent != nullptr, "vectorized loop " + s.name + " has no constant extent");
      return vector_loop(s);
    case LoopKind::parallel:
      internal_check(!lanes_, "a parallel loop inside a vectorized one");
      // Threads do not start threads: the loops inside are run by the one that meets them.
      if (capabilities_.gpu || frame_.is_worker) return serial_loop(s, false);
      return parallel_loop(s);
    default:
      if (!square_across(s)) serial_loop(s, false);
  }
}

void Emitter::with_variable(const std::string& name, llvm::Value* bound, const ir::Range& range,
                            const std::optional<ir::Expr>& known, const std::function<void()>& body) {
  frame_.variables[name] = bound;
  ranges_[name] = range;
  if (known) known_[name] = *known;
  body();
  frame_.variables.erase(name);
  ranges_.erase(name);
  known_.erase(name);
}

/// Runs `body` where `name` is bound to the value of `expr`.
void Emitter::with_let(const std::string& name, const ir::Expr& expr, llvm::Value* bound,
                       const std::function<void()>& body) {
  const bool integer = !is_float(expr.dtype());
  std::optional<ir::Expr> known;
  if (integer && !ir::reads_memory(expr)) known = ir::substitute(expr, known_);
  with_variable(name, bound, integer ? range_of(expr) : ir::Range{}, known, body);
}

void Emitter::counted(llvm::Value* begin, llvm::Value* end, bool unroll,
                      const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* head = new_block("loop");
  llvm::BasicBlock* inside = new_block("body");
  llvm::BasicBlock* after = new_block("after");
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::PHINode* counter = builder_.CreatePHI(begin->getType(), 2);
  counter->addIncoming(begin, before);
  builder_.CreateCondBr(builder_.CreateICmpSLT(counter, end), inside, after);
  builder_.SetInsertPoint(inside);
  const std::int64_t around = std::exchange(branches_, 0);
  body(counter);
  const std::int64_t branches = std::exchange(branches_, written_out(branches_, begin, end));
  branches_ = std::min(branches_ + around, many_branches);
  counter->addIncoming(builder_.CreateNSWAdd(counter, llvm::ConstantInt::get(begin->getType(), 1)),
                       builder_.GetInsertBlock());
  llvm::BranchInst* back = builder_.CreateBr(head);
  std::vector<llvm::MDNode*> words;
  const auto say = [&](const char* word) {
    words.push_back(llvm::MDNode::get(context_, llvm::MDString::get(context_, word)));
  };
  if (unroll)
    say("llvm.loop.unroll.full");
  else if (copies_ > most_copies_to_unroll_in || copies_ * serial_loops_ > most_loops_to_unroll ||
           branches > most_branches_to_unroll)
    say("llvm.loop.unroll.disable");
  if (branches > most_branches_to_vectorize) {
    llvm::Metadata* no = llvm::ConstantAsMetadata::get(builder_.getFalse());
    words.push_back(
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.vectorize.enable"), no}));
  }
  back->setMetadata(llvm::LLVMContext::MD_loop, hints_of(context_, words));
  builder_.SetInsertPoint(after);
}

void Emitter::serial_loop(const ir::For& loop, bool unroll) {
  serial_loop(loop, unroll, [&] { statement(loop.body); });
}

void Emitter::in_loops(std::span<const CodedNest::Loop> loops, const std::function<void()>& body) {
  if (loops.empty()) return body();
  const auto& [loop, guard] = loops.front();
  const auto inside = [&] { in_loops(loops.subspan(1), body); };
  serial_loop(*loop, false, [&] { guard.defined() ? branch(value(guard), inside, {}) : inside(); });
}

void Emitter::serial_loop(const ir::For& loop, bool unroll, const std::function<void()>& body) {
  llvm::Value* begin = value(loop.begin);
  llvm::Value* end = value(loop.begin + loop.extent);
  internal_check(!is_vector(begin) && !is_vector(end),
                 "the bounds of " + loop.name + " differ between lanes");
  ir::Range range{range_of(loop.begin).minimum, {}};
  if (const auto last = ir::range_of(loop.begin + loop.extent, ranges_).maximum) range.maximum = *last - 1;
  counted(begin, end, unroll,
          [&](llvm::Value* counter) { with_variable(loop.name, counter, range, {}, body); });
}

void Emitter::unrolled_loop(const ir::For& loop) {
  const std::int64_t extent = *ir::integer_value(loop.extent);
  std::int64_t nodes = 0;
  if (__builtin_mul_overflow(emitted_size(loop.body), extent, &nodes) || nodes > most_unrolled_nodes)
    return serial_loop(loop, true);
  const std::int64_t copies = copies_;
  copies_ *= extent;
  for (std::int64_t i = 0; i < extent; ++i) {
    const ir::Expr index = loop.begin + i;
    with_variable(loop.name, value(index), ir::range_of(index, ranges_), ir::substitute(index, known_),
                  [&] { statement(loop.body); });
  }
  copies_ = copies;
}

void Emitter::vector_loop(const ir::For& loop) {
  const std::int64_t extent = *ir::integer_value(loop.extent);
  internal_check(!lanes_, "vectorized loop " + loop.name + " stands inside another");
  if (extent == 1 || !can_run_together(loop, known_)) return unrolled_loop(loop);
  llvm::Value* begin = value(loop.begin);
  std::int64_t done = 0;
  const std::int64_t most = capabilities_.most_lanes;
  if (extent / most > most_pieces) {
    const std::string piece = loop.name + "#piece";
    done = extent / most * most;
    counted(llvm::ConstantInt::get(index_type_, 0), llvm::ConstantInt::getSigned(index_type_, extent / most),
            false, [&](llvm::Value* counter) {
              with_variable(piece, counter, {0, extent / most - 1}, {}, [&] {
                const ir::Expr first = loop.begin + ir::variable(piece) * most;
                vector_piece(loop, value(first), first, static_cast<unsigned>(most));
              });
            });
  }
  while (done < extent) {
    const auto left = static_cast<std::uint64_t>(extent - done);
    const auto lanes =
        static_cast<unsigned>(std::min(std::bit_floor(left), static_cast<std::uint64_t>(most)));
    llvm::Value* first = builder_.CreateNSWAdd(begin, llvm::ConstantInt::getSigned(index_type_, done));
    vector_piece(loop, first, loop.begin + done, lanes);
    done += lanes;
  }
}

void Emitter::vector_piece(const ir::For& loop, llvm::Value* first, const ir::Expr& first_expr,
                           unsigned lanes) {
  ir::Range range = range_of(first_expr);
  if (range.maximum) *range.maximum += lanes - 1;
  if (lanes == 1) {
    with_variable(loop.name, first, range, {}, [&] { statement(loop.body); });
    return;
  }
  std::vector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < lanes; ++lane) steps.push_back(llvm::ConstantInt::get(index_type_, lane));
  llvm::Value* all =
      builder_.CreateNSWAdd(builder_.CreateVectorSplat(lanes, first), llvm::ConstantVector::get(steps));
  lanes_ = Lanes{loop.name, lanes, first_expr, nullptr, {}, {}};
  frame_.variables[first_lane_of(loop.name)] = first;
  with_variable(loop.name, all, range, {}, [&] { statement(loop.body); });
  frame_.variables.erase(first_lane_of(loop.name));
  lanes_.reset();
}

/// Emits with every variable as one lane sees it.
void Emitter::scalar_lane(unsigned lane, const std::function<void()>& body) {
  const auto variables = frame_.variables;
  const std::optional<Lanes> lanes = std::move(lanes_);
  lanes_.reset();
  for (auto& [name, bound] : frame_.variables) {
    // What a piece of a kernel does not use is known in it and has no value.
    if (bound != nullptr && is_vector(bound)) bound = builder_.CreateExtractElement(bound, lane);
  }
  body();
  frame_.variables = variables;
  lanes_ = lanes;
}

/// The body becomes a function of its own; what it uses travels in a struct on the stack of the caller.
void Emitter::parallel_loop(const ir::For& loop) {
  const Uses uses(loop.body);
  std::vector<std::string> variables;
  std::vector<const ir::Buffer*> locals;
  for (const auto& [name, bound] : frame_.variables) {
    if (uses.variables.contains(name)) variables.push_back(name);
  }
  // Arguments first and in their order; local arrays by name, so that the text is the same every time.
  for (const auto& [buffer, storage] : frame_.buffers) {
    if (uses.touched.contains(buffer) && !llvm::isa<llvm::Argument>(storage.pointer))
      locals.push_back(buffer);
  }
  std::ranges::sort(locals, [](const auto* a, const auto* b) { return a->name < b->name; });
  std::vector<const ir::Buffer*> buffers;
  for (const auto* list : {&program_.buffers, &program_.workspaces}) {
    for (const ir::BufferRef& buffer : *list) buffers.push_back(buffer.get());
  }
  buffers.insert(buffers.end(), locals.begin(), locals.end());

  std::vector<llvm::Value*> captured;
  for (const ir::Buffer* buffer : buffers) captured.push_back(frame_.buffers.at(buffer).pointer);
  for (const std::string& name : variables) captured.push_back(frame_.variables.at(name));
  std::vector<llvm::Type*> types;
  for (const llvm::Value* each : captured) types.push_back(each->getType());
  auto* context = llvm::StructType::get(context_, types);

  llvm::Value* begin = value(loop.begin);
  llvm::Value* extent = value(loop.extent);
  llvm::BasicBlock& entry = frame_.function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Value* place = at_entry.CreateAlloca(context);
  for (unsigned i = 0; i < captured.size(); ++i)
    builder_.CreateStore(captured[i], builder_.CreateStructGEP(context, place, i));
  llvm::Function* thunk = thunk_of(outlined_body(loop, variables, buffers), context);
  llvm::Type* wide = builder_.getInt64Ty();
  llvm::Type* pointer = builder_.getPtrTy();
  auto callee = module_.getOrInsertFunction(
      "weft_parallel_for",
      llvm::FunctionType::get(builder_.getVoidTy(), {pointer, wide, wide, pointer, pointer}, false));
  builder_.CreateCall(callee, {frame_.runtime, builder_.CreateSExt(begin, wide),
                               builder_.CreateSExt(extent, wide), thunk, place});
}

/// void(captured..., begin, end, scratch)
llvm::Function* Emitter::outlined_body(const ir::For& loop, const std::vector<std::string>& variables,
                                       const std::vector<const ir::Buffer*>& buffers) {
  std::vector<llvm::Type*> types(buffers.size(), builder_.getPtrTy());
  for (const std::string& name : variables) types.push_back(frame_.variables.at(name)->getType());
  types.insert(types.end(), 2, builder_.getInt64Ty());
  types.push_back(builder_.getPtrTy());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                                          llvm::Function::InternalLinkage, "parallel_body", module_);
  function->addFnAttr(llvm::Attribute::NoInline);
  describe_arguments(function);

  const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
  Frame outer = std::move(frame_);
  frame_ = Frame{};
  frame_.function = function;
  frame_.is_worker = true;
  unsigned next = 0;
  for (const ir::Buffer* buffer : buffers)
    frame_.buffers[buffer] = {function->getArg(next++), outer.buffers.at(buffer).alignment};
  for (const std::string& name : variables) frame_.variables[name] = function->getArg(next++);
  llvm::Value* first = function->getArg(next);
  llvm::Value* last = function->getArg(next + 1);
  frame_.scratch = function->getArg(next + 2);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  const ir::Range range{is_non_negative(loop.begin) ? std::optional<std::int64_t>(0) : std::nullopt, {}};
  counted(builder_.CreateTrunc(first, index_type_), builder_.CreateTrunc(last, index_type_), false,
          [&](llvm::Value* counter) {
            with_variable(loop.name, counter, range, {}, [&] { statement(loop.body); });
          });
  builder_.CreateRetVoid();
  emitted_.worker_scratch_bytes = std::max(emitted_.worker_scratch_bytes, frame_.scratch_bytes);
  frame_ = std::move(outer);
  return function;
}

/// void(begin, end, scratch, context), as the runtime calls it.
llvm::Function* Emitter::thunk_of(llvm::Function* body, llvm::StructType* context) {
  llvm::Type* wide = builder_.getInt64Ty();
  llvm::Type* pointer = builder_.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {wide, wide, pointer, pointer}, false),
      llvm::Function::InternalLinkage, "parallel_thunk", module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  const llvm::IRBuilderBase::InsertPointGuard guard(builder_);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  std::vector<llvm::Value*> arguments;
  for (unsigned i = 0; i < context->getNumElements(); ++i)
    arguments.push_back(builder_.CreateLoad(context->getElementType(i),
                                            builder_.CreateStructGEP(context, function->getArg(3), i)));
  arguments.insert(arguments.end(), {function->getArg(0), function->getArg(1), function->getArg(2)});
  builder_.CreateCall(body, arguments);
  builder_.CreateRetVoid();
  return function;
}

}  // namespace weft::llvm_backend
