// Kernels where the system refuses executable memory. The filters stay for the life of a process, so each
// test has one of its own.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace weft {
namespace {

/// From now on the calls of those numbers fail where they ask for executable pages.
bool refuse_executable(const std::vector<unsigned>& calls) {
  constexpr unsigned protection = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);
  std::vector<sock_filter> filter;
  for (const unsigned call : calls) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3));
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, protection));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// 0 where the kernel is right, 1 where not, 2 for a RuntimeError, whose text is on stderr.
int result_of_kernel() {
  try {
    const auto weights = std::make_shared<const SparseTensor>(
        pack(synthetic_layer({.rows = 17, .columns = 33, .sparsity = 0.8}), formats::csr()));
    const Kernel kernel =
        compile(default_schedule(spmm_algorithm(17, 33, 9, DType::f32), weights, target_named("cpu")));
    Array b = random_array(DType::f32, {33, 9}, 1);
    Array c(DType::f32, {17, 9});
    return verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}}).passed ? 0 : 1;
  } catch (const RuntimeError& error) {
    std::fputs(error.what(), stderr);
    return 2;
  }
}

constexpr int no_filter = 77;

/// In a process of its own.
void run_refused(const std::vector<unsigned>& calls) {
  std::exit(refuse_executable(calls) ? result_of_kernel() : no_filter);
}

bool has_filters() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

TEST(CodeMemory, IsMappedFromAFileWhereItMayNotBecomeExecutable) {
  if (!has_filters()) GTEST_SKIP() << "[SKIP] no filters of system calls here";
  EXPECT_EXIT(run_refused({SYS_mprotect}), ::testing::ExitedWithCode(0),
              "no memory become executable; code of kernels is mapped from a file");
}

TEST(CodeMemory, WhereThatIsRefusedTooTheErrorNamesTheWayOut) {
  if (!has_filters()) GTEST_SKIP() << "[SKIP] no filters of system calls here";
  EXPECT_EXIT(run_refused({SYS_mprotect, SYS_mmap}), ::testing::ExitedWithCode(2),
              "cannot run: this system lets no memory become executable.*weft export");
}

}  // namespace
}  // namespace weft
