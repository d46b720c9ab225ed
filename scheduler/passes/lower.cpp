#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/settled.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/verify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/cluster_copies.h>
#include <weft/scheduler/passes/copy_operands.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/roles.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// Runs passes one after the other, each verified and shown to the observer.
class Pipeline {
 public:
  Pipeline(ir::Program program, const PassObserver& observer)
      : program_(std::move(program)), observer_(observer) {}

  template <class Pass>
  Pipeline& run(std::string_view name, Pass&& pass) {
    // What a pass gives back as it was has been seen to after the pass before.
    const ir::Stmt before = std::exchange(simple_, {});
    program_ = pass(std::move(program_));
    if (before.identity() != program_.body.identity() || !before.defined()) {
      program_ = ir::simplify(std::move(program_), ir::ShortLoops::remove, settled_);
      ir::verify(program_, settled_);
    }
    simple_ = program_.body;
    if (observer_) observer_(name, program_);
    return *this;
  }
  ir::Program take() { return std::move(program_); }
  const ir::Program& program() const { return program_; }

 private:
  ir::Program program_;
  ir::Stmt simple_;  ///< the body after the last pass
  ir::Settled settled_;
  const PassObserver& observer_;
};

void require_no_knobs(const ir::Program& program) {
  if (program.knobs.empty()) return;
  std::string names;
  for (const ir::Knob& knob : program.knobs) names += (names.empty() ? "" : ", ") + knob.name;
  throw UserError("a program with open knobs cannot be compiled", program.name, "open: " + names,
                  "a value for each: fix them in the schedule, or let the search choose");
}

/// What the steps that gave warps roles and blocks a cluster saw to.
void check_roles(const ir::Program& program, std::int64_t threads, const Target& target) {
  auto refused = passes::why_no_roles(program, *program.roles, threads, target);
  if (!refused && program.cluster) refused = passes::why_no_cluster(program, target);
  internal_check(!refused, refused ? "warps in roles: " + refused->found : "");
}

/// Whether 32 bits do not hold the number.
bool is_wide(const ir::Constant& constant) {
  return !is_float(constant.dtype) && (constant.integer < INT32_MIN || constant.integer > INT32_MAX);
}

bool has_wide_numbers(const ir::Program& program) {
  for (const auto* list : {&program.buffers, &program.workspaces}) {
    for (const ir::BufferRef& buffer : *list) {
      for (const ir::Expr& stride : buffer->strides) {
        if (ir::any<ir::Constant>(stride, is_wide)) return true;
      }
    }
  }
  return ir::any<ir::Constant>(program.body, is_wide);
}

/// Whether parts of a place, which code adds up on its own, need more.
bool is_wide(const ir::BufferRef& buffer, const std::vector<ir::Expr>& indices) {
  std::int64_t constant = 0;
  const auto is_far = [](std::int64_t number, std::int64_t stride) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(number, stride, &product) || product > INT32_MAX || product < INT32_MIN;
  };
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::int64_t* stride = ir::integer_value(buffer->strides[i]);
    if (stride == nullptr) continue;
    const ir::Linear sum = ir::linear(indices[i]);
    if (is_far(sum.constant, *stride)) return true;
    constant += sum.constant * *stride;
    for (const ir::Linear::Term& term : sum.terms)
      if (is_far(term.coefficient, *stride)) return true;
  }
  return is_far(constant, 1);
}

bool has_wide_places(const ir::Program& program) {
  return ir::any<ir::Load>(program.body,
                           [](const ir::Load& load) { return is_wide(load.buffer, load.indices); }) ||
         ir::any<ir::Store>(program.body,
                            [](const ir::Store& store) { return is_wide(store.buffer, store.indices); });
}

/// Generated code indexes with 32 bits unless places of a buffer are known to need more, or the program knows
/// of others that do, or computes with numbers that do.
int index_bits_of(const ir::Program& program) {
  const auto is_far = [](const ir::Expr& place) {
    const std::int64_t* value = ir::integer_value(place);
    return value != nullptr && *value >= INT32_MAX;
  };
  for (const auto* list : {&program.buffers, &program.workspaces}) {
    for (const ir::BufferRef& buffer : *list) {
      ir::Expr last = 0;
      for (std::size_t i = 0; i < buffer->shape.size(); ++i) {
        if (is_far(buffer->strides[i])) return 64;
        last = last + (buffer->shape[i] - ir::Expr(1)) * buffer->strides[i];
      }
      if (is_far(last)) return 64;
    }
  }
  if (has_wide_numbers(program) || has_wide_places(program)) return 64;
  return program.index_bits;
}

void require_constant_arrays(const ir::Program& program) {
  ir::each<ir::Allocate>(program.body, [&](const ir::Allocate& allocation) {
    for (const ir::Expr& extent : allocation.buffer->shape) {
      if (ir::integer_value(extent) != nullptr) continue;
      throw UserError(fmt::format("{} in {} has no constant size", allocation.buffer->name,
                                  ir::name_of(allocation.buffer->scope)),
                      program.name, ir::print(extent), "split the loop that it runs over by a constant");
    }
  });
}

}  // namespace

