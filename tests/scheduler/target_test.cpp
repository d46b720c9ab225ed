// The table of limits, against numbers written down a second time in bytes: one wrong row makes every
// schedule for that device wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/hardware/target.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft {
namespace {

using testing::HasSubstr;

struct Expected {
  int sm;
  bool architecture_specific;
  std::int64_t shared_bytes_per_block;
  std::int64_t shared_bytes_per_multiprocessor;
  std::int64_t shared_bytes_reserved;
  std::int64_t threads_per_multiprocessor;
  std::int64_t blocks_per_multiprocessor;
  std::int64_t cluster_blocks;
  std::string ptx_version;
  std::string ptx_architecture;
  bool simulated_only = false;
};

const std::map<std::string, Expected> expected{
    {"sm_75", {75, false, 65536, 65536, 0, 1024, 16, 0, "6.5", "sm_75"}},
    {"sm_80", {80, false, 166912, 167936, 1024, 2048, 32, 0, "7.1", "sm_80"}},
    {"sm_86", {86, false, 101376, 102400, 1024, 1536, 16, 0, "7.1", "sm_86"}},
    {"sm_87", {87, false, 166912, 167936, 1024, 1536, 16, 0, "7.4", "sm_87"}},
    {"sm_89", {89, false, 101376, 102400, 1024, 1536, 24, 0, "7.8", "sm_89"}},
    {"sm_90", {90, false, 232448, 233472, 1024, 2048, 32, 8, "8.0", "sm_90"}},
    {"sm_90a", {90, true, 232448, 233472, 1024, 2048, 32, 8, "8.2", "sm_90a"}},
    {"sm_100", {100, false, 232448, 233472, 1024, 2048, 32, 8, "8.0", "sm_90"}},
    {"sm_120", {120, false, 101376, 102400, 1024, 1536, 24, 8, "8.0", "sm_90"}},
    {"sm_70_swmma", {70, false, 98304, 98304, 0, 2048, 32, 0, "6.0", "sm_70", true}},
};

std::string message_of(std::string_view name) {
  try {
    target_named(name);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Target, TableHoldsTheCpuAndEveryArchitectureOnce) {
  constexpr std::size_t of_processors = 4;
  ASSERT_EQ(targets().size(), expected.size() + of_processors);
  EXPECT_EQ(targets()[0].name, "cpu");
  std::set<std::string> names;
  for (const Target& target : targets()) names.insert(target.name);
  EXPECT_EQ(names.size(), targets().size());
}

TEST(Target, CpuIsNoGpu) {
  EXPECT_FALSE(target_named("cpu").is_gpu());
  EXPECT_EQ(target_named("cpu").sm, 0);
}

TEST(Target, LevelsOfProcessorsHaveTheirVectors) {
  EXPECT_EQ(target_named("cpu").processor, "native");
  for (const auto& [name, bytes] : {std::pair{"x86-64-v3", 32}, {"x86-64-v4", 64}, {"aarch64", 16}}) {
    const Target& target = target_named(name);
    EXPECT_FALSE(target.is_gpu());
    EXPECT_EQ(target.processor, name);
    EXPECT_EQ(target.vector_bytes, bytes);
    EXPECT_EQ(target.second_cache_bytes, target_named("cpu").second_cache_bytes);
  }
}

TEST(Target, EveryNumberOfEveryArchitecture) {
  for (const auto& [name, row] : expected) {
    SCOPED_TRACE(name);
    const Target& target = target_named(name);
    EXPECT_TRUE(target.is_gpu());
    EXPECT_EQ(target.sm, row.sm);
    EXPECT_EQ(target.architecture_specific, row.architecture_specific);
    EXPECT_EQ(target.shared_bytes_per_block, row.shared_bytes_per_block);
    EXPECT_EQ(target.shared_bytes_per_multiprocessor, row.shared_bytes_per_multiprocessor);
    EXPECT_EQ(target.shared_bytes_reserved, row.shared_bytes_reserved);
    EXPECT_EQ(target.registers_per_thread, 255);
    EXPECT_EQ(target.registers_per_multiprocessor, 65536);
    EXPECT_EQ(target.threads_per_block, 1024);
    EXPECT_EQ(target.threads_per_multiprocessor, row.threads_per_multiprocessor);
    EXPECT_EQ(target.blocks_per_multiprocessor, row.blocks_per_multiprocessor);
    EXPECT_EQ(target.cluster_blocks, row.cluster_blocks);
    EXPECT_EQ(target.ptx_version, row.ptx_version);
    EXPECT_EQ(ptx_architecture(target), row.ptx_architecture);
    EXPECT_EQ(is_simulated_only(target), row.simulated_only);
  }
}

TEST(Target, EveryCapabilityOfEveryTarget) {
  using enum Capability;
  const std::string since_90 = "sm_90 sm_90a sm_100 sm_120 ", since_89 = "sm_89 " + since_90,
                    since_80 = "sm_80 sm_86 sm_87 " + since_89;
  const std::map<Capability, std::string> targets_with{{asynchronous_copies, since_80},
                                                       {mma_m16n8k8, "sm_75 " + since_80},
                                                       {mma_m16n8k16, since_80},
                                                       {bf16_tensor_cores, since_80},
                                                       {bf16_conversions, since_80},
                                                       {sparse_tensor_cores, since_80},
                                                       {fp8_tensor_cores, since_89},
                                                       {bulk_copies, since_90},
                                                       {clusters, since_90},
                                                       {dependent_launches, since_90},
                                                       {warpgroup_tensor_cores, "sm_90a "},
                                                       {register_reallocation, "sm_90a "}};
  for (const auto& [capability, names] : targets_with) {
    std::string found;
    for (const Target& target : targets()) found += target.has(capability) ? target.name + " " : "";
    EXPECT_EQ(found, names) << "capability " << static_cast<int>(capability);
  }
}

TEST(Target, ALaterArchitectureHasOtherInstructionsOfItsOwn) {
  Target later = target_named("sm_90a");
  later.sm = 100;
  EXPECT_TRUE(later.has(Capability::clusters));
  EXPECT_FALSE(later.has(Capability::warpgroup_tensor_cores));
}

TEST(Target, LimitsOfOneBlockFitAMultiprocessor) {
  for (const Target& target : targets()) {
    if (!target.is_gpu()) continue;
    SCOPED_TRACE(target.name);
    EXPECT_EQ(target.shared_bytes_per_block + target.shared_bytes_reserved,
              target.shared_bytes_per_multiprocessor);
    EXPECT_EQ(target.shared_bytes_per_multiprocessor % 1024, 0);
    EXPECT_LE(target.threads_per_block, target.threads_per_multiprocessor);
    EXPECT_EQ(target.threads_per_multiprocessor % 32, 0);
    EXPECT_GE(target.shared_bytes_per_block, 48 * 1024);
    EXPECT_EQ(target.cluster_blocks > 0, target.has(Capability::clusters));
    if (!is_simulated_only(target)) {
      EXPECT_EQ(target.name, "sm_" + std::to_string(target.sm) + (target.architecture_specific ? "a" : ""));
    }
    const auto whose = std::ranges::find(targets(), ptx_architecture(target), &Target::name);
    if (whose != targets().end()) {
      EXPECT_LE(whose->sm, target.sm);
      EXPECT_EQ(whose->ptx_version, target.ptx_version);
    }
  }
}

TEST(Target, NewerArchitecturesNeedNoOlderPtx) {
  const Target* before = nullptr;
  for (const Target& target : targets()) {
    if (!target.is_gpu() || is_simulated_only(target)) continue;
    if (before != nullptr) {
      EXPECT_GE(target.sm, before->sm);
      EXPECT_GE(std::stod(target.ptx_version), std::stod(before->ptx_version)) << target.name;
    }
    // What sm_90a has of its own, with the PTX that has it, no later one has.
    if (!target.architecture_specific) before = &target;
  }
}

TEST(Target, NamesWithAndWithoutThePrefix) {
  EXPECT_EQ(target_named("90").name, "sm_90");
  EXPECT_EQ(target_named("90a").name, "sm_90a");
  EXPECT_EQ(target_named("sm_90a").name, "sm_90a");
  EXPECT_EQ(target_named("75").name, "sm_75");
  EXPECT_EQ(target_named("100").name, "sm_100");
  EXPECT_EQ(&target_named("86"), &target_named("sm_86"));
}

TEST(Target, UnknownNamesListTheTargets) {
  EXPECT_THAT(message_of("sm_70"),
              HasSubstr("cpu, sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_120"));
  EXPECT_THAT(message_of("sm_70"), HasSubstr("\"sm_70\""));
  for (const char* name : {"", "sm_", "SM_90", "sm_90 ", "9", "gpu", "0", "cp"}) {
    EXPECT_THAT(message_of(name), HasSubstr("accepted: cpu, sm_75")) << name;
  }
}

TEST(Target, UnknownNamesNearATargetSuggestIt) {
  EXPECT_THAT(message_of("sm90a"), HasSubstr("did you mean sm_90a?"));
  EXPECT_THAT(message_of("SM_86"), HasSubstr("did you mean sm_86?"));
  EXPECT_THAT(message_of("cpus"), HasSubstr("did you mean cpu?"));
  for (const auto& [card, target] : {std::pair{"h100", "sm_90a"},
                                     {"H200", "sm_90a"},
                                     {"NVIDIA A100 40 GB", "sm_80"},
                                     {"a100-80gb", "sm_80"},
                                     {"t4", "sm_75"},
                                     {"L4", "sm_89"},
                                     {"RTX 3090", "sm_86"},
                                     {"rtx4090", "sm_89"},
                                     {"b200", "sm_100"},
                                     {"NVIDIA RTX PRO 6000 Blackwell", "sm_120"},
                                     {"RTX 5090", "sm_120"},
                                     {"sm_100a", "sm_100"}})
    EXPECT_THAT(message_of(card), HasSubstr("did you mean " + std::string(target) + "?")) << card;
  EXPECT_THAT(message_of("rtx 2000 ada"), Not(HasSubstr("did you mean")));
  for (const char* any : {"gpu", "cuda", "nvidia"})
    EXPECT_THAT(message_of(any), HasSubstr("sm_90a of an H100, sm_80 of an A100")) << any;
  EXPECT_THAT(message_of("tpu-v5"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(message_of(std::string(100000, 's')), Not(HasSubstr("did you mean")));
  EXPECT_LT(message_of(std::string(100000, 's')).size(), 400u);
}

}  // namespace
}  // namespace weft
