#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <weft/backends/llvm/analysis.h>
#include <weft/backends/llvm/coded_sums.h>
#include <weft/backends/llvm/program_length.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::llvm_backend {
namespace {

// The longest kernel of a recipe that is no straight line has a tenth of these.
constexpr std::int64_t most_nodes = std::int64_t{1} << 21;
/// Weights may be code of a CPU; those of a GPU that are long have no branches and come from another place.
constexpr std::int64_t most_instructions_on_cpu = std::int64_t{1} << 20;
constexpr std::int64_t most_instructions_on_gpu = std::int64_t{1} << 18;
constexpr std::int64_t most_branches = std::int64_t{1} << 13;
/// Instructions times branches: values are looked at again at each branch they live across, by the passes
/// that turn loops and that give values registers. On a CPU most branches are loops, which its passes rotate,
/// unroll and vectorize one by one; the longest kernel that a test bakes has a third of these.
constexpr std::int64_t most_crossings_on_gpu = std::int64_t{1} << 28;
constexpr std::int64_t most_crossings_on_cpu = std::int64_t{1} << 25;
/// Each such lane is a branch that the registers of its vector live across.
constexpr std::int64_t most_masked_crossings = std::int64_t{3} << 16;
/// Elements of 8 and 16 bits, which no instruction gathers: 18,000 took the code generator half a minute, and
/// half as many a fifth of that.
constexpr std::int64_t most_gathered = std::int64_t{3} << 12;
/// Conditions inside of vectorized loops times lanes: writing 1.5 million out took half a minute.
constexpr std::int64_t most_choices = std::int64_t{1} << 19;

/// Products of vectors in one block of a CPU: 13,000 take the code generator a quarter of a minute.
constexpr std::int64_t most_products = 20'000;

/// Conditions in loops that are written out: 12,416 took LLVM more than half a minute.
constexpr std::int64_t most_conditions = std::int64_t{5} << 11;

/// What makes a program long and is named in its schedule.
struct LongParts {
  std::vector<std::pair<std::int64_t, std::string>> loops;  ///< those written out, the longest first
  std::set<std::string> copied;                             ///< what is copied, element by element
};

/// Passes write loops of the schedule out, and make loops that no step can name, as of copies.
LongParts long_parts(const ThreadProgram& program) {
  const ir::Stmt& scheduled = program.scheduled.defined() ? program.scheduled : program.program.body;
  const std::vector<std::string> names = ir::loop_names(scheduled);
  const std::set<std::string> known(names.begin(), names.end());
  std::map<std::string, std::int64_t> extents;
  for (const ir::Stmt& body : {scheduled, program.program.body}) {
    ir::each<ir::For>(body, [&](const ir::For& loop) {
      const std::int64_t* extent = ir::integer_value(loop.extent);
      const bool is_written = loop.kind == LoopKind::unrolled || loop.kind == LoopKind::vectorized;
      if (is_written && extent != nullptr && known.contains(loop.name))
        extents[loop.name] = std::max(extents[loop.name], *extent);
    });
  }
  LongParts parts;
  for (const auto& [name, extent] : extents) parts.loops.emplace_back(extent, name);
  std::ranges::stable_sort(parts.loops, std::greater(), &std::pair<std::int64_t, std::string>::first);
  constexpr std::size_t most_named = 4;
  parts.loops.resize(std::min(parts.loops.size(), most_named));
  ir::each<ir::Copy>(scheduled, [&](const ir::Copy& copy) { parts.copied.insert(copy.source->name); });
  return parts;
}

[[noreturn]] void refuse(const ThreadProgram& program, std::string found, const std::string& accepted) {
  const LongParts parts = long_parts(program);
  std::vector<std::string> texts, ways;
  for (const auto& [extent, name] : parts.loops) texts.push_back(fmt::format("{} ({} times)", name, extent));
  if (!parts.loops.empty()) {
    found += fmt::format(", with these loops written out: {}", fmt::join(texts, ", "));
    ways.push_back(
        fmt::format("leave out the step that unrolls or vectorizes {0} or makes it index registers, or split "
                    "{0} before it and give it {0}.inner",
                    parts.loops.front().second));
  }
  if (!parts.copied.empty()) {
    const std::string copied = fmt::format("{}", fmt::join(parts.copied, " and "));
    found += fmt::format(", and copies of {}", copied);
    ways.push_back(fmt::format("leave out the step that copies {}", copied));
  }
  if (ways.empty()) ways.emplace_back("a schedule that writes less out, as without bake_values");
  throw UserError("the program is too long to compile", program.program.name, std::move(found),
                  fmt::format("{}: {}", accepted, fmt::join(ways, "; or ")));
}

/// Whether lanes touch memory each on its own: under a mask, or by writes that lie apart, which the code
/// generator keeps in order one by one.
bool is_of_single_lanes(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return false;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
    case llvm::Intrinsic::masked_gather: return !llvm::isa<llvm::Constant>(call->getArgOperand(2));
    case llvm::Intrinsic::masked_store: return !llvm::isa<llvm::Constant>(call->getArgOperand(3));
    case llvm::Intrinsic::masked_scatter: return true;
    default: return false;
  }
}

std::int64_t lanes_of(const llvm::Instruction& instruction) {
  const llvm::Type* type =
      instruction.getType()->isVoidTy() ? instruction.getOperand(0)->getType() : instruction.getType();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : static_cast<std::int64_t>(vector->getNumElements());
}