namespace {

/// The kernels that copy operands, with indices as wide as those of the program.
void lower_copying(ThreadProgram& result, const Target& target, const PassObserver& observer) {
  const ir::Program& program = result.program;
  for (std::size_t i = 0; i < program.copied.size(); ++i) {
    const ir::OperandCopy& each = program.copied[i];
    (each.is_output ? result.behind : result.ahead)
        .push_back(lower(passes::copying_program(program, each, i), target, observer));
  }
}

}  // namespace

ThreadProgram lower(const ir::Program& given, const Target& target, const PassObserver& observer,
                    Arrivals arrivals) {
  require_no_knobs(given);
  const ir::Program program = target.is_gpu() ? given : passes::with_copies_inside(given);
  ThreadProgram result{.program = {}, .launch = {}, .scheduled = program.body};
  Pipeline pipeline(program, observer);
  const std::int64_t threads = target.is_gpu() ? passes::threads_of(program) : 0;
  // While a loop of one iteration is a loop.
  if (target.is_gpu() && program.roles) {
    check_roles(program, threads, target);
    pipeline.run("specialize_warps",
                 [&](ir::Program p) { return passes::specialize_warps(std::move(p), threads, arrivals); });
  }
  if (target.is_gpu()) pipeline.run("run_copies_ahead", passes::run_copies_ahead);
  if (target.is_gpu()) {
    // While loops over lanes and warps are still loops: fragments are indexed by them.
    pipeline.run("lower_tensor_operations", [&](ir::Program p) {
      return passes::lower_tensor_operations(std::move(p), target.has(Capability::bulk_copies));
    });
  } else {
    pipeline.run("run_by_meaning", passes::run_by_meaning);
  }
  // Vectors before the rest: the later passes then see every sum where it is computed.
  pipeline.run("sink_vector_loops", passes::sink_vector_loops);
  if (target.is_gpu()) {
    // While the conditions of a sum and of its result are still spelled alike.
    pipeline.run("sum_without_branches", [](ir::Program p) {
      return passes::sum_without_branches(std::move(p), passes::BranchesOf::all);
    });
    // While loops are still bound, their variables tell which dimension belongs to a thread.
    pipeline.run("make_registers_private", passes::make_registers_private);
    pipeline.run("let_one_thread_write",
                 [&](ir::Program p) { return passes::let_one_thread_write(std::move(p), threads); });
    // While a copy is not yet stores of threads.
    pipeline.run("order_exchanges", passes::order_exchanges);
    // Places of copies are then constants.
    pipeline.run("write_out_choices", passes::write_out_choices);
    pipeline.run("lower_copies", [&](ir::Program p) {
      return passes::lower_copies(std::move(p), threads, target.has(Capability::asynchronous_copies));
    });
    pipeline.run("map_threads",
                 [&](ir::Program p) { return passes::map_threads(std::move(p), threads, result.launch); });
    // When warps and lanes are numbers, whose multiples are known.
    pipeline.run("ask_whole_vectors", passes::ask_whole_vectors);
    // When the threads are those of one tile, and before loops that index registers are written out.
    pipeline.run("ask_before_sum", passes::ask_before_sum);
    pipeline.run("unroll_register_loops", passes::unroll_register_loops);
    pipeline.run("wait_within_roles",
                 [&](ir::Program p) { return passes::wait_within_roles(std::move(p), threads); });
    if (program.roles) result.launch.threads += program.roles->producers * 32;
    passes::check_barriers(pipeline.program());
  } else {
    pipeline.run("sum_without_branches", [](ir::Program p) {
      return passes::sum_without_branches(std::move(p), passes::BranchesOf::lanes);
    });
    pipeline.run("serialize_bound_loops", passes::serialize_bound_loops);
    pipeline.run("write_out_choices", passes::write_out_choices);
    pipeline.run("lower_copies", [&](ir::Program p) { return passes::lower_copies(std::move(p), 0, false); });
    // Vectors pay for a mask in every iteration; the tail alone should.
    pipeline.run("split_tails", passes::split_tails);
    pipeline.run("trim_vectors", passes::trim_vectors);
  }
  // Last, when no pass looks for sums any more.
  pipeline.run("fuse_multiply_add", passes::fuse_multiply_add);
  // When nothing moves any more.
  if (target.is_gpu()) pipeline.run("wait_for_launch", passes::wait_for_launch);
  result.program = pipeline.take();
  result.program.index_bits = index_bits_of(result.program);
  require_constant_arrays(result.program);
  if (!target.is_gpu()) return result;
  result.launch.shared_bytes = shared_bytes_of(result.program);
  lower_copying(result, target, observer);
  return result;
}

}  // namespace weft
