#include <fmt/format.h>
#include <weft/search/model/study.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string heading(const Study& study) {
  return fmt::format("{} problems of {} matrices, {} configurations\n", study.problems, study.matrices,
                     study.configurations);
}

std::string text_of_lines(const Study& study) {
  std::string text = fmt::format("{:<16}{:<12}{:>8}  {:<14}{:>9}{:>8}{:>8}{:>8}{:>8}{:>8}  {}\n", "model",
                                 "classes", "number", "height, leaf", "accuracy", "close", "mean", "worst",
                                 "by M", "untried", "worst at");
  for (const StudyLine& line : study.lines) {
    const std::string classes = !line.learns ? "-" : line.normalised ? "normalised" : "raw";
    const bool grown = line.model == "decision tree";
    text +=
        fmt::format("{:<16}{:<12}{:>8}  {:<14}{:>9.3f}{:>8.3f}{:>8.3f}{:>8.3f}{:>8.3f}{:>8}  {}\n",
                    line.model, classes, line.learns ? std::to_string(line.classes) : "-",
                    grown ? text_of(line.tree) : "-", line.score.accuracy, line.score.close, line.score.mean,
                    line.score.worst, line.impact, line.score.untried, line.score.worst_problem);
  }
  text +=
      "accuracy: exactly the problem's class; close: reaches the threshold of the classes; mean, worst: the\n"
      "fastest time over that of the choice; by M: the worst of each M, averaged; untried: problems that "
      "were\n"
      "not measured with the choice, which count as 0 in mean and worst. Matrices not seen before.\n";
  return text;
}

std::string text_of_importance(const Study& study) {
  std::string text = fmt::format("{:<18}{:>8}\n", "feature", "tree");
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (study.importance[i] == 0) continue;
    text += fmt::format("{:<18}{:>6.1f} %\n", features()[i].name, 100 * study.importance[i]);
  }
  return text;
}

std::string text_of_curve(const Study& study) {
  std::string text =
      fmt::format("{:>14}{:>20}{:>10}{:>8}\n", "problems known", "accuracy on them", "others", "mean");
  for (const LearningPoint& point : study.curve)
    text += fmt::format("{:>14}{:>20.3f}{:>10.3f}{:>8.3f}\n", point.problems, point.training_accuracy,
                        point.accuracy, point.mean);
  return text;
}

}  // namespace

std::string text_of(const TreeOptions& options) {
  const std::string height =
      options.max_height == TreeOptions::unlimited ? "unlimited" : std::to_string(options.max_height);
  return fmt::format("{}, {}{}", height, options.min_leaf, options.split_by == SplitBy::gini ? "" : " *");
}

std::string text_of(const Study& study) {
  std::string text = heading(study) + "\n" + text_of_lines(study);
  for (const StudyLine& line : study.lines) {
    if (line.tree.split_by == SplitBy::gini) continue;
    text += "*: splits chosen by slow-down, not by Gini impurity.\n";
    break;
  }
  text += "\n" + text_of_importance(study) + "\n" + text_of_curve(study);
  text += fmt::format(
      "\nfitted times of all configurations, a third of the matrices left out: Spearman {:.3f} within a "
      "problem "
      "in the mean, {:.3f} at least; best of 20 by the fit {:.3f} in the mean, {:.3f} at worst\n",
      study.order.correlation, study.order.least_correlation, study.order.of_twenty,
      study.order.worst_of_twenty);
  text += fmt::format(
      "\na decision takes {:.0f} ns by the fitted times, {:.0f} ns by the tree, {:.0f} ns by the bound for "
      "each "
      "configuration\n",
      study.times_nanoseconds, study.tree_nanoseconds, study.bound_nanoseconds);
  return text;
}

std::string json_of(const Study& study) {
  Json json{
      {"problems", study.problems}, {"matrices", study.matrices}, {"configurations", study.configurations}};
  json["models"] = Json::array();
  for (const StudyLine& line : study.lines) {
    Json one{{"model", line.model}};
    if (line.learns) {
      one["normalised"] = line.normalised;
      one["classes"] = line.classes;
    }
    if (line.model == "decision tree") {
      one["max_height"] = line.tree.max_height;
      if (line.tree.max_height == TreeOptions::unlimited) one["max_height"] = nullptr;
      one["min_leaf"] = line.tree.min_leaf;
      one["split_by"] = line.tree.split_by == SplitBy::gini ? "gini" : "slow_down";
    }
    one["accuracy"] = line.score.accuracy;
    one["close"] = line.score.close;
    one["mean"] = line.score.mean;
    one["worst"] = line.score.worst;
    one["untried"] = line.score.untried;
    one["worst_problem"] = line.score.worst_problem;
    one["by_m"] = line.impact;
    json["models"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < feature_count; ++i)
    json["importance"][std::string(features()[i].name)] = study.importance[i];
  json["order"] = {{"correlation", study.order.correlation},
                   {"least_correlation", study.order.least_correlation},
                   {"of_twenty", study.order.of_twenty},
                   {"worst_of_twenty", study.order.worst_of_twenty}};
  json["learning_curve"] = Json::array();
  for (const LearningPoint& point : study.curve)
    json["learning_curve"].push_back({{"problems", point.problems},
                                      {"training_accuracy", point.training_accuracy},
                                      {"accuracy", point.accuracy},
                                      {"mean", point.mean}});
  json["nanoseconds"] = {{"times", study.times_nanoseconds},
                         {"tree", study.tree_nanoseconds},
                         {"bound", study.bound_nanoseconds}};
  return json.dump(2) + "\n";
}

}  // namespace weft
