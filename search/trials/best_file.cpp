#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/records/json_fields.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/record_query.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace weft {
namespace {

constexpr int best_version = 1;

/// A field a line, and a step a line: what changes in a review is what changed.
std::string lines_of(const nlohmann::ordered_json& json) {
  std::string text = "{";
  const char* between = "\n ";
  for (const auto& [name, value] : json.items()) {
    text += between + nlohmann::json(name).dump() + ": ";
    between = ",\n ";
    if (name != "schedule" || value.empty()) {
      text += value.dump();
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += (i == 0 ? "[\n  " : ",\n  ") + value[i].dump();
    text += "\n ]";
  }
  return text + "\n}\n";
}

}  // namespace

std::string json_of_best(const Record& record, const Schedule& schedule) {
  const auto measured = nlohmann::ordered_json::parse(json_of(record));
  nlohmann::ordered_json json{{"weft_best", best_version}};
  for (const char* field : {"kernel", "problem", "pattern", "target", "recipe", "config"})
    json[field] = measured.at(field);
  if (schedule.weights() != nullptr) json["format"] = schedule.weights()->format().text();
  json["schedule"] = nlohmann::ordered_json::parse(schedule.json());
  for (const char* field : {"status", "measure", "us", "baselines", "toolchain", "id", "t"}) {
    if (measured.contains(field)) json[field] = measured.at(field);
  }
  return lines_of(json);
}

bool is_best_file(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && json[first] == '{';
}

BestKernel best_kernel_of(std::string_view json, const std::string& origin, CallPlace place) {
  const JsonOrigin document{"a file is not the outcome of a search", origin,
                            "a file that weft tune wrote, or the list of steps of a schedule.json"};
  return user_call(place, [&] {
    const nlohmann::ordered_json parsed = parse_json(json, document);
    const JsonFields fields(parsed, document);
    require_version(fields, "weft_best", best_version);
    BestKernel best;
    fields.read("format", best.format);
    fields.need("schedule");
    try {
      best.record = record_of(json);
    } catch (const UserError& error) {
      const UserError::Report& report = error.report();
      throw UserError(document.what, origin + (report.where.empty() ? "" : ", ") + report.where,
                      report.found.empty() ? report.what : report.found, report.accepted);
    }
    best.steps = steps_of_json(fields.list("schedule").dump(), origin);
    return best;
  });
}

namespace {

/// What is another one in the use, "tuned for N = 196, asked for 64", and which option would say it, where
/// one does.
struct Difference {
  std::string text, option;
};

/// The devices that run kernels of the target.
std::string devices_of(const std::string& target) {
  if (target == "cpu") return "--device cpu";
  const auto row = std::ranges::find(targets(), target, &Target::name);
  if (row != targets().end() && !row->is_gpu()) return fmt::format("--target {}, --device cpu", target);
  return fmt::format("--target {}, --device cuda or sim:{}", target, target);
}

/// Which layout the first algorithm has and the second one has not.
std::string layout_option(const std::string& tuned, const std::string& asked) {
  struct Layout {
    const char *output, *input, *name;
    bool is_of(const std::string& algorithm) const {
      return algorithm.starts_with(output) && algorithm.find(input) != std::string::npos;
    }
  };
  for (const Layout& layout : {Layout{"C[b, f, p, q] ", "B[", "nchw"},
                               {"C[b, p, q, f] ", "B[", "nhwc"},
                               {"C[f, p, q, b] ", "B[", "chwn"},
                               {"C[m, n] ", "B[k, n]", "kn"},
                               {"C[n, m] ", "B[n, k]", "nk"},
                               {"C[m, n] ", "B[n, k]", "nk_mn"},
                               {"C[n, m] ", "B[k, n]", "kn_nm"}}) {
    if (layout.is_of(tuned) && !layout.is_of(asked)) return std::string("--layout ") + layout.name;
  }
  return {};
}

/// "tuned for K = 64, asked for 96; for N = 196, asked for 64": all of the sizes that are asked for.
std::optional<Difference> difference_of_sizes(const Record& record,
                                              const std::map<std::string, std::int64_t>& asked) {
  std::vector<std::string> others;
  Difference result;
  for (const auto& [name, tuned] : record.problem.sizes) {
    const auto found = asked.find(name);
    if (found == asked.end() || found->second == tuned) continue;
    others.push_back(fmt::format("for {} = {}, asked for {}", name, tuned, found->second));
    if (name == "N") result.option = fmt::format("--n {}", tuned);
  }
  if (others.empty()) return {};
  // Another layer is meant, and not another number of columns alone.
  if (others.size() > 1) result.option.clear();
  result.text = fmt::format("tuned {}", fmt::join(others, "; "));
  return result;
}

/// The first one; nothing where there is none.
std::optional<Difference> difference(const BestKernel& best, const BestUse& use) {
  const Record& record = best.record;
  const auto differs = [](const std::string& name, const auto& tuned, const auto& asked,
                          const std::string& option = {}) {
    return Difference{
        fmt::format("tuned for {}{}{}, asked for {}", name, name.empty() ? "" : " ", tuned, asked), option};
  };
  if (!record.target.name.empty() && architecture_of(record.target.name) != architecture_of(use.target.name))
    return differs("", record.target.name, use.target.name, devices_of(record.target.name));
  const DType factors = use.algorithm.operands[use.algorithm.factors[0].operand].dtype;
  const std::string algorithm = record.problem.word("algorithm"), dtype = record.problem.word("dtype");
  if (!algorithm.empty() && algorithm != use.algorithm.text())
    return differs("", algorithm, use.algorithm.text(), layout_option(algorithm, use.algorithm.text()));
  if (!dtype.empty() && dtype != name_of(factors))
    return differs("elements of", dtype, name_of(factors), "--dtype " + dtype);
  const bool open = std::ranges::any_of(use.algorithm.indices,
                                        [](const IndexVariable& index) { return !index.extent.is_static(); });
  std::map<std::string, std::int64_t> asked;
  if (!open) asked["N"] = use.columns;
  for (const IndexVariable& index : use.algorithm.indices)
    if (index.extent.is_static()) asked["extent_" + index.name] = index.extent.value;
  if (const auto sizes = difference_of_sizes(record, asked)) return sizes;
  if (!best.format.empty() && best.format != use.format.text())
    return differs("format", best.format, use.format.text(), "--format " + best.format);
  return {};
}

void refuse(const BestKernel& best, const std::string& origin, const Difference& found) {
  throw UserError(
      "a tuned schedule does not fit the problem", origin,
      fmt::format("{} (it is of {})", found.text, name_of_problem(best.record)),
      fmt::format("what it was tuned for{}; else another weft tune, or its \"schedule\" list in a file "
                  "of its own{}",
                  found.option.empty() ? "" : ": " + found.option,
                  best.format.empty() ? "" : ", with --format " + best.format));
}

}  // namespace

void require_weights(const BestKernel& best, const std::string& origin, const WeightMatrix& matrix,
                     std::int64_t dense_columns) {
  std::map<std::string, std::int64_t> asked{{"M", matrix.rows}, {"K", matrix.columns}};
  if (difference_of_sizes(best.record, asked)) {
    asked["N"] = dense_columns;
    refuse(best, origin, *difference_of_sizes(best.record, asked));
  }
  const std::string& pattern = best.record.pattern.hash;
  if (!pattern.empty() && pattern != hash_of_pattern(matrix))
    refuse(best, origin,
           {fmt::format("tuned for other weights: {} stored, here {}, at other places",
                        best.record.pattern.stored, matrix.stored()),
            {}});
}

void require_fits(const BestKernel& best, const std::string& origin, const BestUse& use) {
  if (const auto found = difference(best, use)) refuse(best, origin, *found);
  if (!use.algorithm.takes_any_weights()) require_weights(best, origin, use.matrix, use.columns);
}

}  // namespace weft
