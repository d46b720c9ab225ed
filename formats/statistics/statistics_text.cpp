#include <fmt/format.h>
#include <weft/formats/array.h>
#include <weft/formats/statistics/statistics.h>

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
  const PatternRule& rule = statistics.two_four();
  if (rule.holds()) return "yes";
  return fmt::format("no, in {:.2f} % of {} groups; {}", 100 * rule.share(), rule.blocks,
                     text_of_break(rule));
}

std::string row_rules_text(const Statistics& statistics) {
  const auto strictest = strictest_rows(statistics.rules);
  return strictest.empty() ? "none" : joined(strictest, [](const auto& rule) { return rule.name(); });
}

std::string vector_nm_text(const Statistics& statistics) {
  const auto tallest = tallest_blocks(statistics.rules);
  if (!tallest.empty()) return joined(tallest, [](const auto& rule) { return rule.name(); });
  const PatternRule* nearest = nullptr;
  for (const PatternRule& rule : statistics.rules) {
    if (rule.v > 1 && (nearest == nullptr || rule.share() > nearest->share())) nearest = &rule;
  }
  return fmt::format("none; nearest {}, kept by {} of {} blocks: {}", nearest->name(), nearest->fulfilled,
                     nearest->blocks, text_of_break(*nearest));
}

Json json_of(const PatternRule& rule) {
  Json json{{"v", rule.v},
            {"n", rule.n},
            {"m", rule.m},
            {"blocks", rule.blocks},
            {"fulfilled", rule.fulfilled},
            {"holds", rule.holds()},
            {"first_break", nullptr}};
  if (const auto& place = rule.first_break)
    json["first_break"] = Json{{"row", place->row}, {"column", place->column}, {"found", place->found}};
  return json;
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
      {"is_two_four", statistics.two_four().holds()},
      {"block_fills", Json::array()},
      {"vector_fills", Json::array()},
      {"rules", Json::array()},
      {"bytes_dense", statistics.bytes_dense},
      {"bytes_csr", statistics.bytes_csr},
      {"bytes_ell", statistics.bytes_ell},
      {"bytes_hb_ell", statistics.bytes_hb_ell},
      {"bytes_uniform_ell", statistics.bytes_uniform_ell},
      {"bytes_lane_streams", statistics.bytes_lane_streams},
      {"bytes_pair_words", statistics.bytes_pair_words},
  };
  for (const auto& block : statistics.block_fills)
    json["block_fills"].push_back(Json{{"size", block.size}, {"blocks", block.blocks}, {"fill", block.fill}});
  for (const auto& group : statistics.vector_fills)
    json["vector_fills"].push_back(
        Json{{"height", group.height}, {"columns", group.columns}, {"fill", group.fill}});
  for (const PatternRule& rule : statistics.rules) json["rules"].push_back(json_of(rule));
  return json.dump(2);
}

std::string report_text(const Statistics& statistics) {
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
  line("N:M", row_rules_text(statistics));
  line("V:N:M", vector_nm_text(statistics));
  line("filled, square blocks", joined(statistics.block_fills, [](const auto& block) {
         return fmt::format("{}: {:.1f} %", block.size, 100 * block.fill);
       }));
  line("filled, vector-wise", joined(statistics.vector_fills, [](const auto& group) {
         return fmt::format("{}: {:.1f} %", group.height, 100 * group.fill);
       }));
  line("size", fmt::format("dense {}, csr {}, ell {}", text_of_bytes(statistics.bytes_dense),
                           text_of_bytes(statistics.bytes_csr), text_of_bytes(statistics.bytes_ell)));
  line("size, blocks of 16", fmt::format("hb_ell {}, in one width {}", text_of_bytes(statistics.bytes_hb_ell),
                                         text_of_bytes(statistics.bytes_uniform_ell)));
  if (statistics.bytes_lane_streams > 0) {
    const auto of = [&](std::int64_t bytes) {
      const auto taken = static_cast<double>(bytes);
      return fmt::format(
          "{}, {:.2f} bytes an element; where bytes bound a product, at best {:.2f} times dense",
          text_of_bytes(bytes), taken / elements, static_cast<double>(statistics.bytes_dense) / taken);
    };
    line("size, lane_streams", of(statistics.bytes_lane_streams));
    line("size, pair_words", of(statistics.bytes_pair_words));
  }
  return text;
}

}  // namespace weft
