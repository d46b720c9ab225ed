#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions/family.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <deque>
#include <iterator>

namespace weft {
namespace families {

std::string_view kept_text(std::string text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(std::move(text));
}

std::string numbered(int first, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("${}", first + i));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

Instruction effect(std::string_view name, int lowest_sm, std::vector<DType> operands, std::string text,
                   DType result, int results) {
  return {.name = name,
          .result = result,
          .operands = std::move(operands),
          .ptx = kept_text(std::move(text)),
          .lowest_sm = lowest_sm,
          .effect = true,
          .results = results};
}

Instruction multiplying(const TensorProduct& product, int lowest_sm, int inputs, std::string text) {
  Instruction row = effect(kept_text(fmt::format("{}_{}", product.name, name_of(product.operands()))),
                           lowest_sm, std::vector<DType>(static_cast<std::size_t>(inputs), DType::i32),
                           std::move(text), product.sum.type, product.sum.registers());
  row.reads_results = true;
  row.product = product;
  return row;
}

std::string_view type_in_ptx(DType type) {
  return type == DType::i8 ? "s8" : type == DType::i32 ? "s32" : name_of(type);
}

namespace {

/// Every family. .tensorize() names products in this order.
constexpr Rows (*families[])() = {arithmetic,         bits,           threads,
                                  synchronisation,    copies,         warp_products,
                                  warpgroup_products, block_products, streams};

const Rows& table() {
  static const Rows rows = [] {
    Rows all;
    for (const auto& family : families) std::ranges::move(family(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

}  // namespace
}  // namespace families

std::span<const Instruction> instructions() {
  return families::table();
}

const Instruction& instruction(std::string_view name) {
  for (const Instruction& row : families::table()) {
    if (row.name == name) return row;
  }
  throw InternalError("no instruction is called '" + std::string(name) + "'");
}

void require_instructions(const std::string& kernel, const ir::Stmt& body, const Target& target) {
  ir::visit(body, {}, [&](const ir::Expr& e) {
    const auto* call = e.as<ir::Call>();
    if (call == nullptr) return;
    const Instruction& row = instruction(call->instruction);
    if (row.lowest_sm >= 0 && row.lowest_sm <= target.sm) return;
    throw UserError(fmt::format("{} has no instruction {}", target.name, row.name), kernel, target.name,
                    row.lowest_sm < 0 ? std::string("cpu") : fmt::format("sm_{} or newer", row.lowest_sm));
  });
}

std::span<const Instruction* const> tensor_instructions() {
  static const std::vector<const Instruction*> found = [] {
    std::vector<const Instruction*> rows;
    for (const Instruction& row : families::table())
      if (row.product) rows.push_back(&row);
    return rows;
  }();
  return found;
}

const Instruction* find_tensor_instruction(std::string_view name, DType operands) {
  for (const Instruction* row : tensor_instructions()) {
    if (row->product->name == name && row->product->operands() == operands) return row;
  }
  return nullptr;
}

const TensorProduct& tensor_product(std::string_view name) {
  const Instruction& row = instruction(name);
  internal_check(row.product.has_value(), std::string(name) + " multiplies no tiles");
  return *row.product;
}

}  // namespace weft
