#include "mutants_of.h"

namespace weft::mutants {
namespace {

constexpr const char* tiles = "tile_product";
constexpr const char* sums = "block_sum";
constexpr const char* wrong = "wrong result";

constexpr Mutant table[] = {
    {tiles, "no barrier", Change::barrier, "bar.sync 0;  // between tiles", "", "race"},
    {tiles, "barrier of a warp only", Change::barrier, "bar.sync 0;  // between tiles",
     "bar.warp.sync 0xffffffff;", "race"},
    {tiles, "barrier in some lanes", Change::barrier, "bar.sync 0;  // between tiles",
     "@%column_of_b bar.sync 0;", "barrier", false, true},
    {tiles, "barrier without .aligned", Change::barrier, "bar.sync 0;  // between tiles", "barrier.sync 0;",
     "all lanes arrive together, so it need not be aligned", true},
    {tiles, "fills one buffer", Change::index, "and.b32 %buffer, %next, 1;", "and.b32 %buffer, %next, 0;",
     "race"},
    {tiles, "reads one buffer", Change::index, "and.b32 %buffer, %tile, 1;", "and.b32 %buffer, %tile, 0;",
     "race"},
    {tiles, "a row of A too many", Change::predicate, "%row, 30;  // rows of A", "%row, 31;",
     "out of bounds"},
    {tiles, "a row of A too few", Change::predicate, "%row, 30;  // rows of A", "%row, 29;", wrong},
    {tiles, "a column of A too many", Change::predicate, "%inner, 44, %row_of_a;", "%inner, 45, %row_of_a;",
     "out of bounds"},
    {tiles, "a column of A too few", Change::predicate, "%inner, 44, %row_of_a;", "%inner, 43, %row_of_a;",
     wrong},
    {tiles, "no guard for A", Change::predicate, "@%in_a ld.global.f32", "ld.global.f32", "out of bounds"},
    {tiles, "a column of B too many", Change::predicate, "%column, 27;  // columns of B", "%column, 28;",
     "out of bounds"},
    {tiles, "a row of B too many", Change::predicate, "%inner, 44, %column_of_b;",
     "%inner, 45, %column_of_b;", "out of bounds"},
    {tiles, "a column of C too many", Change::predicate, "%column, 27, %row_of_c;", "%column, 28, %row_of_c;",
     "race"},
    {tiles, "a row of C too many", Change::predicate, "%row, 30;  // rows of C", "%row, 31;",
     "out of bounds"},
    {tiles, "tile too shallow", Change::predicate, "%i, 16;  // depth", "%i, 15;", wrong},
    {tiles, "a tile too few", Change::predicate, "%tile, 3;  // tiles", "%tile, 2;", wrong},
    {tiles, "row of B too short", Change::index, "%from_b, 64;", "%from_b, 60;", wrong},

    {sums, "no barrier after the parts", Change::barrier, "bar.sync 0;  // parts are stored", "", "race"},
    {sums, "no barrier after the total", Change::barrier, "bar.sync 0;  // total is stored", "", "race"},
    {sums, "no barrier at the end of a row", Change::barrier, "bar.sync 0;  // end of the row", "",
     "the parts of the next row are stored after the second barrier, its total after the first one", true},
    {sums, "barrier of another number", Change::barrier, "bar.sync 0;  // total is stored", "bar.sync 1;",
     "all threads meet there too", true},
    {sums, "barrier for the first warp only", Change::barrier, "bar.sync 0;  // total is stored",
     "@%is_first_warp bar.sync 0;", "race", false, true},
    {sums, "a part too many", Change::predicate, "%lane, 4;  // warps", "%lane, 5;", "unwritten memory"},
    {sums, "a part too few", Change::predicate, "%lane, 4;  // warps", "%lane, 3;", wrong},
    {sums, "all lanes store a part", Change::predicate, "@%is_leader st.shared.s32 [%slot]",
     "st.shared.s32 [%slot]", wrong},
    {sums, "leader stores the total", Change::predicate, "@%is_first st.shared.s32 [total]",
     "@%is_leader st.shared.s32 [total]", "only the first warp comes there, whose leader is the first thread",
     true},
    {sums, "one part for all warps", Change::index, "%slot, %warp, 4, %slot;", "%slot, %warp, 0, %slot;",
     "race"},
    {sums, "a step of the shuffles twice", Change::index, "%sum, 8, 31, 0xffffffff;  // of 8",
     "%sum, 4, 31, 0xffffffff;  // of 8", wrong},
    {sums, "shuffle of half of the lanes", Change::predicate, "%sum, 8, 31, 0xffffffff;  // of 8",
     "%sum, 8, 31, 0x0000ffff;", "diverged"},
    {sums, "no last step", Change::index, "%sum, 1, 31, 0xffffffff;  // last step",
     "%sum, 0, 31, 0xffffffff;", wrong},
};

}  // namespace

std::span<const Mutant> mutants_of_loops() {
  return table;
}

}  // namespace weft::mutants
