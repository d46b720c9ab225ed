#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/classes.h>
#include <weft/search/model/predictor.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

const Feature& feature_of(const DecisionTree::Node& node) {
  return features()[static_cast<std::size_t>(node.feature)];
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

void print_node(const Predictor& predictor, const std::vector<std::string>& names, std::size_t at,
                const std::string& indent, std::string& text) {
  const DecisionTree::Node& node = predictor.tree.nodes()[at];
  if (node.feature < 0) {
    const auto best = static_cast<std::size_t>(node.ranking.front());
    text += fmt::format("{}{}  ({} {}, {:.3f} of the best time)\n", indent, names[best], node.samples,
                        node.samples == 1 ? "problem" : "problems", node.slow_down);
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
  if (node.feature >= 0) {
    json = {{"feature", feature_of(node).name},
            {"threshold", node.threshold},
            {"left", node.left},
            {"right", node.right},
            {"decrease", node.decrease}};
  } else {
    json["ranking"] = node.ranking;
  }
  json["samples"] = node.samples;
  json["slow_down"] = node.slow_down;
  return json;
}

Json json_of_nodes(const DecisionTree& tree) {
  Json json = Json::array();
  for (const DecisionTree::Node& node : tree.nodes()) json.push_back(json_of_node(node));
  return json;
}

Json json_of_forest(const Predictor::Forest& forest) {
  Json json{{"accuracy", forest.accuracy}, {"mean", forest.mean}, {"worst", forest.worst}};
  json["trees"] = Json::array();
  for (const DecisionTree& tree : forest.trees.trees()) json["trees"].push_back(json_of_nodes(tree));
  return json;
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

std::vector<const Configuration*> named(const std::vector<Configuration>& classes,
                                        const std::vector<int>& numbers) {
  std::vector<const Configuration*> ranked;
  for (const int number : numbers) ranked.push_back(&classes[static_cast<std::size_t>(number)]);
  return ranked;
}

/// Checks while it reads; every complaint names the file.
class Reading {
 public:
  Reading(const Json& json, std::string origin) : json_(json), origin_(std::move(origin)) {}

  Predictor operator()() {
    if (!json_.is_object() || !json_.contains("weft_tree"))
      refuse("no \"weft_tree\"", "a file that weft train wrote");
    if (json_.at("weft_tree") != 1) refuse("version " + json_.at("weft_tree").dump(), "version 1");
    Predictor predictor;
    for (const Json& one : json_.at("classes"))
      predictor.classes.push_back({one.at("recipe").get<std::string>(), one.at("config").get<KnobValues>()});
    if (predictor.classes.empty()) refuse("no classes", "at least one");
    predictor.tree = tree(json_.at("nodes"), predictor.classes.size());
    read_training(json_.at("training"), predictor.training);
    if (json_.contains("forest")) predictor.forest = forest(json_.at("forest"), predictor.classes.size());
    return predictor;
  }

 private:
  [[noreturn]] void refuse(std::string found, std::string accepted) const {
    throw UserError({"a decision tree cannot be read", origin_, std::move(found), std::move(accepted)});
  }

  DecisionTree tree(const Json& json, std::size_t classes) const {
    std::vector<DecisionTree::Node> nodes;
    for (const Json& one : json) nodes.push_back(node(one, classes));
    check(nodes);
    return DecisionTree(std::move(nodes));
  }

  Predictor::Forest forest(const Json& json, std::size_t classes) const {
    std::vector<DecisionTree> trees;
    for (const Json& one : json.at("trees")) trees.push_back(tree(one, classes));
    if (trees.empty()) refuse("a forest without trees", "at least one");
    return {RandomForest(std::move(trees), classes, feature_count), json.at("accuracy").get<double>(),
            json.at("mean").get<double>(), json.at("worst").get<double>()};
  }

  DecisionTree::Node node(const Json& json, std::size_t classes) const {
    DecisionTree::Node node;
    node.samples = json.at("samples").get<std::size_t>();
    node.slow_down = json.at("slow_down").get<double>();
    if (!json.contains("feature")) {
      node.ranking = json.at("ranking").get<std::vector<int>>();
      for (const int number : node.ranking) {
        if (number < 0 || static_cast<std::size_t>(number) >= classes)
          refuse(fmt::format("class {} of {}", number, classes), "a class of the list");
      }
      return node;
    }
    const auto name = json.at("feature").get<std::string>();
    for (std::size_t i = 0; i < feature_count; ++i) {
      if (features()[i].name == name) node.feature = static_cast<int>(i);
    }
    if (node.feature < 0) refuse("feature " + name, "a feature that this version knows");
    node.threshold = json.at("threshold").get<double>();
    node.left = json.at("left").get<int>();
    node.right = json.at("right").get<int>();
    node.decrease = json.at("decrease").get<double>();
    return node;
  }

  void check(const std::vector<DecisionTree::Node>& nodes) const {
    if (nodes.empty()) refuse("no nodes", "at least one");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto follows = [&](int child) {
        return child > static_cast<int>(i) && child < static_cast<int>(nodes.size());
      };
      const bool whole = nodes[i].feature < 0 ? !nodes[i].ranking.empty()
                                              : follows(nodes[i].left) && follows(nodes[i].right);
      if (!whole) refuse(fmt::format("node {}", i), "children after their node, leaves with a class");
    }
  }

  void read_training(const Json& json, Predictor::Training& training) const {
    json.at("problems").get_to(training.problems);
    json.at("matrices").get_to(training.matrices);
    json.at("targets").get_to(training.targets);
    json.at("normalised").get_to(training.normalised);
    json.at("threshold").get_to(training.threshold);
    json.at("accuracy").get_to(training.accuracy);
    json.at("mean").get_to(training.mean);
    json.at("worst").get_to(training.worst);
    json.at("min_leaf").get_to(training.options.min_leaf);
    if (!json.at("max_height").is_null()) json.at("max_height").get_to(training.options.max_height);
    if (json.at("split_by") == "slow_down") training.options.split_by = SplitBy::slow_down;
  }

  const Json& json_;
  std::string origin_;
};

}  // namespace

std::vector<const Configuration*> Predictor::ranking(const FeatureValues& values) const {
  return named(classes, tree.ranking(values));
}

std::vector<const Configuration*> Predictor::ranking_by_forest(const FeatureValues& values) const {
  internal_check(forest.has_value(), "a predictor without a forest is asked for its votes");
  return named(classes, forest->trees.ranking(values));
}

Predictor make_predictor(const TimingTable& table, const std::vector<int>& labels, const TreeOptions& options,
                         const ForestOptions* forest) {
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
  if (forest != nullptr) predictor.forest = {RandomForest(set, *forest), 0, 0, 0};
  for (const int number : classes)
    predictor.classes.push_back(table.configurations[static_cast<std::size_t>(number)]);
  predictor.training.problems = problems.size();
  predictor.training.matrices = matrices.size();
  predictor.training.targets.assign(targets.begin(), targets.end());
  predictor.training.options = options;
  return predictor;
}

std::string text_of(const Predictor& predictor) {
  std::string text;
  print_node(predictor, short_names(predictor.classes), 0, {}, text);
  return text;
}

std::string json_of(const Predictor& predictor) {
  Json json{{"weft_tree", 1}, {"training", json_of_training(predictor.training)}};
  json["classes"] = Json::array();
  for (const Configuration& one : predictor.classes)
    json["classes"].push_back({{"recipe", one.recipe}, {"config", one.point}});
  json["nodes"] = json_of_nodes(predictor.tree);
  if (predictor.forest) json["forest"] = json_of_forest(*predictor.forest);
  return json.dump(1) + "\n";
}

Predictor predictor_of(std::string_view json, const std::string& origin) {
  try {
    const Json document = Json::parse(json);
    return Reading(document, origin)();
  } catch (const nlohmann::json::exception& error) {
    throw UserError({"a decision tree cannot be read", origin, error.what(), "a file that weft train wrote"});
  }
}

}  // namespace weft
