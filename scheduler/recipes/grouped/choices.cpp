// The knobs of Huang et al. (DAC 2022), table 4, and more; those of VENOM (SC 2023) are among them.
#include <fmt/format.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/recipes/grouped/choices.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/measured.h>
#include <weft/scheduler/recipes/grouped/shape.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {
namespace {

using namespace grouped;

constexpr std::int64_t tallest = 256;  ///< rows of a tile, where the weights ask for no groups
constexpr std::int64_t mma_k8 = number_of(ShflBwInstruction::mma_m16n8k8);
constexpr std::int64_t mma_k16 = number_of(ShflBwInstruction::mma_m16n8k16);

/// Whether columns beside one another lie so in the dense operand, two at least.
bool runs_of(const Algorithm& algorithm) {
  if (copies_input(algorithm)) return true;
  const GatheredProduct loops = ordered_product(algorithm);
  if (!extent_of(algorithm, loops.columns.back()).is_multiple_of(2)) return false;
  for (const TensorAccess& factor : algorithm.factors) {
    const std::string* last = factor.indices.back().plain();
    if (algorithm.operands[factor.operand].name == loops.dense)
      return last != nullptr && *last == loops.columns.back();
  }
  return false;
}

/// What the knobs of a point come to.
class Choices {
 public:
  Choices(const SpaceProblem& problem, const Target& target, const SpaceOptions& options)
      : target_(target),
        options_(options),
        pairs_(formats::keeps_two_of_four(problem.format)),
        is_mixed_(problem.format.name == "mixed"),
        group_(rows_of_group(problem.format)),
        weights_(*problem.matrix),
        columns_(columns_of(problem.algorithm, ordered_product(problem.algorithm))),
        runs_(runs_of(problem.algorithm)),
        halves_(weights_.values.dtype() == DType::f16),
        element_bytes_(static_cast<std::int64_t>(size_of(weights_.values.dtype()))),
        promotes_(is_float_of_a_byte(weights_.values.dtype())),
        bytes_by_elements_(element_bytes_ == 1 && can_gather_elements(problem.algorithm, problem.format)),
        elements_(bytes_by_elements_ || (target.has(Capability::bulk_copies) &&
                                         may_gather_elements(problem.algorithm, problem.format))) {
    if (pairs_) places_ = {64, 128};
    if (element_bytes_ == 1)
      for (std::int64_t& places : places_) places *= 2;
    if (const auto places = problem.format.parameters.find("k"); places != problem.format.parameters.end())
      places_ = {places->second};
  }

  std::vector<ir::Knob> knobs() const {
    const bool ahead = target_.has(Capability::asynchronous_copies),
               roles = target_.has(Capability::bulk_copies),
               hand_over = target_.has(Capability::register_reallocation);
    using Values = std::vector<std::int64_t>;
    Values instructions;
    if (halves_ && !pairs_) instructions.push_back(mma_k8);
    if (target_.has(Capability::mma_m16n8k16)) instructions.push_back(mma_k16);
    if (target_.has(Capability::warpgroup_tensor_cores)) instructions.push_back(wgmma_number);
    std::vector<ir::Knob> all{
        {"tile_m", {16, 32, 64, 128, 256}},
        {"tile_n", widths()},
        {"tile_k", places_},
        {"instruction", instructions},
        {"warp_m", {16, 32, 64, 128}},
        {"warp_n", {16, 32, 64, 128, 256}},
        {"stages", ahead ? Values{1, 2, 3, 4, 5, 6, 8} : Values{1}},
        {"producers", roles ? Values{0, 4} : Values{0}},
        {"producer_registers", !hand_over           ? Values{0}
                               : bytes_by_elements_ ? Values{0, 40, 88, 136}
                               : promotes_          ? Values{0, 40, 88}
                                                    : Values{0, 88}},
        {"consumer_registers", !hand_over           ? Values{0}
                               : bytes_by_elements_ ? Values{0, 152, 184, 208, 232}
                               : promotes_          ? Values{0, 152, 208, 232}
                                                    : Values{0, 152, 208}},
        // And 0 deals sums to blocks that go through tiles, which was never faster (few_columns.md).
        {"groups", pairs_ ? Values{1, 2, 3, 4, 8, 16} : Values{1, 2, 3, 4, 8}},
        {"line", {16, 32, 64}},
        {"blocks", {0, measured_processors, 2 * measured_processors}},
    };
    if (promotes_) all.push_back({"promote", {1, 0}});
    if (elements_) all.push_back({"elements", bytes_by_elements_ && !roles ? Values{1} : Values{1, 0}});
    return all;
  }

