#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/settled.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace weft::ir {
namespace {

class Verifier {
 public:
  /// `settled`: nullptr for none.
  explicit Verifier(const Program& program, Settled* settled = nullptr)
      : program_(program),
        known_(settled == nullptr ? Settled::Verified() : std::exchange(settled->verified, {})),
        found_(settled == nullptr ? nullptr : &settled->verified) {
    for (const BufferRef& buffer : program.buffers) declare(buffer);
    for (const BufferRef& buffer : program.workspaces) declare(buffer);
    for (const ConstantBuffer& constant : program.constants) {
      declare(constant.buffer);
      const Buffer& buffer = *constant.buffer;
      const std::int64_t* extent = buffer.shape.size() == 1 ? integer_value(buffer.shape[0]) : nullptr;
      require(extent != nullptr && *extent == static_cast<std::int64_t>(constant.numbers.size()) &&
                  buffer.dtype == DType::i32 && buffer.access == Access::read &&
                  buffer.scope == Scope::global,
              "constant {} is no i32 buffer of its numbers", buffer.name);
    }
    for (const Variable& scalar : program.scalars) variables_.insert(scalar.name);
    for (const Variable& extent : program.extents) variables_.insert(extent.name);
    for (const Knob& knob : program.knobs) variables_.insert(knob.name);
  }

  void operator()(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (found_ != nullptr && noted_ == nullptr && was_seen_to(stmt)) return;
    std::visit([&](const auto& node) { statement(node); }, stmt.node().kind());
  }

 private:
  /// The text is made, and the program printed, only where they are shown: both take longer than the check.
  template <class... Parts>
  void require(bool condition, fmt::format_string<Parts...> text, Parts&&... parts) const {
    if (condition) return;
    throw InternalError(fmt::format(text, std::forward<Parts>(parts)...) + " in\n" + print(program_));
  }

  void declare(const BufferRef& buffer) {
    require(buffers_.insert(buffer.get()).second, "buffer {} is declared twice", buffer->name);
    require(names_.insert(buffer->name).second, "two buffers are called {}", buffer->name);
    require(buffer->strides.size() == buffer->shape.size(), "buffer {} lacks a stride", buffer->name);
    require(buffer->swizzle == 0 ||
                (buffer->swizzle > 0 && buffer->swizzle <= 3 && buffer->scope != Scope::registers &&
                 holds_whole_lines(*buffer, buffer->swizzle)),
            "buffer {} cannot be swizzled", buffer->name);
  }

  void check(const Expr& root) {
    visit(root, [&](const Expr& e) {
      if (const auto* v = e.as<Variable>()) use(v->name);
      if (const auto* l = e.as<Load>()) access(l->buffer, l->indices);
    });
  }

  void use(const std::string& variable) {
    require(variables_.count(variable) != 0, "variable {} is not defined", variable);
    if (noted_ != nullptr) noted_->used.insert(variable);
  }

  void define(const std::string& variable) {
    require(variables_.insert(variable).second, "variable {} is defined twice", variable);
    if (noted_ != nullptr) noted_->defined.insert(variable);
  }

  void use(const Buffer& buffer) {
    require(buffers_.count(&buffer) != 0, "buffer {} is not declared", buffer.name);
    if (noted_ != nullptr) noted_->buffers.insert(&buffer);
  }

  void access(const BufferRef& buffer, const std::vector<Expr>& indices) {
    use(*buffer);
    require(indices.size() == buffer->shape.size(), "buffer {} has another rank", buffer->name);
    for (const Expr& index : indices)
      require(index.dtype() == DType::i64, "an index of {} is not an integer", buffer->name);
  }

  /// As checking the block, whose names these are, would.
  void check(const Settled::Names& names) {
    for (const std::string& variable : names.used) use(variable);
    for (const Buffer* buffer : names.buffers) use(*buffer);
    for (const std::string& variable : names.defined) {
      define(variable);
      variables_.erase(variable);
    }
  }

  /// What is declared inside, or bound to an axis, would have to be remembered too.
  static bool has_names_alone(const Stmt& block) {
    bool alone = true;
    visit(block, [&](const Stmt& s) {
      alone = alone && (s.as<Store>() != nullptr || s.as<Let>() != nullptr || s.as<If>() != nullptr ||
                        s.as<Sequence>() != nullptr || s.as<Barrier>() != nullptr);
    });
    return alone;
  }

  /// Checks a block that can be remembered.
  bool was_seen_to(const Stmt& stmt) {
    const auto* block = stmt.as<Sequence>();
    if (block == nullptr || block->statements.size() < long_block) return false;
    if (auto names = known_.extract(stmt.identity()); !names.empty()) {
      check(names.mapped());
      found_->insert(std::move(names));
      return true;
    }
    if (!has_names_alone(stmt)) return false;
    Settled::Names noted{.block = stmt, .used = {}, .defined = {}, .buffers = {}};
    noted_ = &noted;
    for (const Stmt& child : block->statements) (*this)(child);
    noted_ = nullptr;
    for (const std::string& variable : noted.defined) noted.used.erase(variable);
    found_->emplace(stmt.identity(), std::move(noted));
    return true;
  }

