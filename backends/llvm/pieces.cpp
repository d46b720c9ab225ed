#include <fmt/format.h>
#include <weft/backends/llvm/analysis.h>
#include <weft/backends/llvm/pieces.h>
#include <weft/formats/parallel.h>
#include <weft/scheduler/ir/agreement.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

namespace weft::llvm_backend {
namespace {

/// Whether `threads` of a block that follow one another agree on the value (0: all do), given the variables
/// on which they do. What they read may differ.
bool is_agreed(const Expr& expr, std::int64_t threads, const std::set<std::string>& agreed) {
  return ir::agree(expr, {.agree_on = [&](const std::string& name) { return agreed.count(name) != 0; },
                          .threads = threads,
                          .agree_on_reads = false});
}

bool is_of_warp(const Expr& expr, const std::set<std::string>& agreed) {
  constexpr std::int64_t warp = 32;
  return is_agreed(expr, warp, agreed);
}

/// Whether no thread of a warp takes another way through the statement than its neighbours.
bool is_in_step(const Stmt& body, std::set<std::string> agreed) {
  bool agree = true;
  const auto on_statement = [&](const Stmt& s) {
    if (const auto* bound = s.as<ir::Let>()) {
      const bool together = is_of_warp(bound->value, agreed);
      agreed.erase(bound->name);
      if (together) agreed.insert(bound->name);
    } else if (const auto* condition = s.as<ir::If>()) {
      agree = agree && is_of_warp(condition->condition, agreed);
    } else if (const auto* loop = s.as<ir::For>()) {
      const bool together = is_of_warp(loop->begin, agreed) && is_of_warp(loop->extent, agreed);
      if (together) agreed.insert(loop->name);
      agree = agree && together;
    }
  };
  // A selection becomes a branch where one of its values may not be asked for.
  const auto on_expression = [&](const Expr& e) {
    if (const auto* select = e.as<ir::Select>()) agree = agree && is_of_warp(select->condition, agreed);
    if (const auto* binary = e.as<ir::Binary>(); binary != nullptr && e.dtype() == DType::boolean)
      agree = agree && is_of_warp(e, agreed);
  };
  ir::visit(body, on_statement, on_expression);
  return agree;
}

class Cutter {
 public:
  Cutter(const ThreadProgram& program, const PieceLimits& limits) : program_(program), limits_(limits) {}

  /// The body with a choice whose branches are pieces, or nothing.
  std::optional<Stmt> operator()() {
    Stmt body = walk(program_.program.body);
    if (pieces.size() < 2) return std::nullopt;
    constexpr std::int64_t operations_of_node = 16;
    std::int64_t operations = 0;
    for (const Piece& piece : pieces) operations += piece.size * operations_of_node;
    parallel_for(std::ssize(pieces), operations, [&](std::int64_t number) {
      const auto i = static_cast<std::size_t>(number);
      complete(pieces[i], warps_[i], known_[i]);
    });
    if (std::ranges::any_of(pieces, lacks_registers)) return std::nullopt;
    return body;
  }

  std::vector<Piece> pieces;
  std::vector<Stmt> statements;  ///< the statement that each piece is

 private:
  /// The blocks that there are along the dimension whose number the expression is; not known: nothing.
  ir::Range numbers_of_blocks(const Expr& expr) const {
    constexpr std::array<const char*, 3> numbers{"block_x", "block_y", "block_z"};
    const auto* call = expr.as<ir::Call>();
    for (std::size_t i = 0; call != nullptr && i < numbers.size(); ++i) {
      const std::int64_t* blocks = ir::integer_value(program_.launch.grid[i]);
      if (call->instruction == numbers[i] && blocks != nullptr) return {0, *blocks - 1};
    }
    return {};
  }
  bool is_of_block(const Expr& expr) const { return is_agreed(expr, 0, of_block_); }
  const ir::If* choice(const Stmt& s) const {
    const auto* condition = s.as<ir::If>();
    const bool both = condition != nullptr && condition->otherwise.defined();
    return both && is_of_block(condition->condition) ? condition : nullptr;
  }

