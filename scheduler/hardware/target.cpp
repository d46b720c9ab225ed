#include <fmt/format.h>
#include <unistd.h>
#include <weft/dsl/processors.h>
#include <weft/scheduler/hardware/processor_level.h>
#include <weft/scheduler/hardware/simulated_target.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {
namespace {

constexpr std::int64_t kibibytes(std::int64_t count) {
  return count * 1024;
}

/// What differs between architectures; what does not is filled in by `gpu`.
struct Architecture {
  std::string_view name;
  int sm;
  bool architecture_specific;
  std::int64_t shared_kibibytes_per_multiprocessor;
  std::int64_t shared_bytes_reserved;
  std::int64_t threads_per_multiprocessor;
  std::int64_t blocks_per_multiprocessor;
  std::int64_t cluster_blocks;
  const char* ptx_version;
  const char* cards;                       ///< words of names of GPUs that it is of, in lower case
  std::string_view ptx_architecture = {};  ///< another one, whose PTX it runs; empty: its own
  bool simulated_only = false;
};

// PTX: the version that has mma.sp for sm_80 and up, mbarrier.arrive.expect_tx and cp.async.bulk for sm_90,
// the sparse wgmma for sm_90a. A driver refuses PTX newer than itself, so it is never higher than that.
// LLVM 19 writes none for GPUs newer than sm_90, which run that of sm_90.
constexpr Architecture architectures[] = {
    {"sm_75", 75, false, 64, 0, 1024, 16, 0, "6.5", "t4 rtx20"},                       //
    {"sm_80", 80, false, 164, 1024, 2048, 32, 0, "7.1", "a100 a30 a800"},              //
    {"sm_86", 86, false, 100, 1024, 1536, 16, 0, "7.1", "a10 a10g a40 a16 a2 rtx30"},  //
    {"sm_87", 87, false, 164, 1024, 1536, 16, 0, "7.4", "orin"},                       //
    {"sm_89", 89, false, 100, 1024, 1536, 24, 0, "7.8", "l4 l40 l40s rtx40"},          //
    {"sm_90", 90, false, 228, 1024, 2048, 32, 8, "8.0", ""},                           //
    {"sm_90a", 90, true, 228, 1024, 2048, 32, 8, "8.2", "h100 h200 h800 h20 gh200"},
    {"sm_100", 100, false, 228, 1024, 2048, 32, 8, "8.0", "b100 b200 gb200 b300 gb300", "sm_90"},
    {"sm_120", 120, false, 100, 1024, 1536, 24, 8, "8.0", "rtx50 rtxpro", "sm_90"},
    // A V100 with the sparse tensor core of HB-ELL.
    {"sm_70_swmma", 70, false, 96, 0, 2048, 32, 0, "6.0", "", "sm_70", true},
};

// aarch64 is ARMv8-A as every such processor has it.
constexpr ProcessorLevel levels[] = {
    {"x86-64-v3", "x86-64", 3, "AVX2", 32},
    {"x86-64-v4", "x86-64", 4, "AVX-512", 64},
    {"aarch64", "aarch64", 8, "NEON", 16},
};

bool has_wide_vectors() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

/// What the system says of a core's caches, or the other number where it does not.
std::int64_t cache_bytes(int name, std::int64_t otherwise) {
  const long known = sysconf(name);
  return known > 0 ? known : otherwise;
}

Target cpu() {
  Target target;
  target.name = "cpu";
  if (has_wide_vectors()) target.vector_bytes = 64;
  target.first_cache_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, target.first_cache_bytes);
  target.second_cache_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE, target.second_cache_bytes);
  target.threads = processors();
  return target;
}

/// Code for any processor that has the level, which this machine's need not have.
Target processor(const ProcessorLevel& row) {
  Target target = cpu();
  target.name = target.processor = row.name;
  target.vector_bytes = row.vector_bytes;
  target.threads = 1;
  return target;
}

Target gpu(const Architecture& row) {
  Target target;
  target.name = row.name;
  target.kind = TargetKind::cuda;
  target.sm = row.sm;
  target.architecture_specific = row.architecture_specific;
  target.shared_bytes_per_multiprocessor = kibibytes(row.shared_kibibytes_per_multiprocessor);
  target.shared_bytes_reserved = row.shared_bytes_reserved;
  // One block may have all that the multiprocessor has, less what the system reserves for it.
  target.shared_bytes_per_block = target.shared_bytes_per_multiprocessor - row.shared_bytes_reserved;
  target.registers_per_thread = 255;
  target.registers_per_multiprocessor = 65536;
  target.threads_per_block = 1024;
  target.threads_per_multiprocessor = row.threads_per_multiprocessor;
  target.blocks_per_multiprocessor = row.blocks_per_multiprocessor;
  target.cluster_blocks = row.cluster_blocks;
  target.ptx_version = row.ptx_version;
  return target;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// "sm_130" and its like: of an architecture that came after those that have a row.
bool of_newer_gpu(std::string_view name) {
  if (!name.starts_with("sm_")) return false;
  int number = 0;
  std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return std::ranges::all_of(targets(), [&](const Target& target) { return target.sm < number; });
}

/// The words of a name in lower case, "rtx" one with its number: "nvidia", "a100", "40gb".
std::vector<std::string> words_of_card(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name.substr(0, 64)) {
    const bool ends_word = c == ' ' || c == '-' || c == '_' || c == ':';
    if (!ends_word) words.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (ends_word && !words.back().empty() && words.back() != "rtx") words.emplace_back();
  }
  return words;
}

