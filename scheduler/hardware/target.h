// What a device can do: one row of limits for each architecture.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft {

enum class TargetKind : std::uint8_t { cpu, cuda };

/// What some GPUs can do and others cannot. target.cpp says which architectures have which.
enum class Capability : std::uint8_t {
  asynchronous_copies,     ///< cp.async: copies to shared memory that go on by themselves
  mma_m16n8k8,             ///< mma.sync of 8 places at a time
  mma_m16n8k16,            ///< mma.sync of 16 places at a time
  bf16_tensor_cores,       ///< mma.sync of bf16
  bf16_conversions,        ///< f32 to bf16 by an instruction
  sparse_tensor_cores,     ///< mma.sp: a left factor that keeps two of four
  fp8_tensor_cores,        ///< mma.sync of e4m3 and e5m2
  bulk_copies,             ///< cp.async.bulk, and mbarriers that count the bytes of such copies
  clusters,                ///< blocks that run together and reach each other's shared memory
  dependent_launches,      ///< griddepcontrol: launches that begin before those in front have ended
  warpgroup_tensor_cores,  ///< wgmma: products of four warps at a time
  register_reallocation,   ///< setmaxnreg: warps that hand registers over to others
};

namespace detail {

/// Stands first in a Target, where somebody who makes one of a text puts that.
struct MadeByName {
  MadeByName() = default;
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  MadeByName(const Text&) {
    static_assert(never<Text>,
                  "weft: a target is more than its name; accepted: target_named(\"sm_80\"), or another name "
                  "of weft targets");
  }
  bool operator==(const MadeByName&) const = default;
};

}  // namespace detail

/// Limits of one target. For CUDA: NVIDIA's CUDA C++ programming guide, "compute capabilities". The CPU is
/// the processor that this runs on; levels, "x86-64-v3" and others of processor_level.h, are any that have
/// them, with the caches of the one that this runs on.
struct Target {
  detail::MadeByName made_by_name = {};
  std::string name;  ///< "cpu", "sm_75" … "sm_120", "x86-64-v3"
  TargetKind kind = TargetKind::cpu;
  int sm = 0;                               ///< 75, 80, 86, 87, 89, 90, 100, 120
  bool architecture_specific = false;       ///< sm_90a: instructions that no other architecture has
  std::int64_t shared_bytes_per_block = 0;  ///< with opt-in
  std::int64_t shared_bytes_per_multiprocessor = 0;
  std::int64_t shared_bytes_reserved = 0;  ///< by the system, a block
  std::int64_t registers_per_thread = 0;
  std::int64_t registers_per_multiprocessor = 0;
  std::int64_t threads_per_block = 0;
  std::int64_t threads_per_multiprocessor = 0;
  std::int64_t blocks_per_multiprocessor = 0;
  std::int64_t cluster_blocks = 0;                ///< largest portable cluster; 0 where there are none
  std::string ptx_version;                        ///< the lowest that has what weft emits for it: "7.1"
  std::int64_t vector_bytes = 32;                 ///< a vector register of a CPU
  std::int64_t first_cache_bytes = 32 * 1024;     ///< a core's first cache for data
  std::int64_t second_cache_bytes = 1024 * 1024;  ///< a core's second cache
  std::string processor = "native";               ///< whose instructions code for a CPU has
  std::int64_t threads = 1;                       ///< those of a CPU that share loops; "cpu": one a processor

  bool is_gpu() const { return kind == TargetKind::cuda; }
  /// A CPU has none of them.
  bool has(Capability capability) const;
};

/// Every target: "cpu" first, levels of processors last.
std::span<const Target> targets();
/// "cpu", "sm_90a", "90a", "sm_90". UserError that lists the targets when there is none of that name.
const Target& target_named(std::string_view name, CallPlace place = {});
WEFT_CALL_REFUSED(Target, target_named, "target_named(\"cpu\"), or another name of weft targets, as a text")
/// That of a GPU by its own name, "h100", "A100 40 GB" or "RTX 4090"; null for names that are not known.
const Target* target_of_card(std::string_view name);

}  // namespace weft
