// Pruning: which weights to keep so that a format can store the rest of the matrix as nothing.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

/// Where the search for a Shfl-BW row order is.
struct PruneProgress {
  std::int64_t attempt = 0;  ///< from 1
  std::int64_t attempts = 0;
  std::string_view stage;  ///< "k-means" or "refinement"
  std::int64_t round = 0;  ///< round of that stage, from 1
};

struct PruneOptions {
  /// Share of the places to be left without a weight, at least 0 and below 1. Left out: the one that the
  /// pattern of n_m and v_n_m has, which take no other; 0.35 for mixed, which takes at most 0.5; 0.75 for all
  /// other formats.
  std::optional<double> sparsity = {};
  /// What each weight is worth, at the places of the weights; |w| where nothing is given. Finite and at least
  /// 0. A place that it does not list is worth 0, and so is a weight that is zero already.
  const WeightMatrix* scores = nullptr;
  std::uint64_t seed = 1;  ///< equal seeds choose equal weights
  /// How many row orders the Shfl-BW search tries before it keeps the best; 0: up to eight, fewer where one
  /// takes seconds.
  std::int64_t attempts = 0;
  /// False: the Shfl-BW search ends with the k-means, where the paper's ends.
  bool refine = true;
  std::function<void(const PruneProgress&)> progress = {};  ///< called from the thread that prunes
};

/// Which places of a weight stay: some of its stored entries, or all places of the blocks or columns that are
/// kept, those whose weight was zero already included.
struct Pruning {
  Format format;
  std::vector<std::int64_t> row_begin;  ///< rows + 1 offsets into `column`
  std::vector<std::int32_t> column;     ///< ascending inside a row
  double kept_score = 1;                ///< share of the score of all weights; 1 where that is 0
  std::vector<std::int32_t> row_order;  ///< shfl_bw: the rows group by group, the last group may be short

  std::int64_t kept() const { return static_cast<std::int64_t>(column.size()); }
};

/// Chooses by the structure that the format stores:
///
///   csr, csc, coo, ell, padded_csr  single weights
///   bcsr:b=32, blocked_ell:b=32     blocks of b x b, aligned to multiples of b
///   vector_wise:V=64                columns of V rows, aligned to multiples of V
///   shfl_bw:V=64                    columns of V rows, after the rows were shuffled into groups of V
///   n_m                             two weights of every four columns of a row
///   v_n_m:V=64,M=16                 the same of four columns that V rows have left of M
///   mixed:V=128,k=64                the same in some tiles of V rows and k columns; all weights of the
///   others
///
/// In n_m and v_n_m blocks of V rows and M columns, M from 4 to 256, are aligned to multiples of both and
/// chosen one by one: the four columns that leave most score once each row has kept its best two of them, and
/// those two. For M up to 20 every choice of columns is tried; for more they come one by one and change
/// places with others as long as the score grows. Blocks at the edges have fewer rows or columns, and what
/// the weight does not have is not kept. (Castro et al., "VENOM: A Vectorized N:M Format for Unleashing the
/// Power of Sparse Tensor Cores", SC 2023.)
///
/// In mixed, groups of V rows have the same number of tiles that are pruned, or one more, those that lose the
/// least score for the places that they leave.
///
/// Of all others no more than round((1 - sparsity) * rows * columns) places are kept: for single weights just
/// as many, where the weight has them; otherwise as many whole blocks or columns as fit. Those with the
/// greatest mean score are kept, over the whole matrix, so that groups may keep different numbers. A block or
/// group that overhangs the edge has fewer places; where V does not divide the rows, the last group is the
/// short one.
///
/// Shfl-BW is searched as the paper of that name does it: the best scores at twice the density are a binary
/// mask, whose rows a balanced k-means shares out to groups of exactly V, and the permuted matrix is pruned
/// vector-wise. Refinement then goes on with the kept score itself: rows change places between groups as long
/// as the columns that the groups keep hold more score, and the columns are chosen anew. It never keeps less
/// than vector_wise does.
///
/// UserError for formats of which no pruning is known, a granularity that is not from 1 to 2^20, an M out of
/// range, a sparsity out of range or other than that of the pattern, weights or scores that are not finite,
/// negative scores, and scores of another shape.
Pruning choose_weights(const WeightMatrix& weights, const Format& format, const PruneOptions& options,
                       CallPlace place = {});
WEFT_CALL_REFUSED(Pruning, choose_weights,
                  "choose_weights(weights, formats::shfl_bw({.rows = 64}), {.sparsity = 0.75})")

namespace detail {

/// What options of pruning may be called by mistake, in the order in which they are usually given.
struct NamesOfPruneOptions {
  Anything sparsity = {}, density = {}, amount = {}, ratio = {}, target = {}, method = {}, scores = {},
           score = {}, importance = {}, mask = {}, seed = {}, attempts = {}, tries = {}, iterations = {},
           refine = {}, progress = {}, verbose = {}, rows = {}, group = {}, block = {};
};

}  // namespace detail
WEFT_OPTION_REFUSED(
    Pruning, choose_weights, detail::NamesOfPruneOptions,
    ".sparsity, .scores, .seed, .attempts, .refine, .progress in this order, such as {.sparsity = 0.75}",
    const WeightMatrix&, const Format&)

/// The weights that stay, in the shape of the whole: an entry for every place of the pruning, explicit zeros
/// where the weight had none, so that a kept column of a group is complete. UserError when the pruning has
/// been made from weights of another shape.
WeightMatrix pruned(const WeightMatrix& weights, const Pruning& pruning, CallPlace place = {});
WEFT_CALL_REFUSED(
    WeightMatrix, pruned,
    "pruned(weights, choose_weights(weights, formats::shfl_bw({.rows = 64}), {.sparsity = 0.75}))")

/// Always refused: which weights stay is chosen for a format.
template <class... Given>
  requires(std::same_as<Given, WeightMatrix> || ...)
WeightMatrix prune(const Given&...) {
  static_assert(detail::never<Given...>,
                "weft: there is no prune; accepted: pruned(weights, choose_weights(weights, "
                "formats::shfl_bw({.rows = 64}), {.sparsity = 0.75}))");
  return {};
}

/// The rows or columns of a block, or the rows of a group, that `format` is pruned by: the parameter b (16)
/// or V (64); 1 for formats of single weights. UserError as from choose_weights.
std::int64_t granularity_of(const Format& format, CallPlace place = {});

/// The share of the places that the pattern of `format` leaves without a weight: 1 - 2/M for n_m, whose M is
/// 4, and v_n_m; nothing for formats that are pruned to any sparsity. UserError as from choose_weights.
std::optional<double> sparsity_of_pattern(const Format& format, CallPlace place = {});

}  // namespace weft
