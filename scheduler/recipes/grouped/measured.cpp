#include <weft/scheduler/recipes/grouped/measured.h>
#include <weft/scheduler/recipes/grouped/shape.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>

namespace weft {
namespace {

using grouped::rows_of_warpgroup;

/// Elements of tiles of which a multiprocessor holds several, one or two, and one.
constexpr std::int64_t small_tile = 4096, middle_tile = 8192, large_tile = 16'384;

class Measured {
 public:
  Measured(Conditions& list, std::int64_t group_rows)
      : list_(list), warpgroups_(group_rows >= rows_of_warpgroup) {}

  void operator()() {
    if (warpgroups_) {
      list_.where(by_warpgroups_ && wide_);
      sums_of_warpgroups();
      list_.where(negated(by_warpgroups_));
      shared_sums_of_warps();
    } else {
      sums_of_warps();
    }
    shared_sums();
    persistent();
    copies();
    registers();
    list_.everywhere();
  }

 private:
  void sums_of_warpgroups() {
    list_.at_most("rows of a warpgroup", "rows that a warpgroup sums: those of one instruction", "rows",
                  v("warp_m"), rows_of_warpgroup);
    list_.at_most("columns of a warpgroup", "columns that a warpgroup sums", "columns", 64, v("warp_n"));
    const Expr beside = ir::select(v("tile_m") <= rows_of_warpgroup && 0 < v("blocks"), 2, 1);
    list_.at_most("warpgroups beside one another",
                  "columns of a tile, of which one warpgroup takes all, or two half", "columns", v("tile_n"),
                  v("warp_n") * beside);
    list_.at_most("groups of warpgroups", "blocks that share a sum of warpgroups, which spills", "blocks",
                  v("groups"), 1);
    list_.where(by_warpgroups_ && ir::equal(v("tile_n"), 64) && ir::equal(v("blocks"), 0));
    list_.at_most("narrow tiles", "rows of a tile of 64 columns", "rows", v("tile_m"), rows_of_warpgroup);
  }

  /// Warps do the work of warpgroups only where these cannot: where blocks share sums.
  void shared_sums_of_warps() {
    list_.at_most("warps for shared sums", "blocks that share a sum of warps", "blocks", 4, v("groups"));
    list_.at_most("tiles of shared sums", "elements of a tile whose sums blocks share", "elements", area_,
                  small_tile);
    list_.at_most("tiles of shared sums (2)", "elements of a tile whose sums blocks share", "elements",
                  small_tile, area_);
    list_.at_most("rows of a warp", "rows that a warp sums", "rows", v("warp_m"), 32);
  }

  void sums_of_warps() {
    list_.at_most("rows of a warp", "rows that a warp sums", "rows", v("warp_m"), 32);
    list_.at_most("columns of a warp", "columns that a warp sums", "columns", v("warp_n"), 64);
    list_.at_most("columns of a warp (2)", "columns that a warp sums", "columns",
                  ir::select(v("tile_m") < 32, 16, 32), v("warp_n"));
    const Expr warps = (v("tile_m") / v("warp_m")) * (v("tile_n") / v("warp_n"));
    list_.at_most("warps (2)", "warps of a block", "warps", warps, 8);
    list_.where(v("warp_m") < ir::minimum(v("tile_m"), 32));
    list_.at_most("low warps", "columns of a tile of warps of 16 rows", "columns", v("tile_n"), 64);
  }

  void shared_sums() {
    list_.where(1 < v("groups") && wide_);
    list_.at_most("blocks of shared sums", "blocks that share a sum", "blocks", 4, v("groups"));
    list_.at_most("persistent shared sums", "one, where blocks that share sums go through tiles", {}, 1,
                  v("blocks"));
    list_.at_most("copies of shared sums", "tiles under way", "stages", 4, v("stages"));
    list_.at_most("places of shared sums", "places of a stage", "places", 32, v("tile_k"));
    list_.at_most("columns of shared sums", "columns of a tile", "columns", v("tile_n"), 128);
  }

  void persistent() {
    list_.where(0 < v("blocks") && v("groups") <= 1 && wide_);
    list_.at_most("persistent roles", "warps that copy ahead into the next tile", "warps", 1, v("producers"));
    list_.at_most("persistent tiles", "elements of tiles that blocks go through", "elements",
                  warpgroups_ ? middle_tile : small_tile, area_);
  }

  void copies() {
    list_.where(middle_tile < area_);
    list_.at_most("places of large tiles", "places of a stage of a large tile", "places", 32, v("tile_k"));
    list_.at_most("stages of large tiles", "stages of a large tile", "stages", 3, v("stages"));
    list_.where(0 < v("producers"));
    list_.at_most("stages of producers", "tiles that producers are ahead", "stages",
                  ir::select(large_tile <= area_, 3, 4), v("stages"));
    list_.where(ir::equal(v("tile_k"), 16) && 0 < v("producers"));
    list_.at_most("short stages", "stages of 16 places by producers", "stages", 8, v("stages"));
    list_.where(ir::equal(v("stages"), 5));
    list_.at_most("five stages", "elements of tiles in five stages", "elements", area_, small_tile);
    list_.everywhere();
    list_.at_most("places under way", "places of all stages", "places", 64, v("tile_k") * v("stages"));
  }

  void registers() {
    list_.where(0 < v("consumer_registers"));
    list_.at_most("registers of consumers", "registers of a thread that multiplies", "registers", 208,
                  v("consumer_registers"));
    list_.where(0 < v("producers") && middle_tile < area_);
    list_.at_most("registers of large tiles", "registers that are handed over", "registers", 208,
                  v("consumer_registers"));
  }

  Conditions& list_;
  bool warpgroups_;
  Expr area_ = v("tile_m") * v("tile_n");
  Expr by_warpgroups_ = ir::equal(v("instruction"), wgmma_number);
  Expr wide_ = negated(is_narrow(v("tile_n")));
};

}  // namespace

void prefer_what_was_fast(Conditions& list, std::int64_t group_rows) {
  Measured(list, group_rows)();
}

}  // namespace weft
