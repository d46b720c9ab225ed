#include "mutants_of.h"

namespace weft::mutants {
namespace {

constexpr const char* ring = "copy_ring";
constexpr const char* product = "half_product";
constexpr const char* sparse = "sparse_product";
constexpr const char* warps = "barrier_ring";
constexpr const char* wrong = "wrong result";

constexpr Mutant table[] = {
    {ring, "waits for a group less", Change::wait, "wait_group 2;", "wait_group 3;", "race"},
    {ring, "no wait", Change::wait, "cp.async.wait_group 2;  // for the oldest stage", "", "race"},
    {ring, "waits for a group more", Change::wait, "wait_group 2;", "wait_group 1;", "it only waits longer",
     true},
    {ring, "waits for all", Change::wait, "wait_group 2;", "wait_all;", "it only waits longer", true},
    {ring, "no barrier", Change::barrier, "bar.sync 0;  // everybody's copies are there", "", "race"},
    {ring, "barrier before the wait", Change::barrier,
     "cp.async.wait_group 2;  // for the oldest stage\n  bar.sync 0;",
     "bar.sync 0;\n  cp.async.wait_group 2;", "race"},
    {ring, "no commit in the loop", Change::commit, "cp.async.commit_group;  // of the loop", "", "race"},
    {ring, "no commit of the first stage", Change::commit, "cp.async.commit_group;  // of stage 0", "",
     "race"},
    {ring, "a commit where nothing is copied is left out", Change::commit,
     "copied:\n  cp.async.commit_group;  // of the loop", "  cp.async.commit_group;\ncopied:", "race"},
    {ring, "fills two stages only", Change::index, "and.b32 %stage, %next, 3;", "and.b32 %stage, %next, 1;",
     "race"},
    {ring, "reads two stages only", Change::index, "and.b32 %stage, %t, 3;", "and.b32 %stage, %t, 1;",
     "race"},
    {ring, "reads another quad", Change::index, "%thread, 33;", "%thread, 32;", wrong},
    {ring, "a row too few", Change::predicate, "%next, 7;  // rows", "%next, 6;", wrong},
    {ring, "a quad too many", Change::predicate, "%element, 434;", "%element, 435;", "out of bounds"},
    {ring, "a quad too few", Change::predicate, "%element, 434;", "%element, 433;", wrong},
    {ring, "reads outside, not inside", Change::predicate, "selp.b32 %size, 0, 16,", "selp.b32 %size, 16, 0,",
     "out of bounds"},

    {product, "waits for a group less", Change::wait, "wait_group 1;", "wait_group 2;", "race"},
    {product, "waits for a group more", Change::wait, "wait_group 1;", "wait_group 0;",
     "it only waits longer", true},
    {product, "no commit in the loop", Change::commit, "cp.async.commit_group;  // of the loop", "", "race"},
    {product, "no barrier before reading", Change::barrier, "bar.sync 0;  // tiles are there", "", "race"},
    {product, "no barrier after reading", Change::barrier, "bar.sync 0;  // tiles were read", "", "race"},
    {product, "copy swizzled by another bit", Change::swizzle, "%row, 2;  // swizzle of the copy", "%row, 1;",
     wrong},
    {product, "load swizzled by another bit", Change::swizzle, "%row, 2;  // swizzle of the load", "%row, 3;",
     wrong},
    {product, "a thread too few copies B", Change::predicate, "%thread, 32;  // who copies B", "%thread, 31;",
     "unwritten memory"},
    {product, "all threads copy B", Change::predicate, "@%copies_b cp.async.cg.shared.global [%to+1024]",
     "cp.async.cg.shared.global [%to+1024]", "race"},
    {product, "fills one stage", Change::index, "and.b32 %stage, %next, 1;", "and.b32 %stage, %next, 0;",
     "race"},
    {product, "rows of the warps overlap", Change::index, "%warp, 16, %row_of_c;", "%warp, 8, %row_of_c;",
     "race"},
    {product, "lower rows too high", Change::index, "[%address+512], {%c2, %c3};",
     "[%address+448], {%c2, %c3};", wrong},
    {product, "B not transposed", Change::index, "x4.trans.shared", "x4.shared", wrong},
    {product, "the left half of B for the right", Change::index, "{%b2, %b3}, {%d0", "{%b0, %b1}, {%d0",
     wrong},

    {sparse, "metadata of other lanes", Change::metadata, "%e, 0x0;", "%e, 0x1;", "sparse metadata"},
    {sparse, "a bit of a first index", Change::metadata, "[%word];  // words of the pairs",
     "[%word];\n  xor.b32 %e, %e, 1;", wrong},
    {sparse, "a bit of a second index", Change::metadata, "[%word];  // words of the pairs",
     "[%word];\n  xor.b32 %e, %e, 0x40000000;", wrong},
    {sparse, "metadata of rows 8 apart swapped", Change::metadata, "[%word];  // words of the pairs",
     "[%word];\n  prmt.b32 %e, %e, 0, 0x1032;", wrong},
    {sparse, "metadata not said to be ordered", Change::metadata, "mma.sp::ordered_metadata.sync",
     "mma.sp.sync", "ordered metadata is what the plain form takes too", true},
    {sparse, "metadata of the wrong step", Change::index, "%word, 64;", "%word, 32;", wrong},
    {sparse, "one lane of a pair has metadata", Change::predicate, "%member, 2;", "%member, 1;",
     "sparse metadata"},
    {sparse, "no wait", Change::wait, "cp.async.wait_group 0;  // for both", "", "race"},
    {sparse, "waits for a group less", Change::wait, "wait_group 0;", "wait_group 1;", "race"},
    {sparse, "no commit", Change::commit, "cp.async.commit_group;  // of both", "", "race"},
    {sparse, "no barrier", Change::barrier, "bar.sync 0;  // tiles are there", "", "race"},
    {sparse, "lower rows too high", Change::index, "[%address+512];", "[%address+448];", wrong},

    {warps, "no barrier after the start", Change::barrier, "bar.sync 0;  // barriers are ready", "",
     "mbarrier"},
    {warps, "does not wait until a stage is full", Change::wait, "@!%done bra wait_full;", "", "race"},
    {warps, "does not wait until a stage is empty", Change::wait, "@!%done bra wait_empty;", "", "race"},
    {warps, "tests instead of trying", Change::wait,
     "mbarrier.try_wait.parity.shared::cta.b64 %done, [%at], %parity;\n  @!%done bra wait_full;",
     "mbarrier.test_wait.parity.shared::cta.b64 %done, [%at], %parity;\n  @!%done bra wait_full;",
     "the loop asks until the phase is over either way", true},
    {warps, "full counts a lane too few", Change::barrier, "[%full], 32;", "[%full], 31;", "race"},
    {warps, "empty counts a warp too few", Change::barrier, "[%empty], 2;", "[%empty], 1;", "race"},
    {warps, "empty waits for the wrong phase", Change::wait, "%parity, 1;  // empty parity", "%parity, 0;",
     "deadlock", false, true},
    {warps, "full waits for the wrong phase", Change::wait, "%t, 1;  // full parity", "%t, 0;", "race"},
    {warps, "no arrival after reading", Change::barrier,
     "@%is_leader mbarrier.arrive.shared::cta.b64 %state, [%at];", "", "deadlock", false, true},
    {warps, "all lanes arrive after reading", Change::predicate, "@%is_leader mbarrier.arrive",
     "mbarrier.arrive", "deadlock", false, true},
    {warps, "arrival counts itself", Change::barrier, "arrive.noinc.shared::cta", "arrive.shared::cta",
     "deadlock", false, true},
    {warps, "arrives before its copies", Change::barrier,
     "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%at];",
     "mbarrier.arrive.shared::cta.b64 %state, [%at];", "race"},
};

}  // namespace

std::span<const Mutant> mutants_of_copies() {
  return table;
}

}  // namespace weft::mutants
