#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/proof_places.h>
#include <weft/scheduler/program/launch_sizes.h>

#include <algorithm>
#include <set>

namespace weft::proofs {
namespace {

/// Beyond, a program is code of baked weights, whose accesses are numbers.
constexpr std::size_t most_places = 2000;

class Collector {
 public:
  explicit Collector(const ir::Program& program) : program_(program) {}

  Places take() {
    walk(program_.body);
    return std::move(places_);
  }

 private:
  void walk(const Stmt& stmt) {
    if (!stmt.defined() || !places_.complete) return;
    if (places_.inside.size() > most_places) places_.complete = false;
    std::visit([&](const auto& node) { enter(node); }, stmt.node().kind());
  }

  void enter(const ir::For& loop) {
    read(loop.begin);
    read(loop.extent);
    const Expr variable = ir::variable(loop.name);
    const Scope scope(*this);
    path_.loops.push_back(loop);
    path_.loops.back().body = {};
    path_.conditions.push_back(loop.begin <= variable);
    path_.conditions.push_back(variable < loop.begin + loop.extent);
    walk(loop.body);
  }

  void enter(const ir::Let& let) {
    read(let.value);
    const Scope scope(*this);
    if (let.value.dtype() == DType::i64) {
      path_.conditions.push_back(ir::equal(ir::variable(let.name), let.value));
      path_.lets.emplace_back(let.name, let.value);
    }
    walk(let.body);
  }

  void enter(const ir::If& branch) {
    read(branch.condition);
    const Scope scope(*this);
    path_.conditions.push_back(branch.condition);
    walk(branch.then);
    path_.conditions.back() = ir::unary(ir::UnaryOperator::logical_not, branch.condition);
    walk(branch.otherwise);
  }

  void enter(const ir::Store& store) {
    for (const Expr& index : store.indices) read(index);
    read(store.value);
    access(*store.buffer, store.indices);
    if (!store.accumulate && is_global(store.buffer))
      places_.stores.push_back(
          {path_, store.buffer, store.indices, ir::print(ir::load(store.buffer, store.indices))});
  }

  void enter(const ir::Copy& copy) {
    const Scope scope(*this);
    if (copy.coordinates.empty()) {
      std::vector<Expr> last = copy.destination_begin;
      const std::size_t more = last.size() - copy.extents.size();
      for (std::size_t i = 0; i < copy.extents.size(); ++i)
        last[more + i] = last[more + i] + copy.extents[i] - 1;
      access(*copy.destination, copy.destination_begin);
      access(*copy.destination, last);
      for (const Expr& index : copy.source_begin) read(index);
      return;
    }
    for (std::size_t i = 0; i < copy.coordinates.size(); ++i) {
      const Expr variable = ir::variable(copy.coordinates[i]);
      path_.conditions.push_back(0 <= variable);
      path_.conditions.push_back(variable < copy.extents[i]);
    }
    access(*copy.destination, copy.destination_begin);
    for (const Expr& index : copy.source_begin) read(index);
    if (copy.inside.defined()) {
      read(copy.inside);
      path_.conditions.push_back(copy.inside);
    }
    // A number that the weights hold is read without a question; other places are asked for.
    for (std::size_t i = 0; i < copy.source_begin.size(); ++i) {
      if (copy.source_begin[i].as<ir::Load>() != nullptr)
        inside(copy.source_begin[i], copy.source->shape[i], copy.source->name);
    }
  }

  template <class Other>
  void enter(const Other& other) {
    each_child(other, [&](const Stmt& child) { walk(child); });
  }

  bool is_global(const ir::BufferRef& buffer) const { return buffer->scope == ir::Scope::global; }

  /// The loads of an expression; of a choice, each under its condition.
  void read(const Expr& expr) {
    if (!expr.defined()) return;
    if (const auto* choice = expr.as<ir::Select>()) {
      read(choice->condition);
      const Scope scope(*this);
      path_.conditions.push_back(choice->condition);
      read(choice->when_true);
      path_.conditions.back() = ir::unary(ir::UnaryOperator::logical_not, choice->condition);
      read(choice->when_false);
      return;
    }
    each_child(expr, [&](const Expr& child) { read(child); });
    if (const auto* load = expr.as<ir::Load>()) access(*load->buffer, load->indices);
  }

  void access(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) inside(indices[i], buffer.shape[i], buffer.name);
  }

  /// Once for each index of a buffer: what stands twice under other conditions is claimed where it is first.
  void inside(const Expr& index, const Expr& extent, const std::string& buffer) {
    if (is_last(index, extent, buffer)) return;
    const ir::Linear sum = ir::linear(index);
    const std::int64_t* size = ir::integer_value(extent);
    if (sum.terms.empty() && sum.constant >= 0 && size != nullptr && sum.constant < *size) return;
    const std::string text = "0 <= " + ir::print(index) + " < " + ir::print(extent) + " in " + buffer;
    std::string key = text;
    for (const Expr& condition : path_.conditions) key += "\n" + ir::print(condition);
    last_ = {index, extent, buffer, path_.conditions};
    if (!seen_.insert(std::move(key)).second) return;
    places_.inside.push_back({path_, 0 <= index && index < extent, text});
  }

  /// Whether the index is the one that was seen to last: in written-out code one place of a row follows
  /// another, and a text of each would take most of the time.
  bool is_last(const Expr& index, const Expr& extent, const std::string& buffer) const {
    const auto same_node = [](const Expr& a, const Expr& b) { return a.identity() == b.identity(); };
    return last_.index.defined() && ir::same(index, last_.index) && ir::same(extent, last_.extent) &&
           buffer == last_.buffer && std::ranges::equal(path_.conditions, last_.conditions, same_node);
  }