  std::vector<Constraint> constraints() const {
    Conditions list;
    shape(list);
    instruction(list);
    roles(list);
    resources(list);
    return list.take();
  }

  std::vector<Constraint> preferences() const {
    Conditions list;
    const Expr by_warpgroups = ir::equal(v("instruction"), wgmma_number);
    if (target_.has(Capability::mma_m16n8k16))
      list.at_most("deep instruction", "the instruction with more places does the same in fewer", {}, mma_k16,
                   v("instruction"));
    // Tiles were pruned as wide as the narrowest blocks; wider ones are packed of several.
    if (is_mixed_)
      list.at_most("mixed blocks", "columns of a block, the wider of which are 2:4 less often", "columns",
                   v("tile_k"), places_.front());
    // Tiles of 16 rows have few columns where the product has: two warps, or warps with less to sum.
    const Expr low = pairs_ && group_ > rows_of_warp ? Expr(0) : v("tile_m") < 32;
    if (promotes_)
      list.at_most("promote", "sums of a stage that are added up in f32, of e4m3 and e5m2", {}, 1,
                   v("promote"));
    list.at_most("warps", "warps that keep a processor busy", "warps", ir::select(low, 2, 4), warps());
    const Expr few_sums =
        target_.has(Capability::warpgroup_tensor_cores) ? ir::select(low, 8, pairs_ ? 32 : 16) : Expr(32);
    list.at_most("sums", "accumulators of a thread, so that loads are few", "registers",
                 ir::select(is_narrow(v("tile_n")), 8, few_sums), accumulators());
    if (target_.has(Capability::asynchronous_copies))
      list.at_most("copies ahead", "tiles under way, so that nobody waits for one", "stages", 2, v("stages"));
    // ptxas 13.0 makes products of warps of e4m3 and e5m2 for sm_90a of conversions and products of f16.
    if (bytes_by_elements_ && promotes_ && group_ >= rows_of_warpgroup &&
        target_.has(Capability::warpgroup_tensor_cores))
      list.at_most("warpgroups", "instructions of warps where warpgroups have one of the type", {},
                   one_if(negated(by_warpgroups)), 0);
    if (bytes_by_elements_ && target_.has(Capability::register_reallocation))
      list.at_most("elements of roles", "warps that gather elements beside those that multiply", "warps", 4,
                   v("producers"));
    if (bytes_by_elements_) {
      list.where(ir::equal(v("elements"), 0) && 0 < v("producer_registers"));
      list.at_most("registers of words", "registers of producers, which have words under way", "registers",
                   ir::select(is_narrow(v("tile_n")), 88, 136), v("producer_registers"));
      list.everywhere();
    }
    list.at_most("registers of roles", "both set or neither", {},
                 one_if(ir::equal(v("producer_registers"), 0)),
                 one_if(ir::equal(v("consumer_registers"), 0)));
    list.at_most("registers of roles (2)", "both set or neither", {},
                 one_if(ir::equal(v("consumer_registers"), 0)),
                 one_if(ir::equal(v("producer_registers"), 0)));
    list.sum_at_most("expected registers", "32-bit registers of a thread, as far as can be foretold",
                     "registers", expected_registers(), registers_of_consumer());
    list.at_most("lines", "the longest that fit a warp's columns, or 32", {},
                 ir::minimum(ir::select(by_warpgroups, 64, 32), v("warp_n")), v("line"));
    // Those were of two bytes.
    if (target_.has(Capability::warpgroup_tensor_cores) && !pairs_ && element_bytes_ > 1)
      prefer_what_was_fast(list, group_);
    list.where(0 < v("producer_registers") + v("consumer_registers"));
    list.at_most("registers of shared sums", "groups that share a sum, beside warps that hand registers over",
                 "groups", v("groups"), 1);
    list.where(1 < v("groups") && negated(is_narrow(v("tile_n"))));
    list.at_most("roles of shared sums", "warps that only copy, where blocks share sums of wide tiles",
                 "warps", v("producers"), 0);
    if (pairs_) {
      list.where(1 < v("groups") && negated(by_warpgroups));
      list.at_most("columns of shared sums", "columns that a warp sums where blocks share a sum", "columns",
                   v("warp_n"), 64);
    }
    list.everywhere();
    if (target_.has(Capability::warpgroup_tensor_cores) && pairs_) {
      list.where(by_warpgroups);
      list.at_most("rows of a warpgroup", "rows that one sums of a tile that two could share", "rows",
                   v("warp_m"), ir::maximum(64, v("tile_m") / 2));
      list.everywhere();
    }
    if (columns_.is_static()) {
      list.at_most("columns", "columns of a tile, of which half are there", "columns", v("tile_n"),
                   std::max<std::int64_t>(64, 2 * columns_.value - 1));
      list.where(ir::equal(v("groups"), 1));
      list.at_most("persistent blocks", "tiles for every block that goes through them", "tiles", v("blocks"),
                   tiles());
      list.everywhere();
      list.at_most("shared sums", "tiles that leave processors without one", "tiles",
                   (v("groups") - 1) * tiles(), 2 * measured_processors);
    }
    return list.take();
  }

