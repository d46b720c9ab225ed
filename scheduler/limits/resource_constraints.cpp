#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/passes/word_gather.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace weft {
namespace {

/// A number that divides the expression whatever the knobs are.
std::int64_t divisor_of(const ir::Program& program, const Expr& expr) {
  if (const std::int64_t* value = ir::integer_value(expr)) return *value;
  if (const auto* variable = expr.as<ir::Variable>()) {
    std::int64_t divisor = 0;
    for (const ir::Knob& knob : program.knobs) {
      if (knob.name != variable->name) continue;
      for (const std::int64_t value : knob.values) divisor = std::gcd(divisor, value);
    }
    return std::max<std::int64_t>(divisor, 1);
  }
  const auto* binary = expr.as<ir::Binary>();
  if (binary == nullptr) return 1;
  const std::int64_t left = divisor_of(program, binary->left);
  const std::int64_t right = divisor_of(program, binary->right);
  std::int64_t product = 0;
  if (binary->op == ir::BinaryOperator::add) return std::gcd(left, right);
  if (binary->op == ir::BinaryOperator::multiply && !__builtin_mul_overflow(left, right, &product))
    return product;
  return 1;
}

Expr rounded_up(const ir::Program& program, const Expr& expr, std::int64_t unit) {
  return divisor_of(program, expr) % unit == 0 ? expr : ir::ceil_divide(expr, unit) * unit;
}

/// Constants last, so that products of several fold.
Expr times(const Expr& a, const Expr& b) {
  return ir::integer_value(a) != nullptr ? b * a : a * b;
}

Expr elements_of(const std::vector<Expr>& shape) {
  Expr count = 1;
  for (const Expr& extent : shape) count = times(extent, count);
  return count;
}

Expr larger(const Expr& a, const Expr& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  return ir::same(a, b) ? a : ir::maximum(a, b);
}

/// The extent of an axis: loops inside one another multiply, loops beside one another share it. Undefined
/// where the axis has no loop.
Expr axis_extent(const Stmt& stmt, LoopKind axis) {
  Expr inside;
  each_child(stmt, [&](const Stmt& child) { inside = larger(inside, axis_extent(child, axis)); });
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr || loop->kind != axis) return inside;
  return inside.defined() ? times(loop->extent, inside) : loop->extent;
}

using Buffers = std::vector<const ir::Allocate*>;

/// Buffers of a scope, or of all where none is named, that live at the same time, one list for each place
/// that adds none.
void collect_alive(const Stmt& stmt, std::optional<ir::Scope> scope, Buffers& around,
                   std::vector<Buffers>& lists) {
  const auto* allocation = stmt.as<ir::Allocate>();
  const bool counts = allocation != nullptr && (!scope || allocation->buffer->scope == *scope);
  if (counts) around.push_back(allocation);
  const std::size_t before = lists.size();
  each_child(stmt, [&](const Stmt& child) { collect_alive(child, scope, around, lists); });
  if (counts && lists.size() == before) lists.push_back(around);
  if (counts) around.pop_back();
}

/// The statement without what instructions of the table do on fragments, of which each thread has its own.
Stmt without_tensor_operations(const Stmt& stmt) {
  return ir::rewrite<ir::TensorOperation>(stmt, [](const ir::TensorOperation&) { return Stmt(); });
}

class Constraints {
 public:
  Constraints(const ir::Program& program, const Target& target, std::int64_t resident_blocks)
      : program_(program), target_(target), resident_blocks_(resident_blocks) {
    ir::each<ir::For>(program.body, [&](const ir::For& loop) {
      if (ir::is_within_block(loop.kind)) thread_extents_[loop.name] = loop.extent;
    });
  }

  std::vector<Constraint> on_gpu() {
    threads_ = threads_per_block_of(program_);
    const Expr lanes = axis_extent(program_.body, LoopKind::lane);
    const Expr warps = axis_extent(program_.body, LoopKind::warp);
    add({"lanes", "lanes of a warp", "lanes", lanes, 32, {}});
    add({"warps", "warps of a block", "warps", warps, target_.threads_per_block / 32, {}});
    add({"threads", "threads of a block", "threads", threads_, target_.threads_per_block, {}});
    add_grid();
    add_shared();
    add_registers();
    return std::move(list_);
  }

  std::vector<Constraint> on_cpu() {
    ir::each<ir::Allocate>(program_.body, [&](const ir::Allocate& allocation) {
      const ir::Buffer& buffer = *allocation.buffer;
      add({unique("local array " + buffer.name),
           "bytes of a local array",
           "B",
           bytes_of(buffer, buffer.shape),
           local_array_bytes,
           {}});
    });
    return std::move(list_);
  }