  /// Leaves the path as it was.
  class Scope {
   public:
    explicit Scope(Collector& all)
        : path_(all.path_),
          conditions_(path_.conditions.size()),
          loops_(path_.loops.size()),
          lets_(path_.lets.size()) {}
    ~Scope() {
      path_.conditions.resize(conditions_);
      path_.loops.resize(loops_);
      path_.lets.resize(lets_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Path& path_;
    std::size_t conditions_, loops_, lets_;
  };

  const ir::Program& program_;
  Path path_;
  Places places_;
  std::set<std::string> seen_;
  struct {
    Expr index, extent;
    std::string buffer;
    std::vector<Expr> conditions;
  } last_;  ///< the last of which a text was made
};

/// Loop variables from an element's indices: an index is a sum of variables, each worth more than all that
/// follow together, or quotients and remainders of them.
class Iteration {
 public:
  Iteration(const StorePlace& store, const WeightFacts& facts) : store_(store), facts_(facts) {}

  std::map<std::string, Expr> operator()(const std::vector<Expr>& target) {
    for (const ir::For& loop : store_.path.loops) {
      const std::int64_t* extent = ir::integer_value(loop.extent);
      if (extent != nullptr && *extent == 1) values_[loop.name] = loop.begin;
    }
    for (std::size_t i = 0; i < target.size(); ++i) solve(store_.indices[i], target[i]);
    // Names stand for values of others: outermost last.
    for (std::size_t turn = 0; turn <= store_.path.lets.size(); ++turn) {
      join_quotients();
      for (auto let = store_.path.lets.rbegin(); let != store_.path.lets.rend(); ++let) {
        const auto found = values_.find(let->first);
        if (found != values_.end() && used_.insert(let->first).second) solve(let->second, found->second);
      }
    }
    for (const ir::For& loop : store_.path.loops)
      values_.try_emplace(loop.name, ir::substitute(loop.begin, values_));
    return values_;
  }

 private:
  void solve(const Expr& expr, const Expr& target) {
    ir::Linear sum = ir::linear(ir::substitute(expr, values_));
    std::erase_if(sum.terms, [](const auto& term) { return term.coefficient < 1; });
    std::ranges::stable_sort(sum.terms, std::greater<>(), &ir::Linear::Term::coefficient);
    Expr rest = target - sum.constant;
    for (std::size_t i = 0; i < sum.terms.size(); ++i) {
      const Expr coefficient = sum.terms[i].coefficient;
      solve_atom(sum.terms[i].atom, rest / coefficient);
      rest = rest % coefficient;
    }
  }

  void solve_atom(const Expr& atom, const Expr& value) {
    if (const auto* variable = atom.as<ir::Variable>()) {
      values_.try_emplace(variable->name, value);
    } else if (const auto* load = atom.as<ir::Load>()) {
      const auto fact = facts_.arrays.find(load->buffer->name);
      if (fact == facts_.arrays.end() || !fact->second.whole.has_value()) return;
      const auto inverse = ir::make_buffer(inverse_of(load->buffer->name), DType::i32, ir::Scope::global,
                                           ir::Access::read, {*fact->second.whole});
      solve(load->indices.front(), ir::load(inverse, {value}));
    } else if (const auto* e = atom.as<ir::Binary>()) {
      const auto* part = e->left.as<ir::Variable>();
      if (part == nullptr && e->op == ir::BinaryOperator::remainder) solve_rotated(*e, value);
      if (part == nullptr) return;
      if (e->op == ir::BinaryOperator::divide) quotients_[part->name] = {value, e->right};
      if (e->op == ir::BinaryOperator::remainder) remainders_[part->name] = {value, e->right};
    }
  }

  /// (x + y) % e, where x has e iterations and y is known: a staggered loop.
  void solve_rotated(const ir::Binary& remainder, const Expr& value) {
    for (const ir::For& loop : store_.path.loops) {
      const Expr rest = ir::linear(remainder.left - ir::variable(loop.name)).expr();
      const bool turns = ir::same(loop.extent, remainder.right) && ir::uses(remainder.left, loop.name);
      if (!turns || ir::uses(rest, loop.name)) continue;
      values_.try_emplace(loop.name, (value - rest) % remainder.right);
      return;
    }
  }

  void join_quotients() {
    for (const auto& [name, quotient] : quotients_) {
      const auto remainder = remainders_.find(name);
      if (remainder != remainders_.end() && ir::same(quotient.second, remainder->second.second))
        values_.try_emplace(name, quotient.first * quotient.second + remainder->second.first);
    }
  }

  const StorePlace& store_;
  const WeightFacts& facts_;
  std::map<std::string, Expr> values_;
  std::map<std::string, std::pair<Expr, Expr>> quotients_, remainders_;
  std::set<std::string> used_;
};

}  // namespace

WeightFacts facts_of(const Algorithm& algorithm, const SparseTensor* weights, const ir::Program& program) {
  WeightFacts facts;
  if (weights != nullptr) facts = LevelFacts(algorithm, *weights, program).take();
  for (const ir::Variable& extent : program.extents) {
    const bool entries =
        weights != nullptr && std::ranges::any_of(weights->arrays(), [&](const auto& array) {
          return extent.name == entries_variable(algorithm.sparse_operand()->name, array.name);
        });
    facts.conditions.push_back((entries ? 0 : 1) <= ir::variable(extent.name));
  }
  return facts;
}

std::string inverse_of(const std::string& buffer) {
  return "place in " + buffer;
}

Places places_of(const ir::Program& program) {
  return Collector(program).take();
}

std::map<std::string, Expr> iteration_of(const StorePlace& store, const std::vector<Expr>& target,
                                         const WeightFacts& facts) {
  return Iteration(store, facts)(target);
}

}  // namespace weft::proofs
