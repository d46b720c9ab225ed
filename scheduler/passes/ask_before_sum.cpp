#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/loads_ahead.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weft::passes {
namespace {

/// Whether the statement has the loop of the sum.
bool waits_for_copies(const Stmt& stmt) {
  return stmt.defined() && ir::any<ir::For>(stmt, [](const ir::For& loop) {
           return ir::any<ir::Execute>(loop.body, [](const ir::Execute& executed) {
             return executed.instruction == "mbarrier_wait";
           });
         });
}

/// What is behind the loop of the sum, with registers in place of loads of what nobody writes: of numbers,
/// and of what each row has one of.
class Results {
 public:
  /// In the statement: what lies around it, behind the sum.
  struct Around {
    ir::Substitution lets;
    std::vector<const ir::For*> unrolled;
    std::set<std::string> others;  ///< variables that have no value before the sum
    bool guarded = false;          ///< a condition stands around it
  };

  Stmt operator()(const Stmt& stmt, Around around) {
    if (!stmt.defined()) return stmt;
    if (const auto* branch = stmt.as<ir::If>()) {
      const Expr condition = asked_in(branch->condition, around, false);
      around.guarded = true;
      return ir::if_then(condition, (*this)(branch->then, around), (*this)(branch->otherwise, around));
    }
    if (const auto* let = stmt.as<ir::Let>()) {
      around.lets[let->name] = ir::substitute(let->value, around.lets);
    } else if (const auto* loop = stmt.as<ir::For>()) {
      const bool written_out = loop->kind == LoopKind::unrolled && ir::integer_value(loop->extent) != nullptr;
      if (written_out)
        around.unrolled.push_back(loop);
      else
        around.others.insert(loop->name);
    } else if (const auto* store = stmt.as<ir::Store>()) {
      return in_store(*store, around);
    }
    return with_children(stmt, [&](const Stmt& child) { return (*this)(child, around); });
  }

  /// The loads, before the sum, and `body` where the registers live.
  Stmt before(const Stmt& body) const {
    std::vector<Stmt> statements = asked_;
    statements.push_back(body);
    Stmt result = ir::block(std::move(statements));
    for (const ir::BufferRef& buffer : registers_) result = ir::allocate(buffer, result);
    return result;
  }
  bool empty() const { return registers_.empty(); }

 private:
  Stmt in_store(const ir::Store& store, const Around& around) {
    std::vector<Expr> indices = store.indices;
    for (Expr& index : indices) index = asked_in(index, around, false);
    return ir::store(store.buffer, indices, asked_in(store.value, around, true), store.accumulate);
  }

  Expr asked_in(const Expr& expr, const Around& around, bool is_value) {
    return ir::rewrite<ir::Load>(expr, [&](const ir::Load& load, const Expr& e) {
      const bool is_of_row = is_value && load.indices.size() == 1;
      return is_of_row || !is_float(load.buffer->dtype) ? in_registers(load, e, around) : e;
    });
  }

  /// What is read where the condition around it holds, as it can be read in any case: some other element
  /// where it does not.
  static Expr anyway(const Expr& place) {
    const auto& load = *place.as<ir::Load>();
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < load.indices.size(); ++i)
      indices.push_back(moved_inside(*load.buffer, i, load.indices[i], {}));
    return ir::load(load.buffer, indices);
  }

  Expr in_registers(const ir::Load& load, const Expr& e, const Around& around) {
    const ir::Buffer& buffer = *load.buffer;
    if (buffer.scope != ir::Scope::global || buffer.access != ir::Access::read) return e;
    Expr place = ir::substitute(e, around.lets);
    const auto is_known = [&](const Expr& each) { return ir::same(each, place); };
    if (around.guarded && std::ranges::none_of(places_, is_known)) place = anyway(place);
    const auto uses = [&](const std::string& name) { return ir::uses(place, name); };
    if (std::ranges::any_of(around.others, uses)) return e;
    std::vector<Expr> indices, extents;
    std::vector<ir::For> loops;
    for (const ir::For* loop : around.unrolled) {
      if (!uses(loop->name)) continue;
      indices.push_back(ir::variable(loop->name) - loop->begin);
      extents.push_back(loop->extent);
      loops.push_back(*loop);
    }
    const auto known = std::ranges::find_if(places_, is_known);
    const auto number = static_cast<std::size_t>(known - places_.begin());
    if (known == places_.end()) {
      places_.push_back(place);
      registers_.push_back(ir::make_buffer(buffer.name + ".asked" + std::to_string(number), buffer.dtype,
                                           ir::Scope::registers, ir::Access::read_write, extents));
      asked_.push_back(ir::for_loops(loops, ir::store(registers_.back(), indices, place)));
    }
    return ir::load(registers_[number], indices);
  }

  std::vector<Expr> places_;
  std::vector<ir::BufferRef> registers_;
  std::vector<Stmt> asked_;
};

}  // namespace

ir::Program ask_before_sum(ir::Program program) {
  if (!program.roles) return program;
  program.body = ir::rewrite<ir::Sequence>(program.body, [](const ir::Sequence& block, const Stmt& s) {
    const auto sum = std::ranges::find_if(block.statements, waits_for_copies);
    if (sum == block.statements.end()) return s;
    Results results;
    std::vector<Stmt> statements(block.statements.begin(), sum + 1);
    for (auto behind = sum + 1; behind != block.statements.end(); ++behind)
      statements.push_back(results(*behind, {}));
    return results.empty() ? s : results.before(ir::block(std::move(statements)));
  });
  return program;
}

}  // namespace weft::passes
