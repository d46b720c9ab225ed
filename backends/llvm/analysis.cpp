#include <fmt/format.h>
#include <weft/backends/llvm/analysis.h>
#include <weft/scheduler/ir/agreement.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

namespace weft::llvm_backend {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 40;

/// One use of a buffer in the body of a vectorized loop, or several of the same place.
struct Use {
  bool affine = false;  ///< offset = rest + lane_stride * lane, the rest the same in all lanes
  std::int64_t lane_stride = 0;
  ir::Linear rest;
  bool is_store = false;
};

struct UsesOfBuffer {
  std::size_t count = 0;
  std::map<std::string, Use> places;  ///< by their text: long programs use few places often
};

/// A store, and what its place is.
struct StoreUse {
  const ir::Store* store = nullptr;
  Use use;
};

/// Collects the uses of buffers, or finds that the loop has no vector form.
class UseCollector {
 public:
  UseCollector(const ir::For& loop, ir::Substitution known) : variable_(loop.name), known_(std::move(known)) {
    varying_.insert(loop.name);
    possible_ = collect(loop.body);
  }

  bool possible() const { return possible_; }
  const std::map<const ir::Buffer*, UsesOfBuffer>& uses() const { return uses_; }
  const std::vector<StoreUse>& stores() const { return stores_; }
  bool varies(const ir::Expr& expr) const { return differs(expr, varying_); }

 private:
  bool collect(const ir::Stmt& stmt) {
    if (!stmt.defined()) return true;
    return std::visit([this](const auto& node) { return of(node); }, stmt.node().kind());
  }

  bool of(const ir::For& s) {
    const bool in_order = s.kind == LoopKind::serial || s.kind == LoopKind::unrolled;
    if (!in_order || varies(s.begin) || varies(s.extent)) return false;
    loads_of(s.begin);
    loads_of(s.extent);
    return collect(s.body);
  }
  bool of(const ir::Store& s) {
    for (const ir::Expr& index : s.indices) loads_of(index);
    loads_of(s.value);
    add(s.buffer, s.indices, &s);
    return true;
  }
  bool of(const ir::Sequence& s) {
    return std::ranges::all_of(s.statements, [this](const ir::Stmt& child) { return collect(child); });
  }
  bool of(const ir::If& s) {
    loads_of(s.condition);
    return collect(s.then) && collect(s.otherwise);
  }
  bool of(const ir::Let& s) {
    loads_of(s.value);
    if (varies(s.value)) varying_.insert(s.name);
    if (!is_float(s.value.dtype()) && !ir::reads_memory(s.value))
      known_[s.name] = ir::substitute(s.value, known_);
    return collect(s.body);
  }
  bool of(const ir::SparseProduct& s) {
    add(s.dense, s.of_dense, nullptr);
    add(s.sums, s.of_sums, &sums_.emplace_back(s.sums, s.of_sums, ir::Expr(), true));
    return true;
  }
  bool of(const auto&) { return false; }

  void loads_of(const ir::Expr& expr) {
    ir::visit(expr, [this](const ir::Expr& e) {
      if (const auto* load = e.as<ir::Load>()) add(load->buffer, load->indices, nullptr);
    });
  }

  void add(const ir::BufferRef& buffer, const std::vector<ir::Expr>& indices, const ir::Store* store) {
    Use use{true, 0, ir::linear(ir::substitute(ir::offset_of(*buffer, indices), known_)), store != nullptr};
    use.lane_stride = use.rest.coefficient_of(variable_);
    std::erase_if(use.rest.terms, [this](const ir::Linear::Term& term) {
      const auto* v = term.atom.as<ir::Variable>();
      return v != nullptr && v->name == variable_;
    });
    use.affine = std::ranges::none_of(use.rest.terms,
                                      [this](const ir::Linear::Term& term) { return varies(term.atom); });
    UsesOfBuffer& uses = uses_[buffer.get()];
    ++uses.count;
    Use& place =
        uses.places.try_emplace(fmt::format("{} {}", use.lane_stride, ir::print(use.rest.expr())), use)
            .first->second;
    place.is_store = place.is_store || use.is_store;
    if (store != nullptr) stores_.push_back({store, std::move(use)});
  }

  std::string variable_;
  ir::Substitution known_;
  std::set<std::string> varying_;
  std::map<const ir::Buffer*, UsesOfBuffer> uses_;
  std::vector<StoreUse> stores_;
  std::deque<ir::Store> sums_;  ///< what products add to
  bool possible_ = false;
};

/// Whether lane i of one use and another lane of the other can meet in one element. Terms that are left after
/// subtraction can be any multiple of their common divisor.
bool lanes_meet(const Use& a, const Use& b, std::int64_t lanes) {
  if (!a.affine || !b.affine || a.lane_stride != b.lane_stride) return true;
  const ir::Linear difference = ir::linear(a.rest.expr() - b.rest.expr());
  std::int64_t step = 0;
  for (const ir::Linear::Term& term : difference.terms) step = std::gcd(step, term.coefficient);
  for (std::int64_t distance = 1 - lanes; distance < lanes; ++distance) {
    if (distance == 0) continue;
    const std::int64_t gap = a.lane_stride * distance - difference.constant;
    if (step == 0 ? gap == 0 : gap % step == 0) return true;
  }
  return false;
}

/// Lanes may write one element: the last one wins, which is right as long as none of them looks.
bool store_is_safe(const StoreUse& each, const UseCollector& collected) {
  const bool one_element = each.use.affine && each.use.lane_stride == 0;
  if (each.use.affine && !one_element) return true;
  if (each.store->accumulate || (one_element && collected.varies(each.store->value))) return false;
  return collected.uses().at(each.store->buffer.get()).count == 1;
}

/// Whether one lane may see, in elements that each lane has of its own, what another one stores.
bool lanes_meet(const UsesOfBuffer& uses, std::int64_t lanes) {
  return std::ranges::any_of(uses.places, [&](const auto& entry) {
    const Use& store = entry.second;
    if (!store.is_store || !store.affine || store.lane_stride == 0) return false;
    return std::ranges::any_of(uses.places,
                               [&](const auto& other) { return lanes_meet(store, other.second, lanes); });
  });
}

}  // namespace