 private:
  /// Narrow tiles have all columns.
  std::vector<std::int64_t> widths() const {
    std::vector<std::int64_t> all{64, 128, 256, 512};
    for (const std::int64_t narrow : {32, 16}) {
      if (columns_.is_static() && columns_.value <= narrow) all.insert(all.begin(), narrow);
    }
    return all;
  }

  Expr by_warpgroups() const { return tile_.by_warpgroups; }
  Expr warps() const { return tile_.warps(); }
  /// At least a warp: a point without any is refused by another condition.
  Expr threads() const { return ir::maximum(warps() + v("producers"), 1) * lanes_of_warp; }
  Expr accumulators() const { return tile_.accumulators(); }
  Expr tiles() const {
    return ir::ceil_divide(weights_.rows, v("tile_m")) * ir::ceil_divide(columns_.value, v("tile_n"));
  }

  void shape(Conditions& list) const {
    list.at_most("rows of a group", "rows of a tile, which are of one group of V", "rows", v("tile_m"),
                 group_);
    list.divides("rows of a warp", "rows of a tile that no warp takes", v("warp_m"), v("tile_m"));
    list.divides("columns of a warp", "columns of a tile that no warp takes", v("warp_n"), v("tile_n"));
    list.at_most("line", "columns of a line that results leave through, of those of a warp", "columns",
                 v("line"), v("warp_n"));
    list.divides("lines of a warp", "columns of a warp in no line", v("line"), v("warp_n"));
    if (columns_.is_static())
      list.at_most("grid y", "tiles beside one another", "blocks",
                   ir::ceil_divide(columns_.value, v("tile_n")), 65535);
  }

  void instruction(Conditions& list) const {
    const Expr kind = v("instruction");
    const auto lacks = [&](Capability capability) { return Expr(target_.has(capability) ? 0 : 1); };
    list.at_most("instruction", "instructions that the target does not have", "instructions",
                 ir::select(ir::equal(kind, wgmma_number), lacks(Capability::warpgroup_tensor_cores),
                            ir::select(ir::equal(kind, mma_k16), lacks(Capability::mma_m16n8k16),
                                       lacks(Capability::mma_m16n8k8))),
                 0);
    list.divides("rows of an instruction", "rows of a warp that no instruction takes",
                 ir::select(by_warpgroups(), 64, 16), v("warp_m"));
  }