  /// The arrays of a CPU thread that live at the same time.
  std::vector<Constraint> local_memory() {
    std::vector<Buffers> lists;
    Buffers around;
    collect_alive(program_.body, std::nullopt, around, lists);
    for (const Buffers& alive : lists) {
      Sum bytes;
      for (const ir::Allocate* allocation : alive)
        add_to(bytes, allocation->buffer->name, bytes_of(*allocation->buffer, allocation->buffer->shape));
      add({unique("local memory"), "bytes of the local arrays of a thread", "B", bytes.total,
           local_memory_bytes, bytes.parts});
    }
    return std::move(list_);
  }

 private:
  /// Leaves out what is known only at launch.
  void add(Constraint constraint) {
    if (constraint.left.defined() && ir::is_constant(program_, constraint.left))
      list_.push_back(std::move(constraint));
  }

  /// What several buffers take together; undefined where there are none.
  struct Sum {
    Expr total;
    std::vector<std::pair<std::string, Expr>> parts;
  };
  /// Leaves out what is known only at launch.
  void add_to(Sum& sum, const std::string& name, const Expr& number) const {
    if (!ir::is_constant(program_, number)) return;
    sum.parts.emplace_back(name, number);
    sum.total = sum.total.defined() ? sum.total + number : number;
  }

  static Expr bytes_of(const ir::Buffer& buffer, const std::vector<Expr>& shape) {
    return times(elements_of(shape), ir::element_bytes(buffer));
  }

  void add_grid() {
    constexpr std::int64_t largest_x = (std::int64_t{1} << 31) - 1;
    const auto extent = [&](LoopKind axis) { return axis_extent(program_.body, axis); };
    add({"grid x", "blocks along x", "blocks", extent(LoopKind::block_x), largest_x, {}});
    add({"grid y", "blocks along y", "blocks", extent(LoopKind::block_y), 65535, {}});
    add({"grid z", "blocks along z", "blocks", extent(LoopKind::block_z), 65535, {}});
  }

  void add_shared() {
    Sum bytes;
    auto& [total, parts] = bytes;
    ir::each<ir::Allocate>(program_.body, [&](const ir::Allocate& allocation) {
      const ir::Buffer& buffer = *allocation.buffer;
      if (buffer.scope == ir::Scope::shared)
        add_to(bytes, buffer.name, rounded_up(program_, bytes_of(buffer, buffer.shape), 16));
    });
    if (!total.defined()) return;
    if (program_.roles) {
      ir::each<ir::Copy>(program_.body, [&](const ir::Copy& copy) {
        if (!passes::is_by_words(copy)) return;
        Expr bytes_of_tile = 1;
        for (const Expr& extent : copy.extents) bytes_of_tile = times(bytes_of_tile, extent);
        add_to(bytes, copy.destination->name + ".rows",
               times(ir::minimum(bytes_of_tile, passes::WordGather::most_bytes_ahead),
                     program_.roles->producers));
      });
      // Two memory barriers of 8 bytes for each of up to 8 buffers.
      constexpr std::int64_t barrier_bytes = 128;
      parts.emplace_back("barriers", barrier_bytes);
      total = total + barrier_bytes;
    }
    add({"shared memory", "bytes of shared memory of a block", "B", total, target_.shared_bytes_per_block,
         parts});
    // One block alone fits whenever the limit of a block holds.
    if (resident_blocks_ <= 1) return;
    parts.emplace_back("system", target_.shared_bytes_reserved);
    add({"shared memory of a multiprocessor",
         fmt::format("bytes of shared memory of {} blocks", resident_blocks_),
         "B",
         times(total + target_.shared_bytes_reserved, resident_blocks_),
         target_.shared_bytes_per_multiprocessor,
         {}});
  }

  /// Dimensions that threads share out among themselves, as the pass that makes registers private will find.
  std::vector<Expr> shape_of_a_thread(const ir::Allocate& allocation) const {
    const ir::BufferRef& buffer = allocation.buffer;
    std::vector<std::optional<std::string>> shared_out(buffer->shape.size());
    std::vector<bool> disagree(buffer->shape.size(), false);
    const Stmt by_threads = without_tensor_operations(allocation.body);
    ir::each_access(by_threads, [&](const ir::BufferRef& used, const std::vector<Expr>& indices) {
      for (std::size_t i = 0; used == buffer && i < indices.size(); ++i) {
        const auto* variable = indices[i].as<ir::Variable>();
        const bool thread = variable != nullptr && thread_extent(variable->name).defined();
        disagree[i] = disagree[i] || !thread || (shared_out[i] && *shared_out[i] != variable->name);
        if (thread) shared_out[i] = variable->name;
      }
    });
    std::vector<Expr> shape;
    for (std::size_t i = 0; i < buffer->shape.size(); ++i) {
      if (!shared_out[i] || disagree[i]) {
        shape.push_back(buffer->shape[i]);
      } else if (const Expr extent = thread_extent(*shared_out[i]); !ir::same(extent, buffer->shape[i])) {
        shape.push_back(ir::ceil_divide(buffer->shape[i], extent));
      }
    }
    return shape;
  }

