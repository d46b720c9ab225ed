// weft train: a predictor from measured times.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/recorded_times.h>
#include <weft/search/model/study.h>
#include <weft/search/records/record_file.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::tool {
namespace {

struct TrainVerb {
  std::vector<std::string> databases;
  std::string measure;
  std::vector<std::string> heights;
  std::vector<double> leaves;
  std::vector<std::string> emit;
  std::string output;
  double threshold = 0.98;
  std::size_t folds = 0;
  std::uint64_t seed = 1;
  bool raw = false;
  bool json = false;
};

std::vector<int> heights_of(const std::vector<std::string>& texts) {
  std::vector<int> heights;
  for (const std::string& text : texts) {
    const bool unlimited = text == "inf" || text == "unlimited";
    const auto height = unlimited ? TreeOptions::unlimited : read_number<int>(text);
    if (!height || *height < 0)
      throw UserError("a height cannot be read", "--max-height", text, "a whole number from 0, or inf");
    heights.push_back(*height);
  }
  return heights;
}

void write(const std::string& path, const std::string& text) {
  write_bytes(path, text);
  fmt::print(stderr, "wrote {}\n", path);
}

/// "; here by sim: --measure sim", where others than `asked` measured.
std::string other_measures(const std::vector<Record>& records, const std::string& asked) {
  std::set<std::string> found;
  for (const Record& record : records) {
    if (record.time_of_correct() && record.measure != asked) found.insert(record.measure);
  }
  if (found.empty()) return {};
  return fmt::format("; here by {}: --measure {}", fmt::join(found, ", "), *found.begin());
}

TimingTable read_times(const TrainVerb& options) {
  std::vector<Record> records;
  for (StoredRecord& stored : of_option("--db", [&] { return records_of_files(options.databases); }))
    records.push_back(std::move(stored.record));
  const std::string measure = options.measure.empty() ? best_measure(records) : options.measure;
  TimingTable table = timing_table(records, measure);
  if (table.problems.empty())
    throw UserError("there is nothing to learn from", fmt::format("{}", fmt::join(options.databases, ", ")),
                    fmt::format("no right trial measured by {}", measure),
                    fmt::format("trials of weft tune that were right{}", other_measures(records, measure)));
  fmt::print(stderr, "{} trials, times by {}\n", records.size(), measure);
  return table;
}

std::string with_extension(const std::string& path, const char* extension) {
  return std::filesystem::path(path).replace_extension(extension).string();
}

int run(const TrainVerb& options) {
  require_place_for("--out", options.output);
  require_apart_from("--out", options.output, files_read("--db", options.databases));
  if (!options.emit.empty() && options.output.empty())
    throw UserError("source needs a place", "--emit", "no -o", "-o tree.json: the source goes beside it");
  if (options.folds == 1)
    throw UserError("one part cannot be judged by others", "--cv", "1",
                    "2 or more, or 0: each matrix by all others");
  StudyOptions how;
  how.validation.folds = options.folds;
  how.validation.seed = options.seed;
  how.validation.labelling.threshold = options.threshold;
  how.heights = heights_of(options.heights);
  how.leaves = options.leaves;
  const TimingTable table = read_times(options);
  const Study found = of_option(fmt::format("--db {}", fmt::join(options.databases, " ")), [&] {
    return study(table, how, [](const std::string& text) { fmt::print(stderr, "judging: {}\n", text); });
  });
  Labelling labelling = how.validation.labelling;
  labelling.normalised = !options.raw;
  const auto line_of = [&](const char* model) {
    return std::ranges::find_if(found.lines, [&](const StudyLine& one) {
      return one.model == model && one.normalised == labelling.normalised;
    });
  };
  Predictor predictor = make_predictor(table, labelling(table), line_of("decision tree")->tree);
  const Score& score = line_of("fitted times")->score;
  predictor.training.normalised = labelling.normalised;
  predictor.training.threshold = options.threshold;
  predictor.training.accuracy = score.accuracy;
  predictor.training.mean = score.mean;
  predictor.training.worst = score.worst;
  if (!options.output.empty()) write(options.output, json_of(predictor));
  for (const std::string& language : options.emit) {
    const bool cpp = language == "cpp";
    write(with_extension(options.output, cpp ? "hpp" : "h"),
          source_of(predictor, cpp ? TreeLanguage::cpp : TreeLanguage::c));
  }
  if (options.json) {
    auto document = nlohmann::ordered_json::parse(json_of(found));
    document["tree"] = nlohmann::ordered_json::parse(json_of(predictor));
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}\n{}", text_of(found), text_of(predictor));
  }
  return exit_ok;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<TrainVerb>(
      app, action, "train", "a predictor that chooses schedules, from measured times",
      "Prints how fitted times, a decision tree and the analytic bound do on matrices that they have not\n"
      "seen, with classes normalised to those within 2 % of the best and without, the times and the tree.\n"
      "Example: weft train --db trials.jsonl --max-height 4 --emit c -o tree.json",
      run);
  begin_group(verb, "Problem");
  add_option(verb, "--db", options.databases, "files of trials, as weft tune writes them")->required();
  only(add_option(verb, "--measure", options.measure,
                  "gpu, cpu, sim or model: which trials; the first that there are"),
       {"gpu", "cpu", "sim", "model"});
  begin_group(verb, "Tree");
  add_list(verb, "--max-height", options.heights,
           "heights of the tree to choose from, with commas; inf: unlimited (1,2,4,8,inf)");
  only_above_zero(
      add_list(verb, "--min-leaf", options.leaves,
               "least problems of a leaf to choose from, below 1 a share of all (1,2,4,8,0.1,0.2)"));
  only_between(add_option(verb, "--threshold", options.threshold,
                          "share of the best performance that makes a class suit"),
               0.5, 1);
  verb.add_flag("--raw", options.raw, "keep every fastest configuration as a class");
  add_option(verb, "--cv", options.folds,
             "parts that matrices are dealt into for judging, 2 or more; 0: each alone")
      ->capture_default_str();
  add_option(verb, "--seed", options.seed, "of the drawings");
  begin_group(verb, "Output");
  only(add_list(verb, "--emit", options.emit, "the predictor as if statements beside -o: c, cpp"),
       {"c", "cpp"});
  add_option(verb, "-o,--out", options.output, "where the predictor goes, as JSON");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