  void roles(Conditions& list) const {
    const Expr producers = v("producers");
    const Expr has = ir::minimum(producers, 1);
    if (target_.has(Capability::asynchronous_copies))
      list.at_most("copies ahead", "stages", "stages", v("stages"), 8);
    else
      list.at_most("copies ahead", "stages, of a target whose copies cannot run ahead", "stages", v("stages"),
                   1);
    list.at_most("roles", "warps that only copy, where the target and runs of columns have such copies",
                 "warps", producers, target_.has(Capability::bulk_copies) && runs_ ? 4 : 0);
    list.where(0 < producers);
    list.divides("runs of roles", "runs of a tile that those who copy do not share evenly",
                 lanes_of_warp * warps_of_warpgroup,
                 v("tile_k") * ir::minimum(v("tile_n") / columns_of_run, lanes_of_warp));
    list.everywhere();
    if (elements_) {
      list.where(0 < v("elements"));
      if (bytes_by_elements_)
        list.where(0 < producers);
      else
        list.at_most("elements", "warps that copy all, where only those who copy alone gather elements",
                     "warps", 4 - producers, 0);
      list.at_most("stages of elements", "stages of which each warp that copies fills its own", "stages", 4,
                   v("stages"));
      list.everywhere();
      words(list);
    }
    list.at_most("stages of roles", "stages that warps with roles need", "stages", has * 2, v("stages"));
    list.where(0 < v("blocks"));
    list.at_most("groups of roles", "groups that share a sum, beside warps with roles that go through tiles",
                 "groups", has * v("groups"), 1);
    list.everywhere();
    const Expr set = ir::minimum(v("producer_registers") + v("consumer_registers"), 1);
    list.at_most("registers of roles", "registers are set where warps have roles", {}, set, has);
    list.divides("warpgroups", "warps that are in no group whose registers are set",
                 ir::select(ir::equal(set, 0), 1, 4), warps());
    registers_of_roles(list);
  }

  /// Producers turn words of bytes of X [k, n].
  void words(Conditions& list) const {
    if (!bytes_by_elements_) return;
    list.where(ir::equal(v("elements"), 0));
    list.at_most("words", "warps that copy all, where only those who copy alone turn words", "warps",
                 4 - v("producers"), 0);
    list.at_most("stages of words", "stages of which each warp that copies fills its own", "stages", 4,
                 v("stages"));
    list.divides("columns of words", "columns that a warp turns at once", 32, v("tile_n"));
    list.at_most("bytes of words", "bytes that a tile has for the lanes of a warp", "B",
                 passes::WordGather::least_bytes, v("tile_k") * v("tile_n"));
    list.everywhere();
  }

  /// A choice of what a block with so many consumers begins with, by a number for each count of their
  /// warpgroups: Z3 has no patience with quotients of knobs.
  template <class Number>
  Expr with_consumers(Number&& of_threads) const {
    constexpr std::int64_t group = 4 * lanes_of_warp;
    const std::int64_t most = target_.threads_per_block / group - 1;
    Expr number = of_threads((most + 1) * group);
    for (std::int64_t groups = most - 1; groups > 0; --groups)
      number = ir::select(warps() <= 4 * groups, of_threads((groups + 1) * group), number);
    return number;
  }

  /// As specialize_warps asks: a block begins with the same number for each thread, and consumers get more
  /// only from producers.
  void registers_of_roles(Conditions& list) const {
    const Expr own = v("producer_registers"), others = v("consumer_registers");
    const auto of_each = [this](std::int64_t threads) {
      return std::min(target_.registers_per_thread, target_.registers_per_multiprocessor / threads / 8 * 8);
    };
    const Expr each = with_consumers(of_each);
    const Expr all = with_consumers([&](std::int64_t threads) { return of_each(threads) * threads; });
    list.at_most("registers of producers", "registers that producers keep, of those they begin with",
                 "registers", own, each);
    list.where(0 < others);
    list.at_most("registers of producers (2)", "registers that producers keep, of the consumers'",
                 "registers", own, others);
    list.where(ir::equal(own, 0));
    list.at_most("registers of consumers", "registers of consumers, to whom producers give up none",
                 "registers", others, each);
    list.everywhere();
    list.sum_at_most(
        "registers of all roles", "registers of all threads of a block", "registers",
        {{"producers", own * (4 * lanes_of_warp)}, {"consumers", others * (warps() * lanes_of_warp)}}, all);
  }

