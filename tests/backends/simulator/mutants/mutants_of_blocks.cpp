#include "mutants_of.h"

namespace weft::mutants {
namespace {

constexpr const char* split = "split_sum";
constexpr const char* cluster = "cluster_exchange";
constexpr const char* named = "named_barriers";
constexpr const char* flags = "flags";
constexpr const char* wrong = "wrong result";

constexpr Mutant table[] = {
    {split, "no fence before the count", Change::fence, "fence.acq_rel.gpu;  // parts before", "", "race"},
    {split, "fence for the block only", Change::fence, "fence.acq_rel.gpu;  // parts before",
     "fence.acq_rel.cta;", "race"},
    {split, "fence for the whole system", Change::fence, "fence.acq_rel.gpu;  // parts before",
     "fence.acq_rel.sys;", "it only reaches further", true},
    {split, "no fence after the count", Change::fence, "fence.acq_rel.gpu;  // count before", "", "race"},
    {split, "no barrier before the count", Change::barrier, "bar.sync 0;  // parts of the block", "", "race"},
    {split, "no barrier after the flag", Change::barrier, "bar.sync 0;  // the flag is stored", "", "race"},
    {split, "all blocks add the parts", Change::predicate, "@%ends bra end;", "", "race"},
    {split, "the last but one block adds", Change::predicate, "%old, %old, 1;", "%old, %old, 2;", "race"},
    {split, "counts without atomics", Change::atomicity, "red.global.add.u32 [%counters+4], 1;",
     "ld.global.u32 %value, [%counters+4];\n  add.s32 %value, %value, 1;\n  st.global.u32 [%counters+4], "
     "%value;",
     "race"},
    {split, "reads the count by a plain load", Change::atomicity, "ld.relaxed.gpu.global.u32",
     "ld.global.u32", "all counting happened before", true},
    {split, "a row too few", Change::predicate, "%i, 4;  // rows of a block", "%i, 3;", wrong},
    {split, "a row too many", Change::predicate, "%i, 4;  // rows of a block", "%i, 5;", "out of bounds"},
    {split, "parts of blocks overlap", Change::index, "%at, %block, 64, %thread;",
     "%at, %block, 32, %thread;", "race"},

    {cluster, "no fence after the start", Change::fence, "fence.mbarrier_init.release.cluster;", "",
     "missing proxy fence"},
    {cluster, "no barrier after the start", Change::barrier,
     "barrier.cluster.arrive.release.aligned;  // barriers are ready\n"
     "  barrier.cluster.wait.acquire.aligned;  // barriers are ready",
     "", "mbarrier", false, true},
    {cluster, "does not wait for the row", Change::wait, "@!%done bra wait_full;", "", "race"},
    {cluster, "expects too few bytes", Change::barrier, "[%full], 256;  // bytes", "[%full], 128;",
     "deadlock", false, true},
    {cluster, "copies to one block", Change::predicate, "%blocks, 3;", "%blocks, 1;", "deadlock", false,
     true},
    {cluster, "both blocks copy", Change::predicate, "setp.eq.and.s32 %copies, %rank, 0, %is_first;",
     "setp.eq.and.s32 %copies, %rank, %rank, %is_first;", "race", false, true},
    {cluster, "no barrier after the values", Change::barrier,
     "barrier.cluster.arrive.release.aligned;  // values are stored\n"
     "  barrier.cluster.wait.acquire.aligned;  // values are stored",
     "", "race"},
    {cluster, "barrier that orders nothing", Change::barrier,
     "barrier.cluster.arrive.release.aligned;  // values", "barrier.cluster.arrive.relaxed.aligned;", "race"},
    {cluster, "barrier of the block only", Change::barrier,
     "barrier.cluster.arrive.release.aligned;  // values are stored\n"
     "  barrier.cluster.wait.acquire.aligned;  // values are stored",
     "bar.sync 0;", "race"},
    {cluster, "release by default", Change::barrier, "barrier.cluster.arrive.release.aligned;  // values",
     "barrier.cluster.arrive.aligned;", "release is what it means without the word", true},
    {cluster, "no barrier before the end", Change::barrier,
     "barrier.cluster.arrive.relaxed.aligned;  // before blocks end\n"
     "  barrier.cluster.wait.aligned;  // before blocks end",
     "", "out of bounds"},
    {cluster, "its own block as partner", Change::index, "%rank, 1;  // rank", "%rank, 0;", wrong},

    {named, "does not wait until the row was read", Change::wait, "bar.sync 2, 128;  // until", "", "race"},
    {named, "does not say that the row is there", Change::barrier, "bar.arrive 1, 128;", "", "deadlock",
     false, true},
    {named, "waits after storing too", Change::barrier, "bar.arrive 1, 128;", "bar.sync 1, 128;",
     "it only waits longer", true},
    {named, "says nothing at the start", Change::barrier, "bar.arrive 2, 128;  // at the start", "",
     "deadlock", false, true},
    {named, "does not wait for the row", Change::wait, "bar.sync 1, 128;  // until", "", "race", false, true},
    {named, "expects half of the threads", Change::barrier, "bar.sync 1, 128;  // until", "bar.sync 1, 64;",
     "barrier", false, true},
    {named, "waits at the wrong barrier", Change::barrier, "bar.sync 1, 128;  // until", "bar.sync 2, 128;",
     "race", false, true},
    {named, "says that it was read once too often", Change::predicate, "@%again bar.arrive 2, 128;",
     "bar.arrive 2, 128;", "nobody waits at the barrier any more", true},
    {named, "a row too many is added", Change::predicate, "%again, %t, 5;", "%again, %t, 6;", "deadlock",
     false, true},
    {named, "no barrier of the adding warps", Change::barrier, "bar.sync 3, 64;", "",
     "nothing is shared behind it", true},
    {named, "reads a place before", Change::index, "%factor, 127, %thread;", "%factor, 126, %thread;",
     "out of bounds"},

    {flags, "no barrier after the start", Change::barrier, "bar.sync 0;  // the flag is cleared", "", "race",
     false, true},
    {flags, "no fence before the flag", Change::fence, "membar.cta;  // values before", "", "race"},
    {flags, "no fence after the flag", Change::fence, "membar.cta;  // flag before", "", "race"},
    {flags, "fence for the whole device", Change::fence, "membar.cta;  // values before", "membar.gl;",
     "it only reaches further", true},
    {flags, "does not wait for the values", Change::wait, "@%waits bra answer;", "", "race"},
    {flags, "does not wait for the answer", Change::wait, "@%waits bra wait_answer;", "", "race"},
    {flags, "answer without release", Change::atomicity, "st.release.cta.global.u32",
     "st.relaxed.cta.global.u32", "race"},
    {flags, "answer heard without acquire", Change::atomicity, "ld.acquire.cta.global.u32",
     "ld.relaxed.cta.global.u32", "race"},
    {flags, "answer by a plain store", Change::atomicity, "st.release.cta.global.u32", "st.global.u32",
     "race"},
    {flags, "answer for the whole device", Change::atomicity, "st.release.cta.global.u32",
     "st.release.gpu.global.u32", "it only reaches further", true},
    {flags, "a flag that is not volatile", Change::atomicity, "st.volatile.shared.u32", "st.shared.u32",
     "race"},
};

}  // namespace

std::span<const Mutant> mutants_of_blocks() {
  return table;
}

}  // namespace weft::mutants
