#include <fmt/format.h>
#include <weft/formats/array.h>
#include <weft/formats/statistics.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < std::int64_t{1} << 30) return fmt::format("{:.1f} MiB", value / (1024 * 1024));
  return fmt::format("{:.1f} GiB", value / static_cast<double>(std::int64_t{1} << 30));
}

template <class List, class Text>
std::string joined(const List& list, const Text& text) {
  std::string result;
  for (const auto& element : list) result += (result.empty() ? "" : "   ") + text(element);
  return result;
}

std::string two_four_text(const Statistics& statistics) {
  if (statistics.is_two_four()) return "yes";
  const auto& place = *statistics.two_four_break;
  return fmt::format("no: row {} has {} in columns {} to {}, at most 2 allowed", place.row, place.stored,
                     place.column, place.column + 3);
}

std::string vector_nm_text(const Statistics& statistics) {
  const auto best = statistics.best_vector_nm();
  if (!best.empty()) {
    return joined(best, [](const auto& rule) { return fmt::format("{}:2:{}", rule.v, rule.m); });
  }
  const Statistics::VectorNM* nearest = nullptr;
  for (const auto& rule : statistics.vector_nm) {
    // fulfilled / blocks compared without dividing
    if (nearest == nullptr || rule.fulfilled * nearest->blocks > nearest->fulfilled * rule.blocks)
      nearest = &rule;
  }
  return fmt::format("none; nearest {}:2:{}, kept by {} of {} blocks", nearest->v, nearest->m,
                     nearest->fulfilled, nearest->blocks);
}

}  // namespace

std::string json_text(const Statistics& statistics) {
  const auto& lengths = statistics.row_lengths;
  Json json{
      {"dtype", name_of(statistics.dtype)},
      {"pattern_only", statistics.pattern_only},
      {"shape", statistics.shape},
      {"rows", statistics.rows},
      {"columns", statistics.columns},
      {"stored", statistics.stored},
      {"sparsity", statistics.sparsity},
      {"row_lengths",
       {{"shortest", lengths.shortest},
        {"mean", lengths.mean},
        {"longest", lengths.longest},
        {"variation", lengths.variation}}},
      {"empty_rows", statistics.empty_rows},
      {"empty_columns", statistics.empty_columns},
      {"bandwidth", statistics.bandwidth},
      {"is_two_four", statistics.is_two_four()},
      {"two_four_break", nullptr},
      {"block_fills", Json::array()},
      {"vector_fills", Json::array()},
      {"vector_nm", Json::array()},
      {"bytes_dense", statistics.bytes_dense},
      {"bytes_csr", statistics.bytes_csr},
      {"bytes_ell", statistics.bytes_ell},
  };
  if (const auto& place = statistics.two_four_break) {
    json["two_four_break"] = Json{{"row", place->row}, {"column", place->column}, {"stored", place->stored}};
  }
  for (const auto& block : statistics.block_fills) {
    json["block_fills"].push_back(Json{{"size", block.size}, {"blocks", block.blocks}, {"fill", block.fill}});
  }
  for (const auto& group : statistics.vector_fills) {
    json["vector_fills"].push_back(
        Json{{"height", group.height}, {"columns", group.columns}, {"fill", group.fill}});
  }
  for (const auto& rule : statistics.vector_nm) {
    json["vector_nm"].push_back(Json{{"v", rule.v},
                                     {"n", 2},
                                     {"m", rule.m},
                                     {"blocks", rule.blocks},
                                     {"fulfilled", rule.fulfilled},
                                     {"holds", rule.holds()}});
  }
  return json.dump(2);
}

std::string report(const Statistics& statistics) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "  {:<22}{}\n", name, value);
  };
  const auto& lengths = statistics.row_lengths;
  const double elements = static_cast<double>(statistics.rows) * static_cast<double>(statistics.columns);
  line("shape", text_of_shape(statistics.shape) +
                    fmt::format(", as a matrix {} x {}", statistics.rows, statistics.columns));
  line("element type",
       std::string(name_of(statistics.dtype)) + (statistics.pattern_only ? ", no values in the file" : ""));
  line("stored", fmt::format("{} of {:.0f}, sparsity {:.2f} %", statistics.stored, elements,
                             100 * statistics.sparsity));
  line("row length", fmt::format("{} / {:.1f} / {} (min / mean / max), variation {:.2f}", lengths.shortest,
                                 lengths.mean, lengths.longest, lengths.variation));
  line("empty", fmt::format("{} rows, {} columns", statistics.empty_rows, statistics.empty_columns));
  line("bandwidth", std::to_string(statistics.bandwidth));
  line("2:4", two_four_text(statistics));
  line("V:N:M", vector_nm_text(statistics));
  line("filled, square blocks", joined(statistics.block_fills, [](const auto& block) {
         return fmt::format("{}: {:.1f} %", block.size, 100 * block.fill);
       }));
  line("filled, vector-wise", joined(statistics.vector_fills, [](const auto& group) {
         return fmt::format("{}: {:.1f} %", group.height, 100 * group.fill);
       }));
  line("size", fmt::format("dense {}, csr {}, ell {}", text_of_bytes(statistics.bytes_dense),
                           text_of_bytes(statistics.bytes_csr), text_of_bytes(statistics.bytes_ell)));
  return text;
}

}  // namespace weft