  void resources(Conditions& list) const {
    const std::int64_t resident = options_.resident_blocks;
    list.at_most("threads", "threads of a block", "threads", threads(), target_.threads_per_block);
    const Expr barriers = ir::minimum(v("producers"), 1) * (2 * ir::ceil_divide(v("stages"), 2) * 16);
    const Summands shared{{"A", tile_.room_of_weights() * v("stages")},
                          {"B", tile_.bytes_of_dense() * v("stages")},
                          {"rows of words", tile_.bytes_ahead()},
                          {"lines", tile_.bytes_of_lines(v("line"))},
                          {"barriers", barriers}};
    list.sum_at_most("shared memory", "bytes of shared memory of a block", "B", shared,
                     target_.shared_bytes_per_block);
    registers(list);
    if (resident <= 1) return;
    Expr of_block = target_.shared_bytes_reserved;
    for (const auto& [name, bytes] : shared) of_block = of_block + bytes;
    list.at_most("shared memory of a multiprocessor", fmt::format("bytes of {} blocks", resident), "B",
                 of_block * resident, target_.shared_bytes_per_multiprocessor);
    list.at_most("threads of a multiprocessor", fmt::format("threads of {} blocks", resident), "threads",
                 threads() * resident, target_.threads_per_multiprocessor);
  }

  /// As compile() asks. And where no copies run ahead, threads of weights in groups hold what they copy
  /// beside their sums: well beyond what there is, and with half of it sums, ptxas put 2 to 10 KB aside in
  /// every one of a dozen kernels; of pairs it put nothing aside in several. Of blocks that share a sum it
  /// did so, or not, for reasons that no condition here knows.
  void registers(Conditions& list) const {
    const std::int64_t of_processor = target_.registers_per_multiprocessor / options_.resident_blocks;
    const Expr reserved = reserved_registers;
    list.sum_at_most("registers", "32-bit registers of a thread", "registers",
                     {{"sums", accumulators()}, {"addresses", reserved}}, target_.registers_per_thread);
    if (options_.resident_blocks <= 1) list.where(ir::equal(v("consumer_registers"), 0));
    list.at_most("registers of a multiprocessor", "32-bit registers of all threads of a block", "registers",
                 (accumulators() + reserved_registers) * threads(), of_processor);
    list.everywhere();
    list.where(0 < v("consumer_registers"));
    list.at_most("registers for sums", "accumulators and addresses of a consumer", "registers",
                 accumulators() + reserved_registers, v("consumer_registers"));
    list.everywhere();
    if (pairs_) return;
    const Expr there = ir::minimum(target_.registers_per_thread, of_processor / threads());
    const Expr bytes = v("tile_k") * (v("tile_m") + v("tile_n")) * element_bytes_;
    const std::int64_t columns_of_group = weights_.rows > 0 ? weights_.stored() / weights_.rows : 0;
    list.where(ir::equal(v("stages"), 1) && ir::equal(v("groups"), 1) && there / 2 <= accumulators() &&
               v("tile_k") <= columns_of_group);
    list.sum_at_most(
        "registers of copies", "32-bit registers of a thread, which holds what it copies", "registers",
        {{"sums", accumulators()}, {"copies", bytes / (4 * threads())}, {"addresses", 8}}, there + there / 8);
    list.everywhere();
  }

