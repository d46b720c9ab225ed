#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/block_reading.h>
#include <weft/scheduler/steps/parts/read_guards.h>

#include <algorithm>

namespace weft::steps {
namespace {

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
           ir::same(first, {guards.begin(), guards.begin() + std::ssize(first)});
  }

  void look(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (const auto* choice = stmt.as<ir::If>()) {
      const std::size_t outside = around_.size();
      ask(choice->condition);
      look(choice->then);
      around_.resize(outside);
      look(choice->otherwise);
    } else if (stmt.as<ir::Copy>() != nullptr || stmt.as<ir::TensorOperation>() != nullptr) {
      // All of it is done at once.
      ir::each<ir::Load>(stmt, [&](const ir::Load& load) {
        if (load.buffer == buffer_) found_.push_back(around_);
      });
    } else {
      each_child(stmt, ir::overloaded{[&](const Expr& child) { look(child); },
                                      [&](const Stmt& child) { look(child); }});
    }
  }

  void look(const Expr& expr) {
    if (!reads(expr, buffer_)) return;
    if (load_of(expr, buffer_) != nullptr) found_.push_back(around_);
    if (const auto* choice = expr.as<ir::Select>()) {
      const std::size_t outside = around_.size();
      ask(choice->condition);
      look(choice->when_true);
      around_.resize(outside);
      if (is_usable(choice->condition))
        around_.push_back(ir::unary(ir::UnaryOperator::logical_not, choice->condition));
      look(choice->when_false);
      around_.resize(outside);
    } else {
      each_child(expr, [&](const Expr& child) { look(child); });
    }
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
