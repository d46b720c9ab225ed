// Where launches overlap, a kernel waits for the launch in front of it. The hardware's rules: a launch whose
// host asked for it may begin once every block of the one in front has executed allow_next_launch or ended,
// and wait_for_launch returns once that one has ended and what it wrote can be seen.
//
// Why it is right that the next launch may begin at once, however many have: a thread waits before it touches
// what another launch may write or still read, operands, results and workspaces alike. The wait of launch i +
// 1 is for launch i alone; but a thread of launch i waits for i - 1 on every path, so that i has not ended
// before i - 1 has. That is why no path may go round the wait, be there anything to do on it or not. All
// blocks run when the next launch begins, so that its waiting blocks take the place of none that they wait
// for. What is read before, the weights, no launch writes.
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>

namespace weft::passes {
namespace {

class Waiting {
 public:
  explicit Waiting(const ir::Program& program) {
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
    // Each of two roles where it has to. Another condition is asked behind the wait, which does not part a
    // warp.
    if (const auto* branch = stmt.as<ir::If>();
        branch != nullptr && branch->otherwise.defined() && !touches(branch->condition))
      return ir::if_then(branch->condition, (*this)(branch->then), (*this)(branch->otherwise));
    return touches(stmt) ? ir::block({wait(), stmt}) : ir::block({stmt, wait()});
  }

 private:
  static Stmt wait() { return ir::execute("wait_for_launch"); }

  Stmt within(const ir::Sequence& block) const {
    std::vector<Stmt> statements = block.statements;
    const auto first = std::ranges::find_if(statements, [&](const Stmt& each) { return touches(each); });
    if (first == statements.end())
      statements.push_back(wait());
    else
      *first = (*this)(*first);
    return ir::block(std::move(statements));
  }

  bool touches(const Stmt& stmt) const {
    return std::ranges::any_of(awaited_, [&](const ir::BufferRef& each) { return ir::uses(stmt, each); });
  }
  bool touches(const Expr& expr) const {
    return std::ranges::any_of(awaited_, [&](const ir::BufferRef& each) { return ir::reads(expr, each); });
  }

  std::vector<ir::BufferRef> awaited_;
};

}  // namespace

ir::Program wait_for_launch(ir::Program program) {
  if (!program.overlap) return program;
  program.body = ir::block({ir::execute("allow_next_launch"), Waiting(program)(program.body)});
  return program;
}

}  // namespace weft::passes
