#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/search/model/classes.h>
#include <weft/search/model/predictor.h>
#include <weft/search/records/json_fields.h>
#include <weft/search/records/record_file.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

const Feature& feature_of(const DecisionTree::Node& node) {
  return features()[node.feature];
}

/// Without the knobs that are the same in all classes: those say nothing where classes stand side by side.
std::vector<std::string> short_names(const std::vector<Configuration>& classes) {
  std::vector<std::string> names;
  for (const Configuration& one : classes) {
    Configuration left = one;
    std::erase_if(left.point, [&](const auto& knob) {
      return classes.size() > 1 && std::ranges::all_of(classes, [&](const Configuration& other) {
               const auto found = other.point.find(knob.first);
               return found != other.point.end() && found->second == knob.second;
             });
    });
    names.push_back(left.text());
  }
  return names;
}

/// "0.9 + 0.02 * steps": the parts that a fit has.
std::string sum_of(const FittedTimes::Fit& fit) {
  std::string text;
  for (std::size_t i = 0; i < time_part_count; ++i) {
    if (fit.microseconds[i] == 0) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : " + ", fit.microseconds[i],
                        i == 0 ? "" : fmt::format(" * {}", part_names()[i]));
  }
  return text.empty() ? "0" : text;
}

/// A heading for each kind, by the features that tell kinds apart, and a line for each of its fits.
std::string text_of_times(const Predictor& predictor, const std::vector<std::string>& names) {
  std::string text;
  const std::vector<FittedTimes::Kind>& kinds = predictor.times.kinds();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    text += fmt::format("microseconds, fitted to {} problems", kinds[kind].problems);
    for (const std::size_t i : predictor.times.features_that_differ())
      text += fmt::format(", {} = {}", features()[i].name, kinds[kind].least[i]);
    text += "\n";
    for (const FittedTimes::Fit& fit : predictor.times.fits()) {
      if (fit.kind == kind) text += fmt::format("  {}: {}\n", names[fit.number], sum_of(fit));
    }
  }
  return text + (kinds.empty() ? "" : "\n");
}

void print_node(const Predictor& predictor, const std::vector<std::string>& names, std::size_t at,
                const std::string& indent, std::string& text) {
  const DecisionTree::Node& node = predictor.tree.nodes()[at];
  if (node.feature < 0) {
    const auto best = static_cast<std::size_t>(node.ranking.front());
    text += fmt::format("{}{}  ({})\n", indent, names[best], score_of_leaf(node));
    return;
  }
  const Feature& feature = feature_of(node);
  const std::string limit =
      feature.is_size ? std::to_string(largest_size(node.threshold)) : fmt::format("{:.6g}", node.threshold);
  text += fmt::format("{}{} <= {}\n", indent, feature.name, limit);
  print_node(predictor, names, static_cast<std::size_t>(node.left), indent + "  ", text);
  text += fmt::format("{}{} > {}\n", indent, feature.name, limit);
  print_node(predictor, names, static_cast<std::size_t>(node.right), indent + "  ", text);
}

Json json_of_node(const DecisionTree::Node& node) {
  Json json;
  if (node.feature >= 0)
    json = {{"feature", feature_of(node).name},
            {"threshold", node.threshold},
            {"left", node.left},
            {"right", node.right},
            {"decrease", node.decrease}};
  else
    json["ranking"] = node.ranking;
  json["samples"] = node.samples;
  json["untried"] = node.untried;
  json["slow_down"] = node.slow_down;
  return json;
}

Json json_of_nodes(const DecisionTree& tree) {
  Json json = Json::array();
  for (const DecisionTree::Node& node : tree.nodes()) json.push_back(json_of_node(node));
  return json;
}

/// Sizes as they are, not their logarithms.
Json json_of_features(const FeatureValues& values) {
  Json json;
  for (std::size_t i = 0; i < feature_count; ++i)
    json[std::string(features()[i].name)] =
        features()[i].is_size ? std::round(std::exp2(values[i])) : values[i];
  return json;
}

Json json_of_kinds(const FittedTimes& times) {
  Json json = Json::array();
  for (const FittedTimes::Kind& kind : times.kinds())
    json.push_back({{"problems", kind.problems},
                    {"least", json_of_features(kind.least)},
                    {"most", json_of_features(kind.most)}});
  return json;
}

