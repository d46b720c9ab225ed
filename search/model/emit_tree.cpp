// A predictor as `if` statements.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/predictor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace weft {
namespace {

class Emitting {
 public:
  Emitting(const Predictor& predictor, TreeLanguage language)
      : predictor_(predictor), cpp_(language == TreeLanguage::cpp), used_(feature_count) {
    const FittedTimes& times = predictor.times;
    if (asks_tree()) {
      for (const DecisionTree::Node& node : predictor.tree.nodes()) {
        if (node.feature >= 0) use(static_cast<std::size_t>(node.feature));
      }
    }
    for (const std::size_t feature : times.features_that_differ()) use(feature);
    for (std::size_t i = 0; i < feature_count; ++i) {
      constexpr std::array<std::string_view, 4> of_parts{"M", "N", "K", "row_mean"};
      if (!times.kinds().empty() && std::ranges::find(of_parts, features()[i].name) != of_parts.end()) use(i);
    }
  }

  std::string operator()() {
    heading();
    list();
    if (!predictor_.times.kinds().empty()) division();
    function();
    if (cpp_) text_ += "\n}  // namespace weft_tree\n";
    text_ += cpp_ ? "" : "\n#endif\n";
    return text_;
  }

 private:
  /// A feature that is computed needs those that it is computed from.
  void use(std::size_t feature) {
    used_[feature] = true;
    if (features()[feature].from.empty()) return;
    for (std::size_t i = 0; i < feature_count; ++i) {
      const std::string given = fmt::format("){}", features()[i].name);
      if (features()[feature].from.find(given) != std::string_view::npos) used_[i] = true;
    }
  }

  /// A problem of the only kind that there is has its answer already.
  bool asks_tree() const {
    return predictor_.times.kinds().empty() || !predictor_.times.features_that_differ().empty();
  }

  void heading() {
    const Predictor::Training& training = predictor_.training;
    line(fmt::format("Which configuration suits a problem: by weft train, of {} problems on {}.",
                     training.problems, fmt::join(training.targets, ", ")));
    line("M, K: rows and columns of the weights. N: columns of the product. density: share of weights kept.");
    line("V: rows that share their columns, else 0. row_mean, row_variation: weights of a row, and their");
    line("standard deviation over their mean. The rest as their names say.");
    text_ += cpp_ ? "#pragma once\n\n#include <cstdint>\n\nnamespace weft_tree {\n\n"
                  : "#ifndef WEFT_TREE_H\n#define WEFT_TREE_H\n\n#include <stdint.h>\n\n";
  }

  void list() {
    line("The configuration of a number, as the flag --recipe of weft takes it.");
    text_ += fmt::format("{} const char* {}(int number) {{\n", cpp_ ? "inline" : "static inline",
                         name("configuration"));
    text_ += "  static const char* const all[] = {\n";
    for (const Configuration& one : predictor_.classes) text_ += fmt::format("      \"{}\",\n", one.text());
    text_ += "  };\n  return all[number];\n}\n\n";
  }

  void division() {
    line("a / b, to the next whole number.");
    text_ += fmt::format("{} double {}(double a, double b) {{\n", cpp_ ? "inline" : "static inline", up());
    text_ += fmt::format("  const double whole = (double)({})(a / b);\n", integer());
    text_ += "  return whole < a / b ? whole + 1 : whole;\n}\n\n";
  }

  void function() {
    std::string parameters;
    for (std::size_t i = 0; i < feature_count; ++i) {
      if (!used_[i] || !features()[i].from.empty()) continue;
      const char* type = !features()[i].is_size ? "double" : integer();
      parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", type, features()[i].name);
    }
    line(fmt::format("The number of a configuration, from 0 to {}.", predictor_.classes.size() - 1));
    const std::string none = cpp_ ? "" : "void";
    text_ += fmt::format("{} int {}({}) {{\n", cpp_ ? "inline" : "static inline", name("choose"),
                         parameters.empty() ? none : parameters);
    for (std::size_t i = 0; i < feature_count; ++i) {
      if (used_[i] && !features()[i].from.empty())
        text_ += fmt::format("  const double {} = {};\n", features()[i].name, features()[i].from);
    }
    times();
    if (asks_tree()) node(0, "  ");
    text_ += "}\n";
  }

