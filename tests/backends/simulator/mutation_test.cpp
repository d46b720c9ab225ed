// Correct kernels of several kinds and what becomes of them when one thing is changed: the correct ones are
// right and clean in every order, every mutant that is not equivalent is found in at least one of a few runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "mutants/kernels.h"
#include "mutants/mutants.h"
#include "mutants/run_on_simulator.h"

namespace weft::mutants {
namespace {

const std::string folder = std::string(WEFT_TESTS_DIR) + "/backends/simulator/mutants";

/// In these orders every mutant has to show; the correct kernels go through more.
std::vector<Order> orders(std::uint64_t seeds) {
  std::vector<Order> all;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const bool late : {true, false}) all.push_back({seed, late});
  return all;
}

class CorrectKernel : public ::testing::TestWithParam<Kernel> {};

TEST_P(CorrectKernel, IsRightAndCleanInEveryOrder) {
  const Kernel& kernel = GetParam();
  const std::string ptx = read_ptx(folder, kernel.name);
  for (const Order& order : orders(8)) {
    const Outcome outcome = run_on_simulator(kernel, ptx, order);
    EXPECT_TRUE(outcome.is_clean()) << fmt::format("seed {}, {}\n", order.seed,
                                                   order.late ? "late" : "random")
                                    << outcome.text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CorrectKernel, ::testing::ValuesIn(kernels().begin(), kernels().end()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "not found" : text;
}

/// How a mutant showed in the given orders.
std::set<std::string> ways(const Mutant& mutant, const std::vector<Order>& in, std::string& last) {
  const Kernel& kernel = kernel_named(mutant.kernel);
  const std::string ptx = mutate(read_ptx(folder, kernel.name), mutant);
  std::set<std::string> found;
  for (const Order& order : in) {
    const Outcome outcome = run_on_simulator(kernel, ptx, order);
    found.insert(outcome.kinds.begin(), outcome.kinds.end());
    if (!outcome.is_right && !outcome.stopped) found.insert("wrong result");
    if (!outcome.is_clean()) last = outcome.text;
  }
  return found;
}

TEST(Mutants, AreFoundUnlessEquivalent) {
  std::size_t semantic = 0, equivalent = 0;
  for (const Mutant& mutant : mutants()) {
    std::string last;
    const std::set<std::string> found = ways(mutant, orders(4), last);
    const std::string name = fmt::format("{} / {}", mutant.kernel, mutant.name);
    fmt::print("{:<18} {:<48} {:<10} {}\n", mutant.kernel, mutant.name, name_of(mutant.change),
               mutant.is_equivalent ? "equivalent: " + std::string(mutant.expected) : joined(found));
    if (mutant.is_equivalent) {
      ++equivalent;
      EXPECT_TRUE(found.empty()) << name << " is equivalent: " << joined(found) << "\n" << last;
    } else {
      ++semantic;
      EXPECT_TRUE(found.contains(mutant.expected))
          << name << ": " << joined(found) << ", not " << mutant.expected << "\n"
          << last;
    }
  }
  fmt::print("{} kernels, {} mutants found, {} equivalent\n", kernels().size(), semantic, equivalent);
  EXPECT_GE(kernels().size(), 10U);
  EXPECT_GE(semantic, 60U);
}

TEST(Mutants, NamesAreUnique) {
  std::set<std::string> names;
  for (const Mutant& mutant : mutants())
    EXPECT_TRUE(names.insert(fmt::format("{}/{}", mutant.kernel, mutant.name)).second) << mutant.name;
}

}  // namespace
}  // namespace weft::mutants