bool differs(const ir::Expr& expr, const std::set<std::string>& varying) {
  return !ir::agree(expr, {.agree_on = [&](const std::string& name) { return varying.count(name) == 0; },
                           .threads = 1,
                           .agree_on_reads = true});
}

std::string first_lane_of(const std::string& variable) {
  return variable + "#first";
}

Access classify(const ir::Expr& offset, const VectorLoop& loop) {
  const ir::Linear sum = ir::linear(ir::substitute(offset, loop.known));
  std::set<std::string> varying = loop.varying;
  varying.insert(loop.variable);
  const std::int64_t stride = sum.coefficient_of(loop.variable);
  for (const ir::Linear::Term& term : sum.terms) {
    const auto* v = term.atom.as<ir::Variable>();
    if ((v == nullptr || v->name != loop.variable) && differs(term.atom, varying)) return {};
  }
  if (stride < 0 || stride > 2) return {};
  if (stride == 2) return {Pattern::every_second};
  const ir::Linear first =
      ir::linear(ir::substitute(sum.expr(), {{loop.variable, ir::substitute(loop.first, loop.known)}}));
  std::int64_t alignment = first.constant;
  for (const ir::Linear::Term& term : first.terms) alignment = std::gcd(alignment, term.coefficient);
  // Zero is a multiple of everything; 4096 stands for that.
  alignment = alignment == 0 ? 4096 : std::min<std::int64_t>(alignment & -alignment, 4096);
  return {stride == 0 ? Pattern::uniform : Pattern::contiguous, alignment};
}

bool can_run_together(const ir::For& loop, const ir::Substitution& known) {
  const UseCollector collected(loop, known);
  if (!collected.possible()) return false;
  const std::int64_t lanes = *ir::integer_value(loop.extent);
  return std::ranges::all_of(collected.stores(),
                             [&](const StoreUse& store) { return store_is_safe(store, collected); }) &&
         std::ranges::none_of(collected.uses(),
                              [&](const auto& entry) { return lanes_meet(entry.second, lanes); });
}

bool is_lazy(const ir::Expr& expr) {
  bool found = ir::reads_memory(expr);
  ir::visit(expr, [&](const ir::Expr& e) {
    const auto* binary = e.as<ir::Binary>();
    const bool divides =
        binary != nullptr && !is_float(binary->left.dtype()) &&
        (binary->op == ir::BinaryOperator::divide || binary->op == ir::BinaryOperator::remainder);
    found = found || (divides && ir::integer_value(binary->right) == nullptr);
  });
  return found;
}

std::int64_t nodes_of(const ir::Expr& expr) {
  std::int64_t count = 1;
  each_child(expr, [&](const ir::Expr& child) { count += nodes_of(child); });
  return count;
}

std::int64_t emitted_size(const ir::Stmt& stmt) {
  if (!stmt.defined()) return 0;
  std::int64_t size = 1;
  if (const auto* loop = stmt.as<ir::For>()) {
    const std::int64_t* extent = ir::integer_value(loop->extent);
    const std::int64_t copies = loop->kind == LoopKind::unrolled && extent != nullptr ? *extent : 1;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(emitted_size(loop->body), copies, &product)) return largest_size;
    size += product;
  } else if (stmt.as<ir::Execute>() == nullptr && stmt.as<ir::Copy>() == nullptr) {
    // An instruction with effects is one node, whatever its operands are.
    each_child(stmt, ir::overloaded{[&](const ir::Expr& child) { size += nodes_of(child); },
                                    [&](const ir::Stmt& child) { size += emitted_size(child); }});
  }
  return std::min(size, largest_size);
}

Uses::Uses(const ir::Stmt& body) {
  std::set<const ir::Buffer*> own;
  const auto add = [&](const ir::BufferRef& buffer) {
    if (touched.insert(buffer.get()).second) buffers.push_back(buffer);
  };
  const auto on_stmt = [&](const ir::Stmt& s) {
    each_child(s, add);
    const auto* allocation = s.as<ir::Allocate>();
    if (allocation != nullptr && allocation->buffer->scope == ir::Scope::registers)
      own.insert(allocation->buffer.get());
  };
  const auto on_expr = [&](const ir::Expr& e) {
    each_child(e, add);
    if (const auto* variable = e.as<ir::Variable>()) variables.insert(variable->name);
  };
  ir::visit(body, on_stmt, on_expr);
  for (const ir::BufferRef& buffer : std::vector(buffers)) {
    for (const ir::Expr& stride : buffer->strides) ir::visit(stride, on_expr);
  }
  std::erase_if(buffers, [&](const ir::BufferRef& buffer) { return own.contains(buffer.get()); });
}

}  // namespace weft::llvm_backend