  /// For each kind the least of its fitted times.
  void times() {
    const FittedTimes& times = predictor_.times;
    if (times.kinds().empty()) return;
    text_ += "  const double m = (double)M, n = (double)N, k = (double)K;\n";
    text_ += "  double steps = 0, blocks = 0, t = 0, least = 1e300;\n  int choice = 0;\n";
    text_ += "  (void)m, (void)n, (void)k, (void)steps, (void)blocks;\n";
    for (std::size_t i = 0; i < times.kinds().size(); ++i) {
      const FittedTimes::Kind& kind = times.kinds()[i];
      std::string condition;
      for (const std::size_t feature : times.features_that_differ())
        condition += fmt::format("{}{} == {:.17g}", condition.empty() ? "" : " && ", features()[feature].name,
                                 kind.least[feature]);
      text_ += condition.empty() ? "" : fmt::format("  if ({}) {{\n", condition);
      for (const FittedTimes::Fit& fit : times.fits()) {
        if (fit.kind == i) one_time(fit, kind);
      }
      text_ += condition.empty() ? "  return choice;\n" : "    return choice;\n  }\n";
    }
  }

  void one_time(const FittedTimes::Fit& fit, const FittedTimes::Kind& kind) {
    const TileShape& tile = fit.shape;
    text_ +=
        fmt::format("    steps = {0}(row_mean, {1}) / {2};\n    blocks = {0}(m, {3}) * {0}(n, {4}) * {2};\n",
                    up(), tile.k, tile.groups, tile.m, tile.n);
    std::string sum;
    for (std::size_t i = 0; i < time_part_count; ++i) {
      if (fit.microseconds[i] == 0) continue;
      const std::string part = expression_of_part(i, kind.least, up());
      sum += fmt::format("{}{}{}", sum.empty() ? "" : " + ", fit.microseconds[i],
                         part.empty() ? "" : " * " + part);
    }
    text_ += fmt::format("    t = {};\n    if (t < least) {{\n      least = t;\n      choice = {};\n    }}\n",
                         sum.empty() ? "0" : sum, fit.number);
  }

  void node(std::size_t at, const std::string& indent) {
    const DecisionTree::Node& one = predictor_.tree.nodes()[at];
    if (one.feature < 0) {
      const std::string remark = score_of_leaf(one);
      text_ += fmt::format("{}return {};  {}\n", indent, one.ranking.front(),
                           cpp_ ? "// " + remark : "/* " + remark + " */");
      return;
    }
    const Feature& feature = features()[one.feature];
    const std::string limit =
        feature.is_size ? std::to_string(largest_size(one.threshold)) : fmt::format("{:.17g}", one.threshold);
    text_ += fmt::format("{}if ({} <= {}) {{\n", indent, feature.name, limit);
    node(static_cast<std::size_t>(one.left), indent + "  ");
    text_ += indent + "} else {\n";
    node(static_cast<std::size_t>(one.right), indent + "  ");
    text_ += indent + "}\n";
  }

  void line(const std::string& remark) { text_ += cpp_ ? "// " + remark + "\n" : "/* " + remark + " */\n"; }
  const char* integer() const { return cpp_ ? "std::int64_t" : "int64_t"; }
  std::string up() const { return name("up"); }
  std::string name(const char* of) const { return cpp_ ? of : std::string("weft_tree_") + of; }

  const Predictor& predictor_;
  bool cpp_;
  std::vector<bool> used_;
  std::string text_;
};

}  // namespace

std::int64_t largest_size(double threshold) {
  constexpr double most = 62;
  if (threshold >= most) return std::numeric_limits<std::int64_t>::max();
  if (threshold < 0) return -1;
  auto size = static_cast<std::int64_t>(std::floor(std::exp2(threshold)));
  // exp2 and log2 are rounded, each in its own way.
  while (size > 0 && std::log2(static_cast<double>(size)) > threshold) --size;
  while (std::log2(static_cast<double>(size + 1)) <= threshold) ++size;
  return size;
}

std::string source_of(const Predictor& predictor, TreeLanguage language, CallPlace place) {
  user_call(place, [&] { predictor.require_tree("a predictor cannot be made into source"); });
  return Emitting(predictor, language)();
}

}  // namespace weft