/// Whether lanes read elements from places of their own, and no instruction does that.
bool is_gathered_singly(const llvm::Instruction& instruction) {
  constexpr unsigned least_bits = 32;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_gather &&
         call->getType()->getScalarSizeInBits() < least_bits;
}

bool is_product_of_vectors(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  const bool fused = call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fma;
  return instruction.getType()->isVectorTy() && (fused || instruction.getOpcode() == llvm::Instruction::FMul);
}

std::int64_t conditions_written_out(const ir::Stmt& stmt, std::int64_t times) {
  const auto* loop = stmt.as<ir::For>();
  const std::int64_t* extent =
      loop == nullptr || loop->kind != ir::LoopKind::unrolled ? nullptr : ir::integer_value(loop->extent);
  // A loop of no iterations has nothing to write out, and many of many are too many anyway.
  if (extent != nullptr)
    times = std::min(times * std::clamp<std::int64_t>(*extent, 0, most_nodes), most_nodes);
  std::int64_t count = stmt.as<ir::If>() != nullptr && times > 1 ? times : 0;
  each_child(stmt, [&](const ir::Stmt& child) {
    if (child.defined()) count = std::min(count + conditions_written_out(child, times), most_nodes);
  });
  return count;
}

}  // namespace

void check_length_before(const ThreadProgram& program) {
  const std::int64_t nodes = emitted_size(program.program.body);
  if (nodes > most_nodes)
    refuse(program, fmt::format("{} operations", nodes), fmt::format("at most {} operations", most_nodes));
  const ir::Stmt& body = program.program.body;
  const std::int64_t conditions = body.defined() ? conditions_written_out(body, 1) : 0;
  if (conditions > most_conditions)
    refuse(program, fmt::format("{} conditions written out", conditions),
           fmt::format("at most {} conditions", most_conditions));
}

void check_length_after(const ThreadProgram& program, const llvm::Module& module) {
  const std::int64_t instructions = module.getInstructionCount();
  std::int64_t branches = 0, products = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      products = std::max<std::int64_t>(products, std::ranges::count_if(block, is_product_of_vectors));
      const auto* branch = llvm::dyn_cast_or_null<llvm::BranchInst>(block.getTerminator());
      branches += branch != nullptr && branch->isConditional() ? 1 : 0;
    }
  }
  const bool is_gpu = llvm::StringRef(module.getTargetTriple()).starts_with("nvptx");
  const std::int64_t most_instructions = is_gpu ? most_instructions_on_gpu : most_instructions_on_cpu;
  const std::int64_t most_crossings = is_gpu ? most_crossings_on_gpu : most_crossings_on_cpu;
  if (instructions > most_instructions || branches > most_branches ||
      instructions * branches > most_crossings)
    refuse(program, fmt::format("{} instructions with {} branches among them", instructions, branches),
           fmt::format("at most {} instructions and {} branches, and {} of one times the other",
                       most_instructions, most_branches, most_crossings));
  if (products > most_products)
    refuse(program, fmt::format("{} products of vectors in a straight line", products),
           fmt::format("at most {} such products, but for those of f32 in vectors that are as long as the "
                       "processor's and whole, which are assembly of their own",
                       most_products));
}

void check_choices(const ThreadProgram& program) {
  std::int64_t lanes = 0;
  const auto count = [&](const auto& again, const ir::Stmt& stmt, std::int64_t around) -> void {
    if (stmt.as<ir::If>() != nullptr && around > 1) lanes += around;
    const auto* loop = stmt.as<ir::For>();
    const std::int64_t* extent = loop == nullptr ? nullptr : ir::integer_value(loop->extent);
    if (extent != nullptr && loop->kind == ir::LoopKind::vectorized) around *= *extent;
    // Which of the first lanes are left is one mask for all.
    const ir::Stmt* body = nullptr;
    if (loop != nullptr && asked_of(*loop, body)) return again(again, *body, around);
    each_child(stmt, [&](const ir::Stmt& child) { again(again, child, around); });
  };
  if (program.program.body.defined()) count(count, program.program.body, 1);
  if (lanes > most_choices)
    refuse(program, fmt::format("{} choices of lanes of vectorized loops", lanes),
           fmt::format("at most {} choices", most_choices));
}

void check_masks(const ThreadProgram& program, const llvm::Module& module) {
  std::int64_t elements = 0, crossings = 0, widest = 1, gathered = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_gathered_singly(instruction)) gathered += lanes_of(instruction);
      if (!is_of_single_lanes(instruction)) continue;
      const std::int64_t lanes = lanes_of(instruction);
      elements += lanes;
      crossings += lanes * lanes;
      widest = std::max(widest, lanes);
    }
  }
  if (crossings > most_masked_crossings)
    refuse(
        program,
        fmt::format("reads and writes of {} elements by lanes that branch on their own or write apart, up to "
                    "{} lanes in a vector",
                    elements, widest),
        fmt::format("at most {} elements by so many lanes", most_masked_crossings / widest));
  if (gathered > most_gathered)
    refuse(program,
           fmt::format("{} elements of 8 or 16 bits that lanes read at places of their own", gathered),
           fmt::format("at most {} such elements", most_gathered));
}

}  // namespace weft::llvm_backend