  Expr thread_extent(const std::string& loop_name) const {
    const auto found = thread_extents_.find(loop_name);
    return found == thread_extents_.end() ? Expr() : found->second;
  }

  void add_registers() {
    std::vector<Buffers> lists;
    Buffers around;
    collect_alive(program_.body, ir::Scope::registers, around, lists);
    Expr most;
    for (const Buffers& alive : lists) {
      const auto [total, parts] = registers_of(alive);
      if (!total.defined()) continue;
      // Lists differ in their innermost buffer.
      const std::string name =
          lists.size() == 1 ? "registers" : fmt::format("registers of {}", parts.back().first);
      add({unique(name),
           fmt::format("32-bit registers of a thread, {} of them kept for addresses", reserved_registers),
           "registers", total, target_.registers_per_thread - reserved_registers, parts});
      most = larger(most, total);
    }
    add_multiprocessor(most);
  }

  Sum registers_of(const Buffers& alive) const {
    Sum registers;
    for (const ir::Allocate* allocation : alive) {
      const Expr bytes = bytes_of(*allocation->buffer, shape_of_a_thread(*allocation));
      add_to(registers, allocation->buffer->name,
             divisor_of(program_, bytes) % 4 == 0 ? bytes / 4 : ir::ceil_divide(bytes, 4));
    }
    return registers;
  }

  std::string unique(const std::string& name) const {
    std::string result = name;
    for (int copy = 2; std::ranges::find(list_, result, &Constraint::name) != list_.end(); ++copy)
      result = fmt::format("{} ({})", name, copy);
    return result;
  }

  /// Hardware hands out registers in eights to each thread of whole warps.
  void add_multiprocessor(const Expr& registers) {
    if (!threads_.defined() || !ir::is_constant(program_, threads_)) return;
    const Expr whole_warps = rounded_up(program_, threads_, 32);
    if (registers.defined() && resident_blocks_ <= 1 && program_.roles &&
        program_.roles->consumer_registers > 0) {
      // What all threads have then is for the step to check that gave them roles.
      add({"registers of a consumer",
           fmt::format("32-bit registers of a thread, {} of them kept for addresses", reserved_registers),
           "registers",
           registers,
           program_.roles->consumer_registers - reserved_registers,
           {}});
    } else if (registers.defined()) {
      const Expr each = rounded_up(program_, registers + reserved_registers, 8);
      add({"registers of a multiprocessor",
           fmt::format("32-bit registers of {}", blocks_text()),
           "registers",
           times(times(each, whole_warps), resident_blocks_),
           target_.registers_per_multiprocessor,
           {}});
    }
    if (resident_blocks_ <= 1) return;
    add({"threads of a multiprocessor",
         fmt::format("threads of {}", blocks_text()),
         "threads",
         times(whole_warps, resident_blocks_),
         target_.threads_per_multiprocessor,
         {}});
    add({"blocks of a multiprocessor",
         "blocks",
         "blocks",
         resident_blocks_,
         target_.blocks_per_multiprocessor,
         {}});
  }

  std::string blocks_text() const {
    return resident_blocks_ == 1 ? "a block" : fmt::format("{} blocks", resident_blocks_);
  }

  const ir::Program& program_;
  const Target& target_;
  std::int64_t resident_blocks_;
  std::map<std::string, Expr> thread_extents_;  ///< extents of loops that warps, lanes or threads share
  std::vector<Constraint> list_;
  Expr threads_;
};

}  // namespace

Expr threads_per_block_of(const ir::Program& program) {
  const Expr lanes = axis_extent(program.body, LoopKind::lane);
  const Expr warps = axis_extent(program.body, LoopKind::warp);
  const Expr threads = axis_extent(program.body, LoopKind::thread);
  Expr by_warps = warps.defined() ? times(warps, 32) : lanes.defined() ? 32 : Expr();
  Expr count = larger(by_warps, threads);
  if (!count.defined()) return 1;
  if (program.roles) count = count + 32 * program.roles->producers;
  return ir::is_constant(program, count) ? count : Expr();
}

std::vector<Constraint> resource_constraints(const ir::Program& program, const Target& target,
                                             std::int64_t resident_blocks) {
  if (resident_blocks < 1)
    throw UserError("the limits of a program were asked for", program.name,
                    fmt::format("{} blocks on a multiprocessor", resident_blocks), "1 or more");
  Constraints constraints(program, target, resident_blocks);
  return target.is_gpu() ? constraints.on_gpu() : constraints.on_cpu();
}

std::vector<Constraint> compile_constraints(const ir::Program& program, const Target& target) {
  if (target.is_gpu())
    return resource_constraints(program, target, std::max<std::int64_t>(1, program.resident_blocks));
  return Constraints(program, target, 1).local_memory();
}

}  // namespace weft