  Stmt walk(const Stmt& s) {
    if (choice(s) != nullptr) return cut(s);
    if (const auto* bound = s.as<ir::Let>()) {
      if (is_of_block(bound->value)) of_block_.insert(bound->name);
      if (is_of_warp(bound->value, of_warp_)) of_warp_.insert(bound->name);
      values_[bound->name] = numbers_of_blocks(bound->value);
      around_.push_back({bound->name, bound->value, {}});
      Stmt body = walk(bound->body);
      around_.pop_back();
      return ir::let(bound->name, bound->value, std::move(body));
    }
    if (const auto* allocation = s.as<ir::Allocate>()) {
      if (allocation->buffer->scope == ir::Scope::shared)
        return ir::allocate(allocation->buffer, walk(allocation->body));
      const std::optional<Stmt> chosen = with_choice_outside(s);
      return chosen ? cut(*chosen) : s;
    }
    if (const auto* condition = s.as<ir::If>(); condition != nullptr && !condition->otherwise.defined())
      return ir::if_then(condition->condition, walk(condition->then));
    if (const auto* block = s.as<ir::Sequence>()) {
      std::vector<Stmt> children = block->statements;
      std::vector<std::int64_t> sizes;
      for (const Stmt& child : children) sizes.push_back(emitted_size(child));
      Stmt& largest = children[std::ranges::max_element(sizes) - sizes.begin()];
      largest = walk(largest);
      return ir::block(std::move(children));
    }
    return s;
  }

  /// The statement as a choice: what stands around the choice in it moves into the branches.
  std::optional<Stmt> with_choice_outside(const Stmt& s) const {
    if (choice(s) != nullptr) return s;
    if (const auto* allocation = s.as<ir::Allocate>()) {
      const auto inner = with_choice_outside(allocation->body);
      if (!inner || allocation->buffer->scope != ir::Scope::registers) return std::nullopt;
      return each_branch(*inner,
                         [&](const Stmt& branch) { return ir::allocate(allocation->buffer, branch); });
    }
    const auto* block = s.as<ir::Sequence>();
    if (block == nullptr) return std::nullopt;
    const std::vector<Stmt>& children = block->statements;
    const auto is_choice = [&](const Stmt& child) { return with_choice_outside(child).has_value(); };
    const auto found = std::ranges::find_if(children, is_choice);
    if (found == children.end() || std::find_if(found + 1, children.end(), is_choice) != children.end())
      return std::nullopt;
    return each_branch(*with_choice_outside(*found), [&](const Stmt& branch) {
      std::vector<Stmt> all(children.begin(), found);
      all.push_back(branch);
      all.insert(all.end(), found + 1, children.end());
      return ir::block(std::move(all));
    });
  }
  Stmt each_branch(const Stmt& s, const std::function<Stmt(const Stmt&)>& change) const {
    const ir::If* chosen = choice(s);
    if (chosen == nullptr) return change(s);
    return ir::if_then(chosen->condition, each_branch(chosen->then, change),
                       each_branch(chosen->otherwise, change));
  }

  /// As emitted_size says; that of a choice is asked for again and again on the way down.
  std::int64_t size_of(const Stmt& s) {
    const ir::If* chosen = choice(s);
    if (chosen == nullptr) return emitted_size(s);
    std::int64_t& size = sizes_[s.identity()];
    if (size == 0)
      size = 1 + nodes_of(chosen->condition) + size_of(chosen->then) + size_of(chosen->otherwise);
    return size;
  }