  template <class Kind>
  void statement(const Kind& s) {
    each_child(s, overloaded{[this](const Expr& child) { check(child); },
                             [this](const Stmt& child) { (*this)(child); }});
  }
  void statement(const For& s) {
    check(s.begin);
    check(s.extent);
    require(variables_.insert(s.name).second, "loop {} stands inside a loop of that name", s.name);
    const bool single = is_bound(s.kind) || s.kind == LoopKind::vectorized;
    // Nested warp, lane and thread loops share those of a block.
    if (single && !is_within_block(s.kind))
      require(kinds_.insert(s.kind).second, "{} occurs twice in a nest", name_of(s.kind));
    (*this)(s.body);
    if (single) kinds_.erase(s.kind);
    variables_.erase(s.name);
  }
  void statement(const Store& s) {
    statement<Store>(s);
    access(s.buffer, s.indices);
    const bool is_index = !is_float(s.buffer->dtype) && s.value.dtype() == DType::i64;
    require(is_index || s.value.dtype() == s.buffer->dtype, "a value of type {} is stored to {}",
            weft::name_of(s.value.dtype()), s.buffer->name);
    require(s.buffer->scope != Scope::global || s.buffer->access != Access::read, "{} is read only",
            s.buffer->name);
  }
  void statement(const If& s) {
    require(s.condition.dtype() == DType::boolean, "a condition is not a boolean");
    statement<If>(s);
  }
  void statement(const Allocate& s) {
    for (const Expr& extent : s.buffer->shape) check(extent);
    declare(s.buffer);
    (*this)(s.body);
    buffers_.erase(s.buffer.get());
    names_.erase(s.buffer->name);
  }
  void statement(const Let& s) {
    check(s.value);
    define(s.name);
    (*this)(s.body);
    variables_.erase(s.name);
  }
  void statement(const Execute& s) {
    statement<Execute>(s);
    for (const auto* ranges : {&s.results, &s.inputs}) {
      for (const RegisterRange& range : *ranges) {
        access(range.buffer, range.indices);
        require(range.buffer->scope == Scope::registers, "{} is given to {} and is no register",
                range.buffer->name, s.instruction);
      }
    }
  }
  void statement(const SparseProduct& s) {
    std::vector<std::string> names = s.coordinates;
    names.push_back(s.row);
    for (const std::string& name : names) define(name);
    statement<SparseProduct>(s);
    access(s.dense, s.of_dense);
    access(s.sums, s.of_sums);
    for (const std::string& name : names) variables_.erase(name);
    require(SparseProduct::can_read(s.dense->dtype) && s.sums->dtype == DType::f32,
            "a product of {} is not of f32", s.dense->name);
  }
  void statement(const Copy& s) {
    for (const std::string& name : s.coordinates) define(name);
    statement<Copy>(s);
    for (const std::string& name : s.coordinates) variables_.erase(name);
    access(s.source, s.source_begin);
    access(s.destination, s.destination_begin);
    // Copies that run ahead go to several buffers in turn, each of which may have room for two; panels of a
    // CPU lie beside one another.
    const std::size_t numbers = s.destination_begin.size() - s.extents.size();
    const bool gathers = !s.coordinates.empty();
    require(gathers ? s.extents.size() == s.coordinates.size()
                    : s.extents.size() == s.source_begin.size() && numbers <= 2,
            "a copy of {} has another rank", s.source->name);
    require(s.source->dtype == s.destination->dtype, "a copy of {} changes the element type", s.source->name);
  }

  const Program& program_;
  std::set<const Buffer*> buffers_;
  std::set<std::string> names_;
  std::set<std::string> variables_;
  std::set<LoopKind> kinds_;

  Settled::Verified known_;          ///< blocks of the program before
  Settled::Verified* found_;         ///< blocks of this program; nullptr: nobody asks
  Settled::Names* noted_ = nullptr;  ///< those of the long block that is looked at
};

}  // namespace

bool holds_whole_lines(const Buffer& buffer, int swizzle) {
  std::int64_t bytes = element_bytes(buffer);
  for (const Expr& extent : buffer.shape) {
    if (const std::int64_t* number = integer_value(extent)) bytes *= *number;
  }
  return bytes % (std::int64_t{128} << swizzle) == 0;
}

void verify(const Program& program) {
  Verifier{program}(program.body);
}

void verify(const Program& program, Settled& settled) {
  Verifier{program, &settled}(program.body);
}

}  // namespace weft::ir
