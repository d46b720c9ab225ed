// Where launches overlap, a kernel waits for the launch in front of it. The hardware's rules: a launch whose
// host asked for it may begin once every block of the one in front has executed allow_next_launch or ended,
// and wait_for_launch returns once that one has ended and what it wrote can be seen.
//
// Why it is right that the next launch may begin at once, however many have: a thread waits before it touches
// what another launch may write or still read, operands, results and workspaces alike. The wait of a launch
// is for the one in front alone; but that one has not ended before all of its threads have waited for the one
// in front of it, and so on. That is why no path may go round the wait, be there anything to do on it or not.
// All blocks run when the next launch begins, so that its waiting blocks take the place of none that they
// wait for. What is read before, the weights, no launch writes.
//
// What asks for weights stands in front of the wait where passes put it there (run_copies_ahead,
// specialize_warps), and where nothing that comes first has to do with it, as in rings of streams.
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>

namespace weft::passes {
namespace {

/// Variables and buffers around statements, outermost first.
struct Scopes {
  std::vector<Stmt> list;
  Stmt inside;

  explicit Scopes(Stmt stmt) : inside(std::move(stmt)) {
    for (;;) {
      const auto* let = inside.as<ir::Let>();
      const auto* allocation = inside.as<ir::Allocate>();
      if (let == nullptr && allocation == nullptr) return;
      list.push_back(inside);
      inside = let != nullptr ? let->body : allocation->body;
    }
  }

  Stmt around(Stmt body) const {
    for (auto scope = list.rbegin(); scope != list.rend(); ++scope) {
      const auto* let = scope->as<ir::Let>();
      body = let != nullptr ? ir::let(let->name, let->value, body)
                            : ir::allocate(scope->as<ir::Allocate>()->buffer, body);
    }
    return body;
  }

  /// Whether they can stand around other statements: variables are known there, and have names of their own.
  bool may_hold(const Stmt& others) const {
    return std::ranges::all_of(list, [&](const Stmt& scope) {
      const auto* let = scope.as<ir::Let>();
      const auto is_let = [&](const auto& each) { return each.name == let->name; };
      return let == nullptr || (!ir::any<ir::Load>(let->value) && !ir::any<ir::For>(others, is_let) &&
                                !ir::any<ir::Let>(others, is_let));
    });
  }
};

/// Whether it waits, or is told apart by its place among groups of copies.
bool keeps_place(const Stmt& stmt) {
  return ir::any<ir::Barrier>(stmt) || ir::any<ir::Copy>(stmt) || ir::any<ir::CopyGroup>(stmt) ||
         ir::any<ir::Execute>(stmt, [](const ir::Execute& each) {
           return each.instruction == "mbarrier_wait" || each.instruction == "mbarrier_test";
         });
}

/// Whether something is copied from global memory.
bool asks(const Stmt& stmt) {
  return ir::any<ir::Execute>(stmt, [](const ir::Execute& each) {
    return std::ranges::any_of(each.arguments, [](const Expr& argument) {
      return ir::any<ir::Load>(argument,
                               [](const ir::Load& load) { return load.buffer->scope == ir::Scope::global; });
    });
  });
}

class Waiting {
 public:
  explicit Waiting(const ir::Program& program) : has_roles_(program.roles.has_value()) {
    for (const auto* list : {&program.buffers, &program.workspaces}) {
      for (const ir::BufferRef& buffer : *list)
        if (ir::is_awaited(program, *buffer)) awaited_.push_back(buffer);
    }
  }

  /// The statement with a wait on each way through it, in front of what touches an awaited buffer.
  Stmt operator()(const Stmt& stmt) const {
    if (!stmt.defined()) return wait();
    if (const auto* block = stmt.as<ir::Sequence>()) return within(*block);
    if (const auto* allocation = stmt.as<ir::Allocate>())
      return ir::allocate(allocation->buffer, (*this)(allocation->body));
    if (const auto* let = stmt.as<ir::Let>(); let != nullptr && !touches(let->value))
      return ir::let(let->name, let->value, (*this)(let->body));
    // Each role where it has to. Other conditions may part a warp, and are asked behind the wait.
    if (const auto* branch = stmt.as<ir::If>();
        has_roles_ && branch != nullptr && branch->otherwise.defined() && !touches(branch->condition)) {
      Waiting of_role = *this;
      of_role.has_roles_ = false;
      return ir::if_then(branch->condition, of_role(branch->then), of_role(branch->otherwise));
    }
    return touches(stmt) ? ir::block({wait(), stmt}) : ir::block({stmt, wait()});
  }

 private:
  using Place = std::vector<Stmt>::iterator;

  static Stmt wait() { return ir::execute("wait_for_launch"); }

  Stmt within(const ir::Sequence& block) const {
    std::vector<Stmt> statements = block.statements;
    const auto first = std::ranges::find_if(statements, [&](const Stmt& each) { return touches(each); });
    if (first == statements.end()) {
      statements.push_back(wait());
    } else if (!asks_first(statements, first)) {
      *first = (*this)(*first);
    }
    return ir::block(std::move(statements));
  }

  /// What is asked for behind the first that touches goes in front of it, with the scopes that it stands in,
  /// as far as it has nothing to do with what it passes. False: there is nothing of that kind.
  bool asks_first(std::vector<Stmt>& statements, Place first) const {
    const Place next = std::find_if(first + 1, statements.end(),
                                    [](const Stmt& each) { return each.as<ir::Barrier>() == nullptr; });
    if (next == statements.end()) return false;
    const Stmt passed = ir::block({first, next});
    const Scopes scopes(*next);
    const auto* block = scopes.inside.as<ir::Sequence>();
    if (block == nullptr || !scopes.may_hold(passed)) return false;
    const auto end =
        std::ranges::find_if(block->statements, [&](const Stmt& each) { return !may_pass(each, passed); });
    std::vector<Stmt> body(block->statements.begin(), end);
    if (!asks(ir::block(body))) return false;
    body.push_back((*this)(*first));
    body.insert(body.end(), first + 1, next);
    body.insert(body.end(), end, block->statements.end());
    *first = scopes.around(ir::block(std::move(body)));
    statements.erase(first + 1, next + 1);
    return true;
  }

  /// Whether a statement can be done before others that stand in front of it.
  bool may_pass(const Stmt& stmt, const Stmt& others) const {
    if (touches(stmt) || keeps_place(stmt)) return false;
    bool apart = true;
    ir::each_access(stmt, [&](const ir::BufferRef& buffer, const std::vector<Expr>&) {
      apart = apart && (buffer->scope == ir::Scope::global || !ir::uses(others, buffer));
    });
    return apart;
  }

  bool touches(const Stmt& stmt) const {
    return std::ranges::any_of(awaited_, [&](const ir::BufferRef& each) { return ir::uses(stmt, each); });
  }
  bool touches(const Expr& expr) const {
    return std::ranges::any_of(awaited_, [&](const ir::BufferRef& each) { return ir::reads(expr, each); });
  }

  bool has_roles_;
  std::vector<ir::BufferRef> awaited_;
};

}  // namespace

ir::Program wait_for_launch(ir::Program program) {
  if (!program.overlap) return program;
  program.body = ir::block({ir::execute("allow_next_launch"), Waiting(program)(program.body)});
  return program;
}

}  // namespace weft::passes