Json json_of_fits(const FittedTimes& times) {
  Json json = Json::array();
  for (const FittedTimes::Fit& fit : times.fits()) {
    Json parts = Json::object();
    for (std::size_t i = 0; i < time_part_count; ++i) {
      if (fit.microseconds[i] > 0) parts[std::string(part_names()[i])] = fit.microseconds[i];
    }
    json.push_back({{"kind", fit.kind}, {"class", fit.number}, {"microseconds", parts}});
  }
  return json;
}

/// A line for each element of a list, so that files can be read and compared.
std::string text_of_document(const Json& json) {
  std::string text = "{";
  for (const auto& [name, value] : json.items()) {
    text += fmt::format("{}\n{}: ", text.size() > 1 ? "," : "", Json(name).dump());
    if (!value.is_array()) {
      text += value.dump();
      continue;
    }
    text += "[";
    for (const Json& one : value) text += fmt::format("{}\n{}", text.back() == '[' ? "" : ",", one.dump());
    text += "]";
  }
  return text + "\n}\n";
}

Json json_of_training(const Predictor::Training& training) {
  const TreeOptions& options = training.options;
  Json json{{"problems", training.problems},
            {"matrices", training.matrices},
            {"targets", training.targets},
            {"max_height", options.max_height},
            {"min_leaf", options.min_leaf},
            {"split_by", options.split_by == SplitBy::gini ? "gini" : "slow_down"},
            {"normalised", training.normalised},
            {"threshold", training.threshold},
            {"accuracy", training.accuracy},
            {"mean", training.mean},
            {"worst", training.worst}};
  if (options.max_height == TreeOptions::unlimited) json["max_height"] = nullptr;
  return json;
}

/// Checks while it reads; every complaint names the file and the place in it.
class ReadingPredictor {
 public:
  explicit ReadingPredictor(const JsonFields& fields) : fields_(fields) {}

  Predictor operator()() {
    require_version(fields_, "weft_tree", 2);
    Predictor predictor;
    for (std::size_t i = 0; i < fields_.list("classes").size(); ++i) {
      const JsonFields one = fields_.element("classes", i);
      one.need("config");
      predictor.classes.push_back({one.required<std::string>("recipe"), {}});
      one.read("config", predictor.classes.back().point);
    }
    if (predictor.classes.empty()) fields_.refuse("classes", "no classes", "at least one");
    predictor.tree = tree(fields_, "nodes", predictor.classes.size());
    fields_.need("training");
    read_training(fields_.object("training"), predictor.training);
    predictor.times = times(predictor.classes);
    return predictor;
  }

 private:
  static DecisionTree tree(const JsonFields& fields, const std::string& name, std::size_t classes) {
    const std::size_t count = fields.list(name).size();
    if (count == 0) fields.refuse(name, "no nodes", "at least one");
    std::vector<DecisionTree::Node> nodes;
    for (std::size_t i = 0; i < count; ++i) nodes.push_back(node(fields.element(name, i), i, count, classes));
    return DecisionTree(std::move(nodes));
  }

  FittedTimes times(const std::vector<Configuration>& classes) const {
    std::vector<FittedTimes::Kind> kinds;
    for (std::size_t i = 0; i < fields_.list("kinds").size(); ++i) {
      const JsonFields one = fields_.element("kinds", i);
      one.need("least");
      one.need("most");
      kinds.push_back({static_cast<std::size_t>(one.required<std::int64_t>("problems", std::int64_t{0})),
                       feature_values(one.object("least")), feature_values(one.object("most"))});
    }
    std::vector<FittedTimes::Fit> fits;
    for (std::size_t i = 0; i < fields_.list("fits").size(); ++i)
      fits.push_back(fit(fields_.element("fits", i), kinds.size(), classes));
    return {std::move(kinds), std::move(fits)};
  }

  static FeatureValues feature_values(const JsonFields& fields) {
    FeatureValues values{};
    for (std::size_t i = 0; i < feature_count; ++i) {
      const Feature& feature = features()[i];
      const auto value = fields.required<double>(std::string(feature.name), feature.is_size ? 1.0 : 0.0);
      values[i] = feature.is_size ? std::log2(value) : value;
    }
    return values;
  }

