#include "mutants_of.h"

namespace weft::mutants {
namespace {

constexpr const char* bulk = "bulk_ring";
constexpr const char* group = "warpgroup_product";
constexpr const char* tensor = "tensor_product";
constexpr const char* wrong = "wrong result";

constexpr Mutant table[] = {
    {bulk, "no fence after the start", Change::fence, "fence.proxy.async.shared::cta;  // barriers", "",
     "missing proxy fence"},
    {bulk, "no barrier after the start", Change::barrier, "bar.sync 0;  // barriers are ready", "",
     "mbarrier"},
    {bulk, "expects too few bytes", Change::barrier, "[%full], 1024;", "[%full], 1008;", "deadlock", false,
     true},
    {bulk, "expects no bytes", Change::barrier,
     "mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%full], 1024;",
     "mbarrier.arrive.shared::cta.b64 %state, [%full];", "race", false, true},
    {bulk, "waits for the wrong phase", Change::wait, "%t, 1;  // parity of the phase", "%t, 2;", "race"},
    {bulk, "does not wait for the copy", Change::wait, "@!%done bra wait_full;", "", "race"},
    {bulk, "no fence before the copy out", Change::fence, "fence.proxy.async.shared::cta;  // results", "",
     "missing proxy fence"},
    {bulk, "fence for global memory", Change::fence, "fence.proxy.async.shared::cta;  // results",
     "fence.proxy.async.global;", "missing proxy fence"},
    {bulk, "fence for all memory", Change::fence, "fence.proxy.async.shared::cta;  // results",
     "fence.proxy.async;", "it only reaches further", true},
    {bulk, "fence after the barrier", Change::fence,
     "fence.proxy.async.shared::cta;  // results for the bulk copy\n  bar.sync 0;",
     "bar.sync 0;\n  fence.proxy.async.shared::cta;",
     "the thread that copies has the fence between the barrier and its copy", true},
    {bulk, "no barrier before the copy out", Change::barrier, "bar.sync 0;  // results are there", "",
     "race"},
    {bulk, "no barrier after the copy out", Change::barrier, "bar.sync 0;  // results may be written again",
     "", "race"},
    {bulk, "no commit", Change::commit, "cp.async.bulk.commit_group;", "", "race"},
    {bulk, "no wait for the copy out", Change::wait, "cp.async.bulk.wait_group.read 0;", "", "race"},
    {bulk, "waits for a group less", Change::wait, "wait_group.read 0;", "wait_group.read 1;", "race"},
    {bulk, "waits for the writes too", Change::wait, "wait_group.read 0;", "wait_group 0;",
     "it only waits longer", true},
    {bulk, "a row too few", Change::predicate, "%next, 5;  // rows", "%next, 4;", "deadlock", false, true},
    {bulk, "a row too many", Change::predicate, "%next, 5;  // rows", "%next, 6;", "out of bounds"},
    {bulk, "fills one stage", Change::index, "%stage, 1024, %base;", "%stage, 0, %base;", "race"},
    {bulk, "fills a stage from its half", Change::index, "[%base+1024], [%from+1024]",
     "[%base+1032], [%from+1024]", "misaligned", false, true},

    {group, "waits for a copy less", Change::wait, "cp.async.wait_group 1;", "cp.async.wait_group 2;",
     "race"},
    {group, "no commit of copies", Change::commit, "cp.async.commit_group;", "", "race"},
    {group, "no proxy fence", Change::fence, "fence.proxy.async.shared::cta;", "", "missing proxy fence"},
    {group, "no barrier before the products", Change::barrier, "bar.sync 0;  // tiles are there", "", "race"},
    {group, "no barrier after the products", Change::barrier, "bar.sync 0;  // the step before", "", "race"},
    {group, "no wgmma.fence", Change::fence, "wgmma.fence.sync.aligned;", "", "missing wgmma.fence"},
    {group, "no commit of products", Change::commit, "wgmma.commit_group.sync.aligned;", "", "race"},
    {group, "waits for a product less", Change::wait, "wgmma.wait_group.sync.aligned 1;",
     "wgmma.wait_group.sync.aligned 2;", "race"},
    {group, "waits for a product more", Change::wait, "wgmma.wait_group.sync.aligned 1;",
     "wgmma.wait_group.sync.aligned 0;", "it only waits longer", true},
    {group, "no wait for the last product", Change::wait, "wgmma.wait_group.sync.aligned 0;", "",
     "register in flight"},
    {group, "swizzle of four rows", Change::swizzle, "%row, 7;  // swizzle", "%row, 3;", wrong},
    {group, "swizzle of 64 bytes read", Change::swizzle, "0x4000004000010000", "0x8000004000010000", wrong},
    {group, "no swizzle read", Change::swizzle, "0x4000004000010000", "0x0000004000010000", wrong},
    {group, "stride too short", Change::index, "0x4000004000010000", "0x4000002000010000", wrong},
    {group, "other leading offset", Change::index, "0x4000004000010000", "0x4000004000020000",
     "no operand is wider than the swizzle, so it is not used", true},
    {group, "step of A too short", Change::index, "%matrix_a, 2;  // A of step 1", "%matrix_a, 1;", wrong},
    {group, "step of B too short", Change::index, "%matrix_b, 128;  // B of step 2", "%matrix_b, 64;", wrong},
    {group, "B not transposed", Change::index, "1, 1, 1, 0, 1;  // step 3", "1, 1, 1, 0, 0;", wrong},
    {group, "other rows of A", Change::index, "[%from_a+24576]", "[%from_a+16384]", wrong},
    {group, "fills two stages only", Change::index, "rem.s32 %fill, %next, 3;", "rem.s32 %fill, %next, 2;",
     "race"},
    {group, "a step too few is copied", Change::predicate, "%next, 4;", "%next, 3;", wrong},

    {tensor, "no fence after the start", Change::fence, "fence.proxy.async.shared::cta;", "",
     "missing proxy fence"},
    {tensor, "no barrier after the start", Change::barrier, "bar.sync 0;  // barriers are ready", "",
     "mbarrier"},
    {tensor, "does not wait until a stage is full", Change::wait, "@!%done bra wait_full;", "", "race"},
    {tensor, "does not wait until a stage is empty", Change::wait, "@!%done bra wait_empty;", "", "race"},
    {tensor, "full waits for the wrong phase", Change::wait, "%t, 1;  // full parity", "%t, 0;", "race"},
    {tensor, "empty counts a warp too few", Change::barrier, "[%empty], 4;", "[%empty], 3;", "race"},
    {tensor, "expects one box only", Change::barrier, "[%barrier], 16384;", "[%barrier], 8192;", "race",
     false, true},
    {tensor, "no arrival after reading", Change::barrier,
     "@%is_leader mbarrier.arrive.shared::cta.b64 %state, [%barrier];", "", "deadlock", false, true},
    {tensor, "all lanes arrive after reading", Change::predicate, "@%is_leader mbarrier.arrive",
     "mbarrier.arrive", "deadlock", false, true},
    {tensor, "no wait for products", Change::wait, "wgmma.wait_group.sync.aligned 0;", "", "race"},
    {tensor, "waits for a product less", Change::wait, "wgmma.wait_group.sync.aligned 0;",
     "wgmma.wait_group.sync.aligned 1;", "race"},
    {tensor, "no wgmma.fence", Change::fence, "wgmma.fence.sync.aligned;", "", "missing wgmma.fence"},
    {tensor, "swizzle of 32 bytes read", Change::swizzle, "0x4000004000010000", "0xC000004000010000", wrong},
    {tensor, "coordinates swapped", Change::index, "{%inner, %zero}", "{%zero, %inner}", wrong},
    {tensor, "a step too many is copied", Change::predicate, "%next, 4, %is_first;", "%next, 5, %is_first;",
     "not waited for"},
};

}  // namespace

std::span<const Mutant> mutants_of_warpgroups() {
  return table;
}

}  // namespace weft::mutants
