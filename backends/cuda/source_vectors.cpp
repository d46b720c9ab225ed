#include <weft/backends/cuda/certainty.h>
#include <weft/backends/cuda/source_expression.h>
#include <weft/backends/cuda/source_vectors.h>
#include <weft/scheduler/ir/simplify.h>

#include <algorithm>
#include <numeric>

namespace weft::cuda {
namespace {

/// Addresses of buffers, arguments and shared ones, are multiples of it.
constexpr std::int64_t most_aligned_bytes = 16;

/// The stores that are the whole body, or nothing.
std::vector<const ir::Store*> stores_of(const ir::Stmt& body) {
  if (const auto* store = body.as<ir::Store>()) return {store};
  std::vector<const ir::Store*> stores;
  const auto* block = body.as<ir::Sequence>();
  if (block == nullptr) return {};
  for (const ir::Stmt& child : block->statements) {
    const auto* store = child.as<ir::Store>();
    if (store == nullptr) return {};
    stores.push_back(store);
  }
  return stores;
}

/// Loads that every iteration makes, and those that stand in a branch of a Select.
struct Loads {
  std::vector<const ir::Load*> certain;
  std::vector<const ir::Load*> possible;

  void add(const ir::Expr& expr, bool is_certain) {
    visit_with_certainty(expr, is_certain, [this](const ir::Expr& part, bool sure) {
      if (const auto* load = part.as<ir::Load>()) (sure ? certain : possible).push_back(load);
    });
  }
};

class Planner {
 public:
  Planner(const ir::For& loop, const ir::Substitution& known) : loop_(loop), known_(known) {}

  std::vector<VectorAccess> plan() {
    const auto stores = stores_of(loop_.body);
    for (const ir::Store* store : stores) {
      loads_.add(store->value, true);
      for (const ir::Expr& index : store->indices) loads_.add(index, true);
    }
    for (const ir::Load* load : loads_.certain) {
      if (written_by(stores, load->buffer) == 0) add(load->buffer, load->indices, true, false);
    }
    for (const ir::Store* store : stores) {
      if (written_by(stores, store->buffer) != 1 || (store->accumulate && store->buffer->between_blocks))
        continue;
      const auto reads = read_in(*store);
      if (reads) add(store->buffer, store->indices, *reads, true);
    }
    return std::move(accesses_);
  }

 private:
  static std::int64_t written_by(const std::vector<const ir::Store*>& stores, const ir::BufferRef& buffer) {
    return std::ranges::count_if(stores, [&](const ir::Store* s) { return s->buffer == buffer; });
  }

  /// Whether the store's own value reads what it writes; nothing where its buffer is read anywhere else.
  std::optional<bool> read_in(const ir::Store& store) const {
    const ir::Expr offset = ir::offset_of(*store.buffer, store.indices);
    Loads own;
    own.add(store.value, true);
    bool reads = store.accumulate;
    const auto here = [&](const ir::Load* load) {
      return std::ranges::find(own.certain, load) != own.certain.end() &&
             ir::same(ir::offset_of(*load->buffer, load->indices), offset);
    };
    for (const auto* list : {&loads_.certain, &loads_.possible}) {
      for (const ir::Load* load : *list) {
        if (load->buffer != store.buffer) continue;
        if (!here(load)) return std::nullopt;
        reads = true;
      }
    }
    return reads;
  }

  void add(const ir::BufferRef& buffer, const std::vector<ir::Expr>& indices, bool is_read, bool is_written) {
    if (buffer->scope == ir::Scope::registers) return;
    const ir::Expr offset = ir::offset_of(*buffer, indices);
    for (VectorAccess& each : accesses_) {
      if (each.buffer != buffer || !ir::same(each.offset, offset)) continue;
      each.is_read = each.is_read || is_read;
      each.is_written = each.is_written || is_written;
      return;
    }
    if (is_aligned_run(*buffer, offset)) accesses_.push_back({buffer, indices, offset, is_read, is_written});
  }

  bool is_aligned_run(const ir::Buffer& buffer, const ir::Expr& offset) const {
    const auto size = static_cast<std::int64_t>(size_of(buffer.dtype));
    const std::int64_t lanes = *ir::integer_value(loop_.extent);
    const std::int64_t bytes = lanes * size;
    if (buffer.swizzle != 0 && bytes > most_aligned_bytes) return false;
    if (lanes < 2 || (bytes != 4 && bytes != 8 && bytes % most_aligned_bytes != 0)) return false;
    const ir::Linear sum = ir::linear(ir::substitute(offset, known_));
    if (sum.coefficient_of(loop_.name) != 1) return false;
    const ir::Expr begin = ir::substitute(loop_.begin, known_);
    const ir::Linear first = ir::linear(ir::substitute(sum.expr(), {{loop_.name, begin}}));
    std::int64_t divisor = first.constant;
    for (const ir::Linear::Term& term : sum.terms) {
      const bool plain = term.atom.as<ir::Variable>() != nullptr;
      if (!plain && ir::uses(term.atom, loop_.name)) return false;
    }
    for (const ir::Linear::Term& term : first.terms) divisor = std::gcd(divisor, term.coefficient);
    return divisor * size % std::min(bytes, most_aligned_bytes) == 0;
  }

  const ir::For& loop_;
  const ir::Substitution& known_;
  Loads loads_;
  std::vector<VectorAccess> accesses_;
};

}  // namespace

std::vector<VectorAccess> vector_accesses(const ir::For& loop, const ir::Substitution& known) {
  if (ir::integer_value(loop.extent) == nullptr) return {};
  return Planner(loop, known).plan();
}

}  // namespace weft::cuda