  static FittedTimes::Fit fit(const JsonFields& fields, std::size_t kinds,
                              const std::vector<Configuration>& classes) {
    FittedTimes::Fit fit;
    fit.kind = static_cast<std::size_t>(
        fields.required<std::int64_t>("kind", std::int64_t{0}, static_cast<std::int64_t>(kinds) - 1));
    fields.need("class");
    fields.read("class", fit.number, 0, static_cast<int>(classes.size()) - 1);
    fit.shape = tile_shape(classes[fit.number]);
    fields.need("microseconds");
    const JsonFields parts = fields.object("microseconds");
    for (const auto& [name, value] : fields.need("microseconds").items()) {
      const auto part = std::ranges::find(part_names(), name);
      if (part == part_names().end())
        fields.refuse("microseconds", name, fmt::format("parts: {}", fmt::join(part_names(), ", ")));
      parts.read(name, fit.microseconds[part - part_names().begin()], 0.0);
    }
    return fit;
  }

  static DecisionTree::Node node(const JsonFields& fields, std::size_t number, std::size_t count,
                                 std::size_t classes) {
    constexpr std::int64_t many = std::numeric_limits<std::int64_t>::max();
    DecisionTree::Node node;
    node.samples = static_cast<std::size_t>(fields.required<std::int64_t>("samples", std::int64_t{0}, many));
    std::int64_t untried = 0;
    fields.read("untried", untried, std::int64_t{0}, static_cast<std::int64_t>(node.samples));
    node.untried = static_cast<std::size_t>(untried);
    fields.read("slow_down", node.slow_down, 0.0);
    if (!fields.has("feature")) {
      node.ranking = ranking(fields, classes);
      return node;
    }
    const auto name = fields.required<std::string>("feature");
    for (std::size_t i = 0; i < feature_count; ++i) {
      if (features()[i].name == name) node.feature = static_cast<int>(i);
    }
    if (node.feature < 0)
      fields.refuse("feature", name, fmt::format("one of {}", fmt::join(feature_names(), ", ")));
    node.threshold = fields.required<double>("threshold");
    // Children stand behind their node, so that no walk goes round.
    const int next = static_cast<int>(number) + 1, last = static_cast<int>(count) - 1;
    fields.need("left");
    fields.need("right");
    fields.read("left", node.left, next, last);
    fields.read("right", node.right, next, last);
    fields.read("decrease", node.decrease);
    return node;
  }

  static std::vector<int> ranking(const JsonFields& fields, std::size_t classes) {
    std::vector<int> numbers;
    const JsonFields::Json& list = fields.list("ranking");
    for (const JsonFields::Json& one : list) {
      const bool known = one.is_number_unsigned() && one.get<std::uint64_t>() < classes;
      if (!known)
        fields.refuse("ranking", "class " + shown(one),
                      fmt::format("numbers of classes, 0 to {}", classes - 1));
      numbers.push_back(one.get<int>());
    }
    if (numbers.empty()) fields.refuse("ranking", "no class", "a leaf with at least one");
    return numbers;
  }

  static std::vector<std::string_view> feature_names() {
    std::vector<std::string_view> names;
    for (const Feature& feature : features()) names.push_back(feature.name);
    return names;
  }

  static void read_training(const JsonFields& fields, Predictor::Training& training) {
    std::int64_t problems = 0, matrices = 0;
    fields.read("problems", problems, std::int64_t{0});
    fields.read("matrices", matrices, std::int64_t{0});
    training.problems = static_cast<std::size_t>(problems);
    training.matrices = static_cast<std::size_t>(matrices);
    for (const JsonFields::Json& target : fields.list("targets")) {
      if (!target.is_string()) fields.refuse("targets", shown(target), "names of targets");
      training.targets.push_back(target.get<std::string>());
    }
    fields.read("normalised", training.normalised);
    fields.read("threshold", training.threshold, 0.0, 1.0);
    fields.read("accuracy", training.accuracy, 0.0);
    fields.read("mean", training.mean, 0.0);
    fields.read("worst", training.worst, 0.0);
    fields.read("min_leaf", training.options.min_leaf, 0.0);
    fields.read("max_height", training.options.max_height, 0, TreeOptions::unlimited);
    std::string split_by;
    fields.read("split_by", split_by);
    if (split_by == "slow_down") training.options.split_by = SplitBy::slow_down;
  }

