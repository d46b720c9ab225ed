#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/block_reading.h>
#include <weft/scheduler/steps/parts/read_guards.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

class ReadGuards {
 public:
  ReadGuards(const ir::BufferRef& buffer, const ir::InnerLoops& inside,
             const std::vector<std::string>& available)
      : buffer_(buffer), inside_(inside), available_(available) {}

  std::vector<std::vector<Expr>> operator()(const Stmt& body) {
    look(body);
    std::vector<std::vector<Expr>> least;
    for (const std::vector<Expr>& guards : found_) {
      if (std::ranges::any_of(least, [&](const auto& other) { return begins_with(guards, other); })) continue;
      std::erase_if(least, [&](const auto& other) { return begins_with(other, guards); });
      least.push_back(guards);
    }
    return least;
  }

 private:
  static bool begins_with(const std::vector<Expr>& guards, const std::vector<Expr>& first) {
    return first.size() <= guards.size() &&
           std::equal(first.begin(), first.end(), guards.begin(),
                      [](const Expr& a, const Expr& b) { return ir::same(a, b); });
  }

  void look(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (const auto* choice = stmt.as<ir::If>()) {
      const std::size_t outside = around_.size();
      ask(choice->condition);
      look(choice->then);
      around_.resize(outside);
      look(choice->otherwise);
    } else if (const auto* loop = stmt.as<ir::For>()) {
      look(loop->begin);
      look(loop->extent);
      look(loop->body);
    } else if (const auto* block = stmt.as<ir::Block>()) {
      for (const Stmt& child : block->statements) look(child);
    } else if (const auto* allocation = stmt.as<ir::Allocate>()) {
      look(allocation->body);
    } else if (const auto* let = stmt.as<ir::Let>()) {
      look(let->value);
      look(let->body);
    } else if (const auto* store = stmt.as<ir::Store>()) {
      for (const Expr& index : store->indices) look(index);
      look(store->value);
    } else {
      ir::visit(stmt, {}, [&](const Expr& e) { note(e); });
    }
  }

  void look(const Expr& expr) {
    if (!reads(expr, buffer_)) return;
    note(expr);
    std::visit(ir::overloaded{
                   [&](const ir::Load& e) {
                     for (const Expr& index : e.indices) look(index);
                   },
                   [&](const ir::Unary& e) { look(e.operand); },
                   [&](const ir::Binary& e) {
                     look(e.left);
                     look(e.right);
                   },
                   [&](const ir::Select& e) {
                     const std::size_t outside = around_.size();
                     ask(e.condition);
                     look(e.when_true);
                     around_.resize(outside);
                     look(e.when_false);
                   },
                   [&](const ir::Cast& e) { look(e.operand); },
                   [&](const ir::Call& e) {
                     for (const Expr& argument : e.arguments) look(argument);
                   },
                   [](const auto&) {},
               },
               expr.node().kind());
  }

  /// Conditions that are joined are asked one after the other.
  void ask(const Expr& condition) {
    for (const Expr& part : ir::conjuncts_of(condition)) {
      look(part);
      if (is_usable(part)) around_.push_back(part);
    }
  }

  bool is_usable(const Expr& condition) const {
    if (reads(condition, buffer_) || is_last_arrival(condition)) return false;
    return std::ranges::all_of(inside_, [&](const auto& entry) {
      return !ir::uses(condition, entry.first) ||
             std::ranges::find(available_, entry.first) != available_.end();
    });
  }

  void note(const Expr& expr) {
    const auto* load = expr.as<ir::Load>();
    if (load != nullptr && load->buffer == buffer_) found_.push_back(around_);
  }

  const ir::BufferRef& buffer_;
  const ir::InnerLoops& inside_;
  const std::vector<std::string>& available_;
  std::vector<Expr> around_;
  std::vector<std::vector<Expr>> found_;
};

}  // namespace

std::vector<std::vector<Expr>> guards_of_reads(const Stmt& body, const ir::BufferRef& buffer,
                                               const ir::InnerLoops& inside,
                                               const std::vector<std::string>& available) {
  return ReadGuards(buffer, inside, available)(body);
}

}  // namespace weft::steps