  Stmt cut(const Stmt& s) {
    const std::int64_t size = size_of(s);
    const ir::If* chosen = choice(s);
    if (chosen != nullptr && size > limits_.smallest_piece)
      return ir::if_then(chosen->condition, cut_branch(*chosen, true), cut_branch(*chosen, false));
    Piece piece;
    piece.name = fmt::format("{}_piece_{}", program_.program.name, pieces.size());
    piece.body = s;
    piece.size = size;
    piece.around = around_;
    pieces.push_back(std::move(piece));
    warps_.push_back(of_warp_);
    known_.push_back(known_here());
    statements.push_back(s);
    return s;
  }
  Stmt cut_branch(const ir::If& choice, bool holds) {
    const ir::Ranges outside = values_;
    narrow(values_, choice.condition, holds);
    Stmt result = cut(holds ? choice.then : choice.otherwise);
    values_ = outside;
    return result;
  }
  /// Where `variable < number` holds, or does not.
  static void narrow(ir::Ranges& values, const Expr& condition, bool holds) {
    const auto* comparison = condition.as<ir::Binary>();
    if (comparison == nullptr || comparison->op != ir::BinaryOperator::less) return;
    const auto* variable = comparison->left.as<ir::Variable>();
    const std::int64_t* number = ir::integer_value(comparison->right);
    if (variable == nullptr || number == nullptr) return;
    ir::Range& range = values[variable->name];
    if (holds) range.maximum = std::min(range.maximum.value_or(*number - 1), *number - 1);
    if (!holds) range.minimum = std::max(range.minimum.value_or(*number), *number);
  }
  ir::Substitution known_here() const {
    ir::Substitution known;
    for (const auto& [name, range] : values_) {
      if (range.minimum && range.minimum == range.maximum) known.emplace(name, *range.minimum);
    }
    return known;
  }

  /// What the piece has to be given. Pieces know nothing of one another, and each has its own numbers of
  /// blocks: conditions on rows that there are not would each have a branch, into which the compiler moves
  /// all sums of the row.
  void complete(Piece& piece, const std::set<std::string>& of_warp, const ir::Substitution& values) const {
    piece.body = ir::substitute(piece.body, values);
    piece.in_step = is_in_step(piece.body, of_warp);
    const Uses uses(piece.body);
    piece.buffers = uses.buffers;
    for (const auto* list : {&program_.program.scalars, &program_.program.extents}) {
      for (const ir::Variable& variable : *list) {
        if (uses.variables.contains(variable.name)) piece.variables.push_back(variable);
      }
    }
    for (const ir::Let& bound : piece.around) {
      const bool known = std::ranges::any_of(
          piece.variables, [&](const ir::Variable& variable) { return variable.name == bound.name; });
      if (!known && uses.variables.contains(bound.name))
        piece.variables.push_back({bound.name, bound.value.dtype()});
    }
  }

  static bool lacks_registers(const Piece& piece) {
    return std::ranges::any_of(
        piece.buffers, [](const ir::BufferRef& buffer) { return buffer->scope == ir::Scope::registers; });
  }

  const ThreadProgram& program_;
  const PieceLimits& limits_;
  std::set<std::string> of_block_, of_warp_;  ///< variables that are the same in all its threads
  std::vector<ir::Let> around_;
  ir::Ranges values_;                         ///< values of variables, where the walk is
  std::vector<std::set<std::string>> warps_;  ///< of_warp_ where each piece stands
  std::vector<ir::Substitution> known_;       ///< variables that have one value there
  std::map<const ir::StmtNode*, std::int64_t> sizes_;
};

}  // namespace

const Piece* PiecedProgram::find(const ir::Stmt& stmt) const {
  const auto found = by_statement_.find(stmt.identity());
  return found == by_statement_.end() ? nullptr : &pieces[found->second];
}

std::optional<PiecedProgram> cut_into_pieces(const ThreadProgram& program, const PieceLimits& limits) {
  const ir::Program& whole = program.program;
  if (whole.roles || whole.cluster || emitted_size(whole.body) < limits.smallest_program) return std::nullopt;
  Cutter cutter(program, limits);
  std::optional<Stmt> body = cutter();
  if (!body) return std::nullopt;
  PiecedProgram result;
  result.whole = program;
  result.whole.program.body = *std::move(body);
  result.pieces = std::move(cutter.pieces);
  for (std::size_t i = 0; i < cutter.statements.size(); ++i)
    result.by_statement_[cutter.statements[i].identity()] = i;
  return result;
}

}  // namespace weft::llvm_backend