bool names_one_of(std::string_view name, std::string_view cards) {
  const std::vector<std::string> words = words_of_card(name);
  while (!cards.empty()) {
    const std::string_view card = cards.substr(0, cards.find(' '));
    cards.remove_prefix(std::min(cards.size(), card.size() + 1));
    const auto is_card = [&](std::string_view word) {
      // "rtx20" is of RTX 2080, not of RTX 2000 Ada.
      const bool is_of_series =
          card.starts_with("rtx") && word.size() > card.size() && word[card.size()] != '0';
      return word == card || (is_of_series && word.starts_with(card));
    };
    if (std::ranges::any_of(words, is_card)) return true;
  }
  return false;
}

/// " (did you mean sm_80?)", or nothing where no target is near.
std::string suggestion(std::string_view name) {
  if (const Target* const target = target_of_card(name))
    return fmt::format(" (did you mean {}?)", target->name);
  for (const std::string& word : words_of_card(name)) {
    if (word == "gpu" || word == "cuda" || word == "nvidia")
      return " (the GPU's own: sm_90a of an H100, sm_80 of an A100, sm_75 of a T4)";
  }
  if (name.size() > 16) return {};
  const Target* best = nullptr;
  std::size_t smallest = 3;
  for (const Target& target : targets()) {
    const std::size_t whole = edit_distance(name, target.name);
    const std::size_t bare = target.is_gpu() ? edit_distance(name, target.name.substr(3)) : whole;
    // Half of the word wrong is another word.
    if (std::min(whole, bare) * 2 > name.size() || std::min(whole, bare) >= smallest) continue;
    smallest = std::min(whole, bare);
    best = &target;
  }
  return best != nullptr ? fmt::format(" (did you mean {}?)", best->name) : std::string();
}

}  // namespace

// NVIDIA's PTX ISA, "target ISA notes" of each instruction.
bool Target::has(Capability capability) const {
  const auto from = [&](int first) { return is_gpu() && sm >= first; };
  const auto only_of = [&](int one) { return is_gpu() && sm == one && architecture_specific; };
  switch (capability) {
    case Capability::mma_m16n8k8: return from(75);
    case Capability::asynchronous_copies:
    case Capability::mma_m16n8k16:
    case Capability::bf16_tensor_cores:
    case Capability::bf16_conversions:
    case Capability::sparse_tensor_cores: return from(80);
    case Capability::fp8_tensor_cores: return from(89);
    case Capability::bulk_copies:
    case Capability::clusters:
    case Capability::dependent_launches: return from(90);
    case Capability::warpgroup_tensor_cores:
    case Capability::register_reallocation: return only_of(90);
  }
  return false;
}

bool is_simulated_only(const Target& target) {
  const auto row = std::ranges::find(architectures, target.name, &Architecture::name);
  return row != std::end(architectures) && row->simulated_only;
}

std::string ptx_architecture(const Target& target) {
  const auto row = std::ranges::find(architectures, target.name, &Architecture::name);
  const bool has_own = row == std::end(architectures) || row->ptx_architecture.empty();
  return std::string(has_own ? target.name : row->ptx_architecture);
}

std::span<const ProcessorLevel> processor_levels() {
  return levels;
}

const ProcessorLevel* processor_level(std::string_view name) {
  const auto* const row = std::ranges::find(levels, name, &ProcessorLevel::name);
  return row != std::end(levels) ? row : nullptr;
}

std::span<const Target> targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> list{cpu()};
    for (const Architecture& row : architectures) list.push_back(gpu(row));
    for (const ProcessorLevel& row : levels) list.push_back(processor(row));
    return list;
  }();
  return all;
}

const Target* target_of_card(std::string_view name) {
  const auto* const row = std::ranges::find_if(
      architectures, [&](const Architecture& one) { return names_one_of(name, one.cards); });
  return row != std::end(architectures) ? &target_named(row->name) : nullptr;
}

const Target& target_named(std::string_view name, CallPlace place) {
  for (const Target& target : targets()) {
    if (name == target.name || (target.is_gpu() && name == target.name.substr(3))) return target;
  }
  std::string known;
  for (const Target& target : targets()) known += (known.empty() ? "" : ", ") + target.name;
  return user_call(place, [&]() -> const Target& {
    throw UserError(
        "there is no target of that name",
        fmt::format("\"{}\"{}", name.substr(0, 64), of_newer_gpu(name) ? "" : suggestion(name)),
        of_newer_gpu(name) ? "sm_90, whose PTX the drivers of newer GPUs compile; of all: " + known : known);
  });
}

}  // namespace weft
