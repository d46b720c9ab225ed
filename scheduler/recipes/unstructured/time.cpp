// Kernels of unstructured weights (scheduler/recipes/unstructured/sparsert.h): baked into the code, or read
// from memory.
#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/scheduler/recipes/unstructured/form.h>
#include <weft/scheduler/recipes/unstructured/image.h>
#include <weft/scheduler/recipes/unstructured/shape.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <algorithm>

namespace weft::bounds {
namespace {

/// What a multiprocessor reads of code in a cycle: from its own cache as fast as it issues; up to
/// `near_bytes` on the whole chip from the next one; beyond from the L2, where several streams of code are
/// faster than one. This and the microseconds below are fitted to 212 kernels in code, 247 whose warps have
/// rows, 187 that stream and 37 in pieces, of 36 problems (docs/measurements/choice.md).
constexpr double own_bytes = 32'768, near_bytes = 131'072;
constexpr double own_rate = 64, near_rate = 26, far_rate = 4.6, far_rate_of_many = 5.5;
constexpr double many_streams = 8;
constexpr std::int64_t bytes_of_sum = 4;  ///< in f32

double rate_of_code(double bytes_on_chip, double streams) {
  if (bytes_on_chip <= own_bytes) return own_rate;
  if (bytes_on_chip <= near_bytes) return near_rate;
  const double more = std::min(1.0, (streams - 1) / (many_streams - 1));
  return far_rate + more * (far_rate_of_many - far_rate);
}

}  // namespace

SparseRtForm form_of(const ProblemSummary& problem, const KnobValues& point, const Target& target) {
  const auto form = static_cast<SparseRtForm>(number_of_knob(point, "form", 0));
  if (form != SparseRtForm::chosen) return form;
  return static_cast<SparseRtForm>(number_of_knob(filled_sparsert(problem, point, target), "form", 1));
}

namespace {

/// Stored weights of so many rows.
double entries_of(const ProblemSummary& problem, std::int64_t rows) {
  const auto all = static_cast<double>(std::max<std::int64_t>(1, problem.m));
  return static_cast<double>(problem.stored) * static_cast<double>(std::min(rows, problem.m)) / all;
}

/// Where a warp goes through a row of its own, or groups of warps share it: each entry is waited for, and
/// what the groups added is handed over.
double wait_of_rows(const ProblemSummary& problem, std::int64_t columns, std::int64_t groups) {
  constexpr double of_entry = 0.046, of_column = 0.057, of_group = 0.044;
  const auto shared = static_cast<double>(groups);
  return entries_of(problem, 1) / shared * (of_entry + of_column * static_cast<double>(columns)) +
         shared * of_group;
}

Bound of_baked(const ProblemSummary& problem, const KnobValues& point, const Ceilings& ceilings) {
  const bool in_chunks = number_of_knob(point, "chunk", 0) > 0;
  const std::int64_t rows =
      number_of_knob(point, "rows", std::min<std::int64_t>(64, power_of_two_from(problem.m)));
  const std::int64_t threads = number_of_knob(point, "threads", in_chunks ? 256 : 64);
  const auto groups = static_cast<double>(number_of_knob(point, "groups", 1));
  const std::int64_t row_blocks = ceil_divide(problem.m, rows);
  const auto turns = static_cast<double>(
      ceil_divide(row_blocks * ceil_divide(problem.n, threads), ceilings.multiprocessors));
  // A multiply-add for each entry, and a load for each column of the weights with an entry in the block.
  const double entries = entries_of(problem, rows);
  const double loads = code::loads(static_cast<double>(problem.k), std::min(1.0, problem.density()), rows);
  const double instructions = entries + loads;
  const double written = code::bytes_of_instruction * instructions;
  const double rate =
      rate_of_code(written * static_cast<double>(row_blocks), groups) * ceilings.cycles_a_second;

  Parts parts(ceilings);
  parts.add_memory(problem);
  parts.add(Resource::code, 1e6 * turns * written / rate);
  const auto width = static_cast<double>(threads);
  parts.add_of_multiprocessor(Resource::units, turns * 2 * instructions * width,
                              ceilings.operations_a_second);
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const double read = in_chunks ? static_cast<double>(problem.k) : loads;
  parts.add_of_multiprocessor(Resource::l2, turns * read * width * bytes, ceilings.l2_bytes_a_second);
  if (in_chunks)
    parts.add_of_multiprocessor(Resource::shared_memory, turns * (loads + read) * width * bytes,
                                ceilings.shared_bytes_a_second);
  parts.add(Resource::latency, 0.14);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  Bound bound = parts.total();
  // Groups meet when all else is done.
  const double handed = turns *
                        code::bytes_handed_over(groups, static_cast<double>(rows), width, bytes_of_sum) *
                        static_cast<double>(ceilings.multiprocessors);
  bound.microseconds += 1e6 * handed / ceilings.shared_bytes_a_second;
  return bound;
}

/// The entries come from memory, and the rows of B that a block needs lie in shared memory, or come through
/// the first cache, which is the same memory.
Bound of_lists(const ProblemSummary& problem, const KnobValues& point, SparseRtForm form,
               const Target& target, const Ceilings& ceilings) {
  const bool panel = form == SparseRtForm::streaming, in_pieces = form == SparseRtForm::pieces;
  const std::int64_t lanes = number_of_knob(point, "lanes", panel ? 8 : 32);
  const std::int64_t columns = number_of_knob(point, "columns", panel ? 8 : in_pieces ? 2 : 4);
  const std::int64_t threads = number_of_knob(point, "threads", panel || in_pieces ? 1024 : 128);
  const std::int64_t groups = number_of_knob(point, "groups", 1);
  const std::int64_t together = std::max<std::int64_t>(1, threads / lanes / groups);
  const std::int64_t usual = panel ? ceil_divide(problem.m, together * 4) : 1;
  const std::int64_t wanted = number_of_knob(point, "parts", in_pieces ? ceilings.multiprocessors : 0);
  const std::int64_t rows = std::max<std::int64_t>(
      1, wanted > 0 ? ceil_divide(problem.m, wanted) : number_of_knob(point, "rows", usual) * together);
  const std::int64_t row_blocks = ceil_divide(problem.m, rows);
  const std::int64_t blocks = row_blocks * ceil_divide(problem.n, lanes * columns);
  const auto turns = static_cast<double>(ceil_divide(blocks, ceilings.multiprocessors));
  const auto width = static_cast<double>(lanes * columns);
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const double entries = turns * entries_of(problem, rows);

  Parts parts(ceilings);
  parts.add_memory(problem);
  parts.add_of_multiprocessor(Resource::units, 2 * entries * width, ceilings.operations_a_second);
  // A value and a column serve the columns of a lane.
  const double list = (bytes + 4) / static_cast<double>(columns);
  parts.add_of_multiprocessor(Resource::shared_memory, entries * width * (bytes + list),
                              ceilings.shared_bytes_a_second);
  const double panels = panel ? turns * static_cast<double>(problem.k) * width : 0;
  // Bytes that leave the L2 for one of B that is read: lines bring what nobody asked for.
  const double read = panel ? 0 : in_pieces ? 1.8 : 1.45;
  const auto asked =
      static_cast<double>(problem.n) / static_cast<double>(ceil_divide(problem.n, lanes * columns));
  parts.add_of_multiprocessor(Resource::l2, panels * bytes + entries * (read * asked * bytes + bytes + 4),
                              ceilings.l2_bytes_a_second);
  const auto all_threads = static_cast<double>(threads);
  const double rounds = entries / static_cast<double>(together * number_of_knob(point, "places", 4));
  // Where the rows of B that a block needs come one part after the other, sums wait for each.
  const auto shared_bytes = static_cast<double>(target.shared_bytes_per_block);
  const double visits = static_cast<double>(problem.k) * width * bytes <= shared_bytes ? 1 : 2;
  parts.add(Resource::latency, panel       ? 0.006 * panels / all_threads + 0.24 * visits * rounds
                               : in_pieces ? 0.8 + 0.06 * rounds
                                           : 1.5 + wait_of_rows(problem, columns, groups));
  parts.add(Resource::launch, ceilings.launch_microseconds);
  Bound bound = parts.total();
  // Warps wait for the longest of the rows that they go through together; pieces are alike.
  if (!in_pieces) bound.microseconds *= 1 + problem.row_variation * problem.row_variation;
  return bound;
}

}  // namespace

Bound of_unstructured(const ProblemSummary& problem, const KnobValues& given, const Target& target,
                      const Ceilings& ceilings) {
  if (const auto image = convolution_of(problem)) {
    if (const auto cut = image->cheapest(knobs_of(sparsert_knobs(), given), target)) return image->time(*cut);
  }
  const KnobValues point = filled_sparsert(problem, given, target);
  const SparseRtForm form = form_of(problem, point, target);
  return form == SparseRtForm::baked ? of_baked(problem, point, ceilings)
                                     : of_lists(problem, point, form, target, ceilings);
}

}  // namespace weft::bounds
