// specialize_warps: some warps copy, the others compute.
#include <fmt/format.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/ring.h>
#include <weft/scheduler/steps/list.h>
#include <weft/scheduler/steps/loops.h>

namespace weft::steps {
namespace {

constexpr std::int64_t warps_of_group = 4;

std::int64_t rings_of(const ir::Stmt& body) {
  std::int64_t rings = 0;
  ir::visit(body, [&](const ir::Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return;
    passes::Ring ring;
    passes::ring_of(loop->body, ring);
    rings += ring.copies.empty() ? 0 : 1;
  });
  return rings;
}

std::int64_t number_of(const Step& step, const std::string& name, std::int64_t otherwise) {
  for (const Argument& argument : step.arguments) {
    if (argument.name != name) continue;
    const auto* value = std::get_if<std::int64_t>(&argument.value);
    return value == nullptr ? -1 : *value;
  }
  return otherwise;
}

/// specialize_warps(producers = 4, producer_registers = 40, consumer_registers = 232): beside the warps that
/// loops are bound to come `producers` others, which start all copies of the staged loop, as far ahead as
/// there are buffers; those that compute wait for a buffer to be full, and say when they have read it. What
/// is staged arrives by one bulk copy a tile, what is stitched row by row, the numbers of the rows loaded an
/// iteration ahead. Registers are handed from the ones to the others.
/// Preconditions: 1 the target is sm_90 or newer; 2 one loop has staged copies that run ahead; 3 producers
/// are 4 warps, which is the group whose registers can be set; 4 numbers of registers are multiples of 8 from
/// 24 to 240, or 0 for as they come; 5 it is done once.
StepResult apply_specialize_warps(const ir::Program& program, const Step& step, const StepContext& context) {
  const std::int64_t producers = number_of(step, "producers", warps_of_group);
  const std::int64_t own = number_of(step, "producer_registers", 0);
  const std::int64_t others = number_of(step, "consumer_registers", 0);
  if (!context.target.is_gpu() || context.target.sm < 90)
    return Reason{
        1, context.target.name + " has no barriers that count bytes of copies", "sm_90 or newer", {}};
  if (program.roles) return Reason{5, "warps have roles already", "one specialize_warps", {}};
  if (const std::int64_t rings = rings_of(program.body); rings != 1)
    return Reason{2,
                  fmt::format("{} loops have copies that run ahead", rings),
                  "one: stage and stitch with depth = 2 or more at one loop",
                  {}};
  if (producers != warps_of_group)
    return Reason{3, fmt::format("producers = {}", producers), "producers = 4", {}};
  for (const std::int64_t registers : {own, others}) {
    if (registers != 0 && (registers < 24 || registers > 240 || registers % 8 != 0))
      return Reason{4, fmt::format("{} registers", registers), "a multiple of 8 from 24 to 240, or 0", {}};
  }
  ir::Program result = program;
  result.roles = ir::WarpRoles{static_cast<int>(producers), static_cast<int>(own), static_cast<int>(others)};
  return result;
}

}  // namespace

const StepKind specialize_warps{"specialize_warps", ".specialize_warps(producers = 4)", 1, 3,
                                apply_specialize_warps};

}  // namespace weft::steps
