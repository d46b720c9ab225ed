// The space of unstructured weights: Wang, SparseRT (PACT 2020), and the forms that read entries from memory.
#include <fmt/format.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/scheduler/recipes/unstructured/convolution.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/shape.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t warp_size = 32;
constexpr std::int64_t baked = number_of(SparseRtForm::baked);

Expr is(SparseRtForm form) {
  return ir::equal(v("form"), number_of(form));
}

/// Both, in order.
std::vector<std::int64_t> with(std::vector<std::int64_t> values, std::span<const std::int64_t> more) {
  values.insert(values.end(), more.begin(), more.end());
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

/// The knobs of a product and what they come to. A knob that a form does not have is 0.
class Product {
 public:
  Product(const SpaceProblem& problem, const Target& target, const SpaceOptions& options)
      : target_(target),
        options_(options),
        weights_(*problem.matrix),
        columns_(extent_of(problem.algorithm, product_loops(problem.algorithm).columns)),
        bytes_(static_cast<std::int64_t>(size_of(weights_.values.dtype()))),
        bytes_of_sum_(static_cast<std::int64_t>(size_of(problem.algorithm.accumulator))) {}

  std::vector<ir::Knob> knobs() const {
    std::vector<std::int64_t> buffers{0, 1};
    if (target_.has(Capability::asynchronous_copies)) buffers = {0, 1, 2, 3, 4};
    return {{"form",
             {baked, number_of(SparseRtForm::streaming), number_of(SparseRtForm::row_per_warp),
              number_of(SparseRtForm::pieces)}},
            {"chunk", {0, 16, 32, 64}},
            {"depth", buffers},
            {"parts", {0, 1, 2, 4, measured_processors, 2 * measured_processors}},
            {"places", {0, 4, 8, 16}},
            {"lanes", {0, 4, 8, 16, 32}},
            {"columns", {0, 1, 2, 4, 8, 16}},
            {"order", {0, given_order, dealt_order}},
            {"rows", row_values},
            {"threads", with({32, 64, 128, 256, 512, 1024}, threads_of_large_blocks)},
            {"groups", {1, 2, 4, 8, 16}}};
  }

  /// What a form has is chosen; what it lacks is not there.
  std::vector<Constraint> choices() const {
    Conditions list;
    choices(list);
    return list.take();
  }

  std::vector<Constraint> constraints() const {
    Conditions list;
    choices(list);
    warps(list);
    memory(list);
    list.sum_at_most("registers", "32-bit registers of a thread", "registers", registers(0),
                     registers_of_thread());
    if (columns_.is_static())
      list.at_most("grid y", "blocks of rows", "blocks",
                   ir::ceil_divide(weights_.rows, ir::maximum(rows_of_block(), 1)), 65535);
    return list.take();
  }

  std::vector<Constraint> preferences() const {
    Conditions list;
    by_code(list);
    in_chunks(list);
    from_memory(list);
    list.sum_at_most("expected registers", "32-bit registers of a thread, as far as can be foretold",
                     "registers", registers(options_.more_registers), registers_of_thread());
    return list.take();
  }

 private:
  static inline const std::vector<std::int64_t> row_values =
      with({0, 1, 2, 4, 8, 16, 32, 64, 128}, rows_of_large_blocks);

  Expr code() const { return is(SparseRtForm::baked); }
  Expr chunked() const { return code() && 0 < v("chunk"); }
  Expr unchunked() const { return code() && ir::equal(v("chunk"), 0); }
  /// Blocks are so many that share the rows, in place of so many rows.
  static Expr shares_rows() { return baked < v("form") && negated(is(SparseRtForm::row_per_warp)); }
  /// Rows of a warp. Lanes beyond a warp, which nobody has, are no reason to divide by none.
  Expr together() const { return ir::maximum(warp_size / ir::maximum(v("lanes"), 1), 1); }

  /// Where there are enough columns and entries for large blocks of which every processor gets one or two.
  bool has_large_blocks() const { return 1'024 <= columns() && columns() <= 8'192 && 5'000 <= stored(); }

  void choices(Conditions& list) const {
    const auto only = [&](const char* knob, const Expr& has, const char* text) {
      list.where(has);
      list.at_most(fmt::format("choice of {}", knob), text, {}, 1, v(knob));
      list.where(negated(has));
      list.nothing(fmt::format("{} without effect", knob), text, v(knob));
      list.everywhere();
    };
    list.where(negated(code()));
    list.nothing("chunk without effect", "rows of B at a time, where B comes in chunks to baked code",
                 v("chunk"));
    only("depth", chunked(), "buffers for chunks of B");
    only("parts", shares_rows(), "blocks that share the rows, where entries stream or rows are in pieces");
    only("order", code(), "an order of rows, which baked code has");
    list.where(negated(unchunked()));
    list.nothing("threads of large blocks", "threads that are no power of two, which code without chunks has",
                 1024 % v("threads"));
    list.everywhere();
    const Expr from_memory = baked < v("form");
    only("places", from_memory, "entries read at a time, where they are read");
    only("lanes", from_memory && v("form") < number_of(SparseRtForm::pieces),
         "lanes of a row, where entries are read and pieces have no whole warps");
    only("columns", from_memory, "columns of a lane, of which baked code has one");
    only("rows", negated(shares_rows()),
         "rows of a block or warp; where entries stream or rows are in pieces, they follow from the parts");
  }

  void warps(Conditions& list) const {
    const Expr groups = v("groups"), several = ir::minimum(groups - 1, 1);
    list.where(unchunked());
    list.at_most("threads", "threads of a block, those of all groups", "threads", v("threads") * groups,
                 target_.threads_per_block);
    list.where(chunked());
    list.at_most("copies ahead",
                 "buffers for chunks, of which a target without copies that run ahead has one", "buffers",
                 v("depth"), target_.has(Capability::asynchronous_copies) ? 8 : 1);
    list.at_most("groups beside chunks", "groups of threads that share a sum, where B comes in chunks",
                 "groups", groups, 1);
    list.where(is(SparseRtForm::streaming));
    list.at_most("groups of streams", "groups that share a sum, where B takes the shared memory", "groups",
                 groups, 1);
    list.where(is(SparseRtForm::pieces));
    list.at_most("groups of pieces", "groups that share a sum, where rows are in pieces already", "groups",
                 groups, 1);
    list.where(is(SparseRtForm::row_per_warp));
    list.at_most("warps of groups", "threads of the groups that share a row", "threads",
                 several * groups * warp_size, v("threads"));
    list.at_most("shared sums of rows", "bytes that groups hand over", "B",
                 several * v("threads") * v("columns") * bytes_of_sum_, target_.shared_bytes_per_block);
    list.everywhere();
  }

  void memory(Conditions& list) const {
    list.where(unchunked());
    list.at_most("shared memory", "bytes that groups hand over", "B",
                 code::bytes_handed_over(v("groups"), v("rows"), v("threads"), bytes_of_sum_),
                 target_.shared_bytes_per_block);
    list.where(chunked());
    list.at_most("shared memory of chunks", "bytes of the chunks of B", "B",
                 v("chunk") * v("threads") * bytes_ * v("depth"), target_.shared_bytes_per_block);
    list.where(is(SparseRtForm::pieces));
    list.at_most("shared sums of pieces", "bytes of the sums of a block's pieces, at least", "B",
                 ir::ceil_divide(stored(), ir::maximum(v("places") * v("parts"), 1)) * warp_size *
                     v("columns") * bytes_of_sum_,
                 target_.shared_bytes_per_block);
    list.everywhere();
  }

  /// Sums that a thread keeps at the same time.
  Expr sums() const {
    const Expr warps = ir::maximum(v("threads") / warp_size, 1);
    const Expr fitting = ir::maximum(
        target_.shared_bytes_per_block / bytes_ / ir::maximum(v("lanes") * v("columns"), 1) - 1, 1);
    const Expr turns = ir::ceil_divide(weights_.rows, warps * together() * ir::maximum(v("parts"), 1));
    // Where B comes to shared memory in pieces, the sums of all rows wait for the next one.
    const Expr streamed = ir::select(fitting < weights_.columns, turns, 1);
    return ir::select(code(), v("rows"), ir::select(is(SparseRtForm::streaming), streamed, 1) * v("columns"));
  }

  Summands registers(std::int64_t more) const {
    return {{"sums", sums()}, {"addresses", reserved_registers + more}};
  }

  Expr registers_of_thread() const {
    const Expr threads = v("threads") * ir::select(unchunked(), v("groups"), 1);
    return registers_there(target_, options_, ir::maximum(threads, 1));
  }

  Expr rows_of_block() const {
    const Expr warps = ir::maximum(v("threads") / warp_size / v("groups"), 1);
    return ir::select(code(), v("rows"), v("rows") * together() * warps);
  }

  Expr row_blocks() const {
    return ir::ceil_divide(std::max<std::int64_t>(weights_.rows, 1), ir::maximum(v("rows"), 1));
  }
  std::int64_t columns() const { return columns_.is_static() ? columns_.value : 1 << 16; }
  Expr blocks() const { return row_blocks() * ir::ceil_divide(columns(), v("threads")); }
  std::int64_t stored() const { return weights_.stored(); }

  void rows_in_order(Conditions& list) const {
    const Expr order = expected_order(weights_, row_values);
    list.where(code());
    list.at_most("order", "rows dealt where blocks are uneven", {}, order, v("order"));
    list.at_most("order (2)", "rows as they come where blocks are even", {}, v("order"), order);
  }

  /// A block has work, its groups neither a trifle nor too much of the code, and no other point does the same
  /// better. Many entries take long to compile, so fewer points of them are worth it.
  void by_code(Conditions& list) const {
    rows_in_order(list);
    list.where(code());
    list.at_most("compile time", "entries of code, which takes a minute for each 100,000", "entries",
                 stored(), 150'000);
    const bool few_weights = stored() < 2'000;
    list.at_most("few rows", "accumulators of a thread", "rows", few_weights ? 1 : 8, v("rows"));
    list.where(unchunked());
    list.at_most("rows there are", "rows of a block", "rows", v("rows"),
                 std::max<std::int64_t>(8, 2 * weights_.rows - 1));
    return has_large_blocks() ? large_blocks(list) : small_blocks(list);
  }

  /// All have room at once, and nearly every processor has one.
  void large_blocks(Conditions& list) const {
    const Expr entries = stored() / row_blocks() / v("groups");
    list.at_most("large blocks", "blocks that keep the device busy", "blocks", 90, blocks());
    list.at_most("large blocks (2)", "blocks that have room at once", "blocks", blocks(),
                 4 * measured_processors);
    list.at_most("rows of large blocks", "rows of a block", "rows", 32, v("rows"));
    list.at_most("threads of large blocks (2)", "threads of one group", "threads", 128, v("threads"));
    list.at_most("threads of large blocks (3)", "threads of a block", "threads", v("groups") * v("threads"),
                 640);
    list.at_most("groups of large blocks", "groups that share a sum", "groups", v("groups"), 4);
    list.at_most("code of a large group", "entries of a group", "entries", entries, 8'000);
  }

  void small_blocks(Conditions& list) const {
    const Expr entries = stored() / row_blocks() / v("groups");
    list.at_most("blocks", "blocks that keep the device busy", "blocks", 60, blocks());
    list.at_most("warps", "warps that keep the device busy", "warps", 260,
                 blocks() * v("groups") * v("threads") / warp_size);
    const bool much_code = stored() > 40'000;
    list.at_most("code of a group", "entries of a group", "entries", entries, much_code ? 1'000 : 900);
    list.at_most("share of a group", "entries of a group, where there are several", "entries",
                 ir::minimum(v("groups") - 1, 1) * 24, entries);
    list.at_most("rows", "rows of a block without chunks", "rows", v("rows"), 64);
    if (columns() >= 5'000) {
      list.at_most("wide blocks", "groups, where there are many columns", "groups", v("groups"), 1);
      list.at_most("wide blocks (2)", "rows, where there are many columns", "rows", 32, v("rows"));
      list.at_most("wide blocks (3)", "threads, where there are many columns", "threads", 128, v("threads"));
    }
    if (columns() < 1'024)
      list.at_most("narrow blocks", "threads, where there are few columns", "threads", v("threads"),
                   much_code ? 128 : 127);
    list.at_most("threads of few columns", "threads of one group", "threads", v("threads"), 256);
    list.at_most("blocks of few rows", "blocks of fewer than 64 rows", "blocks",
                 ir::select(v("rows") < 64, blocks(), 0), 520);
    if (stored() > 10'000) {
      list.at_most("threads for much code", "threads", "threads", 256, v("groups") * v("threads"));
      list.at_most("least code", "entries of a group", "entries", 60, entries);
      // Of 118,000 entries and 784 columns blocks of 16 rows and 8 groups were the fastest by far.
      list.at_most("most code", "entries of a group", "entries", entries, much_code ? 1'000 : 420);
    }
    if (much_code) {
      list.at_most("threads for very much code", "threads", "threads", 512, v("groups") * v("threads"));
      list.at_most("threads for very much code (2)", "threads", "threads", v("groups") * v("threads"), 1'024);
    }
  }

  /// Blocks of many rows and columns, for outputs that give most of the device one.
  void in_chunks(Conditions& list) const {
    list.where(chunked());
    list.at_most("blocks of chunks", "blocks that keep the device busy", "blocks", 60, blocks());
    list.at_most("rows of chunks", "rows of a block", "rows", 32, v("rows"));
    list.at_most("rows of chunks there are", "rows of a block", "rows", v("rows"), 2 * weights_.rows - 1);
    list.at_most("columns for chunks", "columns of B", "columns", 1'000, columns());
    list.at_most("threads of chunks", "threads of a block", "threads", 128, v("threads"));
    list.at_most("threads of chunks (2)", "threads of a block", "threads", v("threads"), 512);
    list.at_most("tile of chunks", "rows times columns of a block", {}, v("rows") * v("threads"), 128 * 256);
    if (target_.has(Capability::asynchronous_copies)) {
      list.at_most("chunks ahead", "buffers, so that chunks come ahead", "buffers", 2, v("depth"));
      list.at_most("buffers", "rows of B under way, enough and not more", "rows", 64,
                   v("depth") * v("chunk"));
      list.at_most("buffers (2)", "rows of B under way, enough and not more", "rows", v("depth") * v("chunk"),
                   192);
    }
    if (stored() <= 40'000) return;
    list.at_most("rows of long code", "rows, where compiling takes long", "rows", v("rows"), 64);
    list.at_most("threads of long code", "threads, where compiling takes long", "threads", 256, v("threads"));
    list.at_most("threads of long code (2)", "threads, where compiling takes long", "threads", v("threads"),
                 256);
    list.at_most("chunks of long code", "rows of a chunk, where compiling takes long", "rows", 32,
                 v("chunk"));
  }

  void from_memory(Conditions& list) const {
    const Expr columns_of_block = v("lanes") * v("columns");
    list.where(is(SparseRtForm::streaming));
    list.at_most("columns to stream for", "columns of B", "columns", 512, columns());
    list.at_most("a row for every lane", "rows that lanes of all parts have at a time", "rows",
                 v("threads") / ir::maximum(v("lanes"), 1) * v("parts"), weights_.rows);
    list.at_most("threads of streams", "threads of a block", "threads", 512, v("threads"));
    list.at_most("panel", "columns of a block", "columns", 32, columns_of_block);
    list.at_most("panel (2)", "columns of a block", "columns", columns_of_block, 128);
    list.at_most("panel (3)", "columns of a lane, which are read at a time", "columns", 4, v("columns"));
    list.at_most("places", "entries read at a time", "entries", v("places"), 8);
    list.where(is(SparseRtForm::pieces));
    list.at_most("columns of pieces", "columns of B, which blocks have few of", "columns", columns(), 512);
    list.at_most("idle lanes of pieces", "columns of a block", "columns", warp_size * v("columns"),
                 std::max<std::int64_t>(64, 2 * columns() - 1));
    list.at_most("columns of a lane in pieces", "columns", "columns", v("columns"), 4);
    list.at_most("pieces for every processor", "blocks that share the rows", "blocks", measured_processors,
                 v("parts"));
    list.at_most("threads of pieces", "threads of a block", "threads", 512, v("threads"));
    list.where(is(SparseRtForm::row_per_warp));
    list.at_most("idle lanes", "columns of a warp", "columns", columns_of_block,
                 std::max<std::int64_t>(64, 2 * columns() - 1));
    list.at_most("whole warps", "lanes of a row", "lanes", 32, v("lanes"));
    list.at_most("columns of a lane", "columns", "columns", v("columns"), 4);
    list.at_most("threads of rows", "threads of a block", "threads", v("threads"),
                 ir::maximum(256, v("groups") * (4 * warp_size)));
    list.at_most("threads of rows (2)", "threads of a block", "threads",
                 ir::maximum(128, v("groups") * warp_size), v("threads"));
    list.at_most("groups of rows", "groups that share a row", "groups", v("groups"), 16);
    list.at_most("rows of a warp", "rows that a warp takes one after the other", "rows", v("rows"), 1);
    list.at_most("share of a row", "entries of a group", "entries",
                 ir::minimum(v("groups") - 1, 1) * v("places"),
                 stored() / std::max<std::int64_t>(1, weights_.rows) / v("groups"));
    list.everywhere();
  }

  const Target& target_;
  SpaceOptions options_;
  const WeightMatrix& weights_;
  Extent columns_;
  std::int64_t bytes_, bytes_of_sum_;
};

}  // namespace

Expr expected_order(const WeightMatrix& weights, std::span<const std::int64_t> rows) {
  Expr order = given_order;
  for (const std::int64_t each : rows) {
    if (each > 0 && rows_are_uneven(weights.row_begin, each))
      order = ir::select(ir::equal(v("rows"), each), dealt_order, order);
  }
  return order;
}

std::string why_no_sparsert(const SpaceProblem& problem, const Target& target) {
  if (!target.is_gpu()) return target.name + " is no GPU, whose code it writes";
  if (problem.format.name != "csr") return problem.format.text() + " is not csr, which it makes code of";
  if (!convolution_loops(problem.algorithm).filters.empty()) {
    if (problem.matrix->stored() <= most_baked_entries) return why_no_sum(problem.algorithm);
    return fmt::format("{} entries of a convolution are more than {} in its code", problem.matrix->stored(),
                       most_baked_entries);
  }
  if (product_loops(problem.algorithm).columns.empty()) return "the algorithm is no product of two matrices";
  return why_no_sum(problem.algorithm);
}

RecipeChoices sparsert_choices(const SpaceProblem& problem, PackedWeights&, const Target& target,
                               const SpaceOptions& options) {
  if (!convolution_loops(problem.algorithm).filters.empty()) return image_choices(problem, target, options);
  const Product product(problem, target, options);
  return {.knobs = product.knobs(),
          .limits = product.constraints(),
          .worth = product.preferences(),
          .whole = product.choices()};
}

}  // namespace weft