  const JsonFields& fields_;
};

}  // namespace

void Predictor::require_tree(const char* doing) const {
  if (!tree.nodes().empty() && !classes.empty()) return;
  throw UserError(doing, "Predictor", "no tree", "one of make_predictor() or predictor_of()");
}

std::vector<int> Predictor::ranking(const FeatureValues& values, CallPlace place) const {
  user_call(place, [&] { require_tree("a predictor has nothing to rank"); });
  std::vector<int> ranked;
  for (const FittedTimes::Expected& one : times.ranking(values)) ranked.push_back(one.number);
  return ranked.empty() ? tree.ranking(values) : ranked;
}

namespace {

void require_labels(const TimingTable& table, const std::vector<int>& labels) {
  if (table.problems.empty())
    throw UserError("a predictor cannot be made", "TimingTable::problems", "no problems", "at least one");
  const bool fit = labels.size() == table.problems.size() && std::ranges::all_of(labels, [&](int label) {
                     return label >= 0 && static_cast<std::size_t>(label) < table.configurations.size();
                   });
  if (!fit)
    throw UserError("a predictor cannot be made", "labels",
                    fmt::format("{} labels of {} problems", labels.size(), table.problems.size()),
                    "for each problem the number of one of its configurations");
}

}  // namespace

Predictor make_predictor(const TimingTable& table, const std::vector<int>& labels, const TreeOptions& options,
                         CallPlace place) {
  user_call(place, [&] { require_labels(table, labels); });
  const std::vector<int> classes = distinct(labels);
  std::vector<std::size_t> problems;
  std::set<std::string> matrices, targets;
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    problems.push_back(i);
    matrices.insert(table.problems[i].matrix);
    targets.insert(table.problems[i].target);
  }
  Predictor predictor;
  const TrainingSet set = training_set(table, problems, labels, classes);
  predictor.tree = fit_tree(set, options);
  predictor.times = FittedTimes(table, problems, classes);
  for (const int number : classes) predictor.classes.push_back(table.configurations[number]);
  predictor.training.problems = problems.size();
  predictor.training.matrices = matrices.size();
  predictor.training.targets.assign(targets.begin(), targets.end());
  predictor.training.options = options;
  return predictor;
}

std::string score_of_leaf(const DecisionTree::Node& leaf) {
  const std::string problems = fmt::format("{} {}", leaf.samples, leaf.samples == 1 ? "problem" : "problems");
  if (leaf.untried == leaf.samples) return problems + ", none of which tried it";
  const std::string score = fmt::format("{:.3f} of the best time", leaf.slow_down);
  if (leaf.untried == 0) return fmt::format("{}, {}", problems, score);
  return fmt::format("{}, {} of which never tried it; {} in the {}", problems, leaf.untried, score,
                     leaf.samples - leaf.untried == 1 ? "other" : "others");
}

std::string text_of(const Predictor& predictor, CallPlace place) {
  user_call(place, [&] { predictor.require_tree("a predictor cannot be printed"); });
  const std::vector<std::string> names = short_names(predictor.classes);
  std::string text = text_of_times(predictor, names);
  print_node(predictor, names, 0, {}, text);
  return text;
}

std::string json_of(const Predictor& predictor) {
  Json json{{"weft_tree", 2}, {"training", json_of_training(predictor.training)}};
  json["classes"] = Json::array();
  for (const Configuration& one : predictor.classes)
    json["classes"].push_back({{"recipe", one.recipe}, {"config", one.point}});
  json["nodes"] = json_of_nodes(predictor.tree);
  json["kinds"] = json_of_kinds(predictor.times);
  json["fits"] = json_of_fits(predictor.times);
  return text_of_document(json);
}

Predictor predictor_of(std::string_view json, const std::string& origin, CallPlace place) {
  return user_call(place, [&] {
    const JsonOrigin document{"a decision tree cannot be read", origin, "a file that weft train wrote"};
    if (is_database(json))
      throw UserError(document.what, origin, "a database of trials",
                      "what weft train --db " + origin + " -o tree.json writes");
    const Json parsed = parse_json(json, document);
    return ReadingPredictor(JsonFields(parsed, document))();
  });
}

}  // namespace weft