  /// An estimate, fitted to what ptxas said of some hundred kernels: accumulators; fragments, of which half
  /// are there at a time; addresses; and what copies hold that no other warps and no asynchronous copies
  /// make. Blocks that share a sum need more where they add it up.
  Summands expected_registers() const {
    const Expr several = ir::minimum(v("groups") - 1, 1);
    const Expr roles = ir::minimum(v("producers"), 1);
    // Sparse instructions take twice the rows of the dense operand, and codes.
    const Expr fragments =
        pairs_ ? v("warp_m") / 16 * 3 + v("warp_n") / 4 : v("warp_m") / 16 * 2 + v("warp_n") / 8;
    const Expr of_wide = ir::select(127 < v("warp_n"), 70, 0);
    const Expr copies = ir::select(ir::equal(v("stages"), 1), accumulators() + of_wide, 0);
    const Expr of_warps = ir::select(ir::equal(roles, 1), 0, fragments + copies);
    return {
        {"sums", accumulators()},
        {"operands", ir::select(by_warpgroups(), 0, of_warps)},
        {"shared sums", several * ir::select(by_warpgroups(), accumulators() / 2, accumulators() * 3 / 4)},
        {"addresses", ir::select(ir::equal(roles, 1) && ir::equal(one_if(by_warpgroups()), 0), 32, 40) +
                          options_.more_registers}};
  }

  Expr registers_of_consumer() const {
    return ir::select(ir::equal(v("consumer_registers"), 0), registers_there(target_, options_, threads()),
                      v("consumer_registers"));
  }

  const Target& target_;
  SpaceOptions options_;
  bool pairs_;     ///< two of four are kept
  bool is_mixed_;  ///< not in all blocks
  std::int64_t group_;
  const WeightMatrix& weights_;
  Extent columns_;
  bool runs_;
  bool halves_;
  std::int64_t element_bytes_;
  bool promotes_;
  bool bytes_by_elements_;  ///< elements of a byte, which nothing else brings into lines along k
  bool elements_;           ///< whether producers may gather those of X [n, k]
  std::vector<std::int64_t> places_{16, 32, 64};
  Tile<Expr> tile_{pairs_,
                   ir::equal(v("instruction"), wgmma_number),
                   v("tile_m"),
                   v("tile_n"),
                   v("tile_k"),
                   v("warp_m"),
                   v("warp_n"),
                   element_bytes_,
                   promotes_ ? 0 < v("promote") : Expr(),
                   is_mixed_&& takes_two_blocks(weights_.values, weights_.rows, weights_.columns)
                       ? 0 < v("producers")
                       : Expr(),
                   bytes_by_elements_ ? ir::equal(v("elements"), 0) : Expr()};
};

}  // namespace

std::int64_t rows_of_group(const Format& format) {
  if (const std::int64_t given = parameter_of(format, "V", -1); given >= 0) return given;
  if (format.name == "hb_ell" && formats::keeps_two_of_four(format)) return rows_of_warp;
  if (format.name == "v_n_m") return formats::PairOptions{}.rows;
  if (format.name == "mixed") return formats::PairOptions{.rows = 128}.rows;
  if (format.name == "shfl_bw" || format.name == "vector_wise") return formats::GroupOptions{}.rows;
  return format.name == "n_m" || format.name == "column_quads" ? tallest : 0;
}

std::string why_no_grouped_tiles(const SpaceProblem& problem, const Target& target) {
  const GatheredProduct loops = ordered_product(problem.algorithm);
  if (loops.rows.empty() || loops.columns.empty())
    return "the algorithm is no product of two matrices, and no convolution";
  for (const std::string& name : loops.columns) {
    if (loops.columns.size() > 1 && !extent_of(problem.algorithm, name).is_static())
      return "the launch decides about the columns of a convolution";
  }
  const DType type = problem.matrix->values.dtype();
  if (auto reason = why_no_tensor_cores(target, type);
      !reason.empty() && !has_tensor_cores_for_bytes(target, type))
    return reason;
  const std::int64_t group = rows_of_group(problem.format);
  if (group < rows_of_warp)
    return fmt::format("groups of {} rows are fewer than an instruction takes", group);
  return why_no_sum(problem.algorithm);
}

RecipeChoices grouped_choices(const SpaceProblem& problem, PackedWeights&, const Target& target,
                              const SpaceOptions& options) {
  const Choices choices(problem, target, options);
  return {.knobs = choices.knobs(), .limits = choices.constraints(), .worth = choices.preferences()};
}

}  // namespace weft
