#include <fmt/format.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/hardware/tensor_instructions.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace weft {
namespace {

struct Table {
  std::deque<std::string> names;  ///< what the rows' views point to
  std::vector<TensorInstruction> rows;

  Table() {
    using enum DType;
    rows.push_back(
        {"mma_m16n8k8", 16, 8, 8, f16, 1, TensorOperands::registers, 75, false, "mma_m16n8k8_f16"});
    rows.push_back(
        {"mma_m16n8k16", 16, 8, 16, f16, 1, TensorOperands::registers, 80, false, "mma_m16n8k16_f16"});
    rows.push_back(
        {"mma_m16n8k16", 16, 8, 16, bf16, 1, TensorOperands::registers, 80, false, "mma_m16n8k16_bf16"});
    for (const DType type : {f16, bf16}) {
      const std::string& executed = names.emplace_back(fmt::format("mma_sp_m16n8k32_{}", name_of(type)));
      rows.push_back(
          {"mma_sp_m16n8k32", 16, 8, 32, type, 1, TensorOperands::registers, 80, false, executed, true});
    }
    for (const DType type : {e4m3, e5m2, i8}) {
      for (const bool sparse : {false, true}) {
        const int k = sparse ? 64 : 32;
        const std::string& name = names.emplace_back(fmt::format("mma{}_m16n8k{}", sparse ? "_sp" : "", k));
        const std::string& executed = names.emplace_back(fmt::format("{}_{}", name, name_of(type)));
        const int lowest_sm = type == i8 ? 80 : 89;
        rows.push_back(
            {name, 16, 8, k, type, 1, TensorOperands::registers, lowest_sm, false, executed, sparse});
      }
    }
    for (const bool sparse : {false, true}) {
      for (int n = 16; n <= 256; n *= 2) add_warpgroups(n, sparse, 32, {f16, bf16});
      for (int n = 16; n <= 256; n *= 2) add_warpgroups(n, sparse, 64, {e4m3, e5m2, i8});
    }
    rows.push_back({"swmma_m16n16k16", 16, 16, 16, f16, 1, TensorOperands::blocks, simulated_only, false,
                    "swmma_mma_16"});
  }

  void add_warpgroups(int n, bool sparse, int slots, std::initializer_list<DType> types) {
    const int k = sparse ? slots : slots / 2;
    const std::string& name = names.emplace_back(fmt::format("wgmma{}_m64n{}k{}", sparse ? "_sp" : "", n, k));
    for (const DType type : types) {
      const std::string& executed = names.emplace_back(fmt::format("{}_{}", name, name_of(type)));
      rows.push_back({name, 64, n, k, type, 4, TensorOperands::shared, 90, true, executed, sparse});
    }
  }
};

const Table& tensor_table() {
  static const Table rows;
  return rows;
}

}  // namespace

std::span<const TensorInstruction> tensor_instructions() {
  return tensor_table().rows;
}

const TensorInstruction* find_tensor_instruction(std::string_view name, DType operands) {
  for (const TensorInstruction& row : tensor_table().rows) {
    if (row.name == name && row.operands == operands) return &row;
  }
  return nullptr;
}

const TensorInstruction* tensor_instruction_done_by(std::string_view executed) {
  const auto found = std::ranges::find(tensor_table().rows, executed, &TensorInstruction::executed);
  return found == tensor_table().rows.end() ? nullptr : &*found;
}

std::string names_of_tensor_instructions() {
  std::string names;
  std::string_view last;
  for (const TensorInstruction& row : tensor_table().rows) {
    if (row.name != last) names += (names.empty() ? "" : ", ") + std::string(row.name);
    last = row.name;
  }
  return names;
}

}  // namespace weft
