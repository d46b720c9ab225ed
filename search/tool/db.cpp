// weft db: what a database of trials holds.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>
#include <weft/search/trials/record_export.h>
#include <weft/search/trials/record_query.h>
#include <weft/search/trials/standing.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace weft::tool {
namespace {

struct DbVerb {
  std::vector<std::string> files;
  RecordFilter filter;
  std::int64_t m = 0, k = 0, n = 0;
  std::string out;
  std::string form;
  std::string searched;
  std::int64_t trials = 40;
  std::int64_t limit = 0;
  int seeds = 20;
  bool any_architecture = false;
  bool json = false;
};

constexpr std::int64_t most_rows = std::int64_t{1} << 62;

/// One of the options that choose records: what it asks for alone, and what a record has.
struct Wanted {
  std::string flag, value;
  RecordFilter filter;
  std::function<std::string(const Record&)> value_of;
};

std::vector<Wanted> wanted_by(const RecordFilter& filter) {
  std::vector<Wanted> all{
      {"--kernel", filter.kernel, {.kernel = filter.kernel}, [](const Record& r) { return r.kernel; }},
      {"--target", filter.target, {.target = filter.target}, [](const Record& r) { return r.target.name; }},
      {"--measure", filter.measure, {.measure = filter.measure}, [](const Record& r) { return r.measure; }},
      {"--recipe", filter.recipe, {.recipe = filter.recipe}, [](const Record& r) { return r.recipe; }},
      {"--format", filter.format, {.format = filter.format}, [](const Record& r) { return r.pattern.kind; }}};
  for (const auto& [name, size] : filter.sizes) {
    const std::string asked = name;
    all.push_back({"--" + asked, std::to_string(size), {.sizes = {{asked, size}}}, [asked](const Record& r) {
                     return std::to_string(r.problem.size(asked));
                   }});
  }
  std::erase_if(all, [](const Wanted& one) { return one.value.empty(); });
  return all;
}

/// An answer without records says nothing where a word was mistyped.
void require_some(const std::vector<StoredRecord>& records, const RecordFilter& filter) {
  for (const auto& [flag, value, one, value_of] : wanted_by(filter)) {
    if (records.empty() || !selected(records, one).empty()) continue;
    std::set<std::string> known;
    for (const StoredRecord& stored : records) known.insert(value_of(stored.record));
    const std::vector<std::string_view> names(known.begin(), known.end());
    throw UserError("no trial of the files is so", flag, value,
                    fmt::format("{}{}", fmt::join(known, ", "), did_you_mean(value, names)));
  }
}

RecordFilter filter_of(const DbVerb& options) {
  RecordFilter filter = options.filter;
  for (const auto& [name, size] : {std::pair{"M", options.m}, {"K", options.k}, {"N", options.n}}) {
    if (size > 0) filter.sizes[name] = size;
  }
  if (!filter.status.empty() && !trial_status_named(filter.status))
    throw UserError("there is no such status", "--status", filter.status,
                    "correct, constraints, compile, timeout, runtime or correctness");
  return filter;
}

/// All records of a file; what could not be read goes to stderr.
std::vector<StoredRecord> read_records(const std::string& path) {
  const RecordFile file(path, RecordFile::Mode::read);
  for (const std::string& warning : file.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  return file.records();
}

/// The chosen records of the files.
std::vector<StoredRecord> records_of(const std::vector<std::string>& files, const DbVerb& options) {
  const RecordFilter filter = filter_of(options);
  std::vector<StoredRecord> all;
  for (const std::string& path : files) std::ranges::move(read_records(path), std::back_inserter(all));
  require_some(all, filter);
  return selected(all, filter);
}

std::string microseconds_of(const Record& record) {
  return record.microseconds ? fmt::format("{:.4g}", record.microseconds->median) : "-";
}

/// Beside another dense product than a library's, whose it is.
std::string over_dense(const Record& record) {
  const auto time = record.time_of_correct();
  const Baseline* dense = dense_beside(record);
  if (!time || dense == nullptr) return "-";
  const bool library = dense->whose == BaselineOf::library;
  return fmt::format("{:.2f}x{}{}", dense->microseconds / *time, library ? "" : " ",
                     library ? "" : name_of(dense->whose));
}

/// "--format csr --recipe sparsert:rows=32", to be put behind `weft run`; knobs alone of a recipe that is not
/// known here.
std::string configuration_of(const Record& record) {
  const std::string text = record.pattern.kind.empty() ? "" : "--format " + record.pattern.kind + " ";
  const Recipe* recipe = recipe_named(record.recipe);
  if (recipe == nullptr) return text + text_of_config(record);
  const std::string knobs = text_of_point(recipe->knobs, record.config);
  return text + "--recipe " + record.recipe + (knobs.empty() ? "" : ":" + knobs);
}

int query(const DbVerb& options) {
  std::vector<StoredRecord> records = records_of(options.files, options);
  if (options.limit > 0 && records.size() > static_cast<std::size_t>(options.limit)) {
    std::ranges::stable_sort(records, {}, [](const StoredRecord& stored) {
      return stored.record.time_of_correct().value_or(std::numeric_limits<double>::infinity());
    });
    records.resize(options.limit);
  }
  if (options.json) {
    for (const StoredRecord& stored : records) fmt::print("{}\n", json_of(stored.record));
    return exit_ok;
  }
  Table table({"line", "problem", "us", "over dense", "status", "configuration"});
  for (const StoredRecord& stored : records)
    table.row({std::to_string(stored.line), name_of_problem(stored.record), microseconds_of(stored.record),
               over_dense(stored.record), std::string(name_of(stored.record.status)),
               configuration_of(stored.record)});
  fmt::print("{}", table.text());
  return exit_ok;
}

int best(const DbVerb& options) {
  const std::vector<StoredRecord> records = records_of(options.files, options);
  Table table({"line", "problem", "us", "over dense", "trials", "configuration"});
  for (const ProblemTrials& problem : problems_of(records)) {
    if (problem.best == nullptr) {
      if (!options.json)
        table.row({"-", problem.name, "-", "-", std::to_string(problem.trials.size()), "none was right"});
      continue;
    }
    const Record& record = problem.best->record;
    if (options.json) fmt::print("{}\n", json_of(record));
    table.row({std::to_string(problem.best->line), problem.name, microseconds_of(record), over_dense(record),
               std::to_string(problem.trials.size()), configuration_of(record)});
  }
  if (!options.json) fmt::print("{}", table.text());
  return exit_ok;
}

int stats(const DbVerb& options) {
  const std::vector<StoredRecord> records = records_of(options.files, options);
  const std::vector<ProblemTrials> problems = problems_of(records);
  auto document = nlohmann::ordered_json::array();
  Table table({"problem", "trials", "correct", "constraints", "compile", "timeout", "runtime", "correctness",
               "best us"});
  for (const ProblemTrials& problem : problems) {
    std::vector<std::string> row{problem.name, std::to_string(problem.trials.size())};
    nlohmann::ordered_json entry{{"problem", problem.name}, {"trials", problem.trials.size()}};
    for (const TrialStatus status : {TrialStatus::correct, TrialStatus::constraints, TrialStatus::compile,
                                     TrialStatus::timeout, TrialStatus::runtime, TrialStatus::correctness}) {
      const auto found = problem.ends.find(status);
      const std::int64_t count = found == problem.ends.end() ? 0 : found->second;
      row.push_back(std::to_string(count));
      entry[std::string(name_of(status))] = count;
    }
    row.push_back(problem.best == nullptr ? "-" : microseconds_of(problem.best->record));
    if (problem.best != nullptr) entry["best_us"] = *problem.best->record.time_of_correct();
    table.row(row);
    document.push_back(entry);
  }
  fmt::print("{}", options.json ? document.dump(2) + "\n" : table.text());
  if (!options.json) fmt::print("{} trials of {} problems\n", records.size(), problems.size());
  return exit_ok;
}

/// The records to merge, of one architecture unless more are wanted: found out before anything is written.
std::vector<Record> records_to_merge(const DbVerb& options) {
  const RecordFilter filter = filter_of(options);
  std::vector<Record> records;
  std::vector<StoredRecord> all;
  std::string first;  // architecture
  std::string first_place;
  for (const std::string& path : options.files) {
    std::vector<StoredRecord> of_file = read_records(path);
    for (const StoredRecord& stored : selected(of_file, filter)) {
      const std::string own = architecture_of(stored.record.target.name);
      const std::string place = fmt::format("{}:{}", path, stored.line);
      if (records.empty()) std::tie(first, first_place) = std::tie(own, place);
      if (own != first && !options.any_architecture)
        throw UserError("databases of two architectures are not merged into one", "db merge, " + place,
                        fmt::format("{}, where {} is of {}", own, first_place, first),
                        fmt::format("records of one: --target {}; or of both in one: --allow-arch", first));
      records.push_back(stored.record);
    }
    std::ranges::move(of_file, std::back_inserter(all));
  }
  require_some(all, filter);
  return records;
}

int merge(const DbVerb& options) {
  std::vector<Record> records = records_to_merge(options);
  const std::size_t count = records.size();
  RecordFile out(options.out, RecordFile::Mode::append);
  const std::size_t added = out.append_all(std::move(records), options.any_architecture);
  for (const std::string& warning : out.warnings()) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("{} records added to {}, {} were there already\n", added, options.out, count - added);
  return exit_ok;
}

int export_to(const DbVerb& options) {
  require_place_for("--out", options.out);
  require_apart_from("--out", options.out, files_read("files", options.files));
  const RecordForm form = record_form_named(options.form);
  const std::string text = exported(records_of(options.files, options), form);
  if (options.out.empty())
    fmt::print("{}", text);
  else
    write_bytes(options.out, text);
  return exit_ok;
}

int regret(const DbVerb& options) {
  const std::vector<StoredRecord> oracle = records_of(options.files, options);
  const std::vector<Regret> regrets = options.searched.empty()
                                          ? played_through(oracle, options.trials, options.seeds)
                                          : regrets_of(oracle, records_of({options.searched}, options));
  Table table({"problem", "points", "oracle us", "trials", "reached us", "ratio", "configuration"});
  double sum = 0;
  double worst = std::numeric_limits<double>::infinity();
  auto document = nlohmann::ordered_json::array();
  for (const Regret& one : regrets) {
    sum += one.ratio;
    worst = std::min(worst, one.ratio);
    table.row({one.problem, std::to_string(one.points), fmt::format("{:.3f}", one.oracle),
               std::to_string(one.trials), fmt::format("{:.3f}", one.by_oracle),
               fmt::format("{:.3f}", one.ratio), one.chosen});
    document.push_back({{"problem", one.problem},
                        {"points", one.points},
                        {"oracle_us", one.oracle},
                        {"trials", one.trials},
                        {"reached_us", one.by_oracle},
                        {"measured_us", one.measured},
                        {"ratio", one.ratio},
                        {"configuration", one.chosen}});
  }
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
  } else if (regrets.empty()) {
    fmt::print("no problem is in both\n");
  } else {
    fmt::print("{}mean {:.4f}, worst {:.4f} of the oracle over {} problems\n", table.text(),
               sum / static_cast<double>(regrets.size()), worst, regrets.size());
  }
  return exit_ok;
}

void add_filter(CLI::App& verb, DbVerb& options) {
  begin_group(verb, "Trials");
  add_option(verb, "--kernel", options.filter.kernel, "only of this operation: spmm, conv2d");
  add_option(verb, "--target", options.filter.target, "only of one of weft targets, or an architecture");
  add_option(verb, "--measure", options.filter.measure, "only by gpu, sim, model or cpu");
  add_option(verb, "--recipe", options.filter.recipe, "only of one of weft recipes");
  add_option(verb, "--format", options.filter.format, "only of weights in one of weft formats");
  add_option(verb, "--status", options.filter.status, "only those that ended so");
  only_from(add_option(verb, "--M", options.m, "only of so many rows"), 1, most_rows);
  only_from(add_option(verb, "--K", options.k, "only of so many columns of the weights"), 1, most_rows);
  only_from(add_option(verb, "--N", options.n, "only of so many columns of the dense operand"), 1, most_rows);
}

CLI::App& add_part(CLI::App& verb, const std::shared_ptr<DbVerb>& options, Action& action, const char* name,
                   const char* summary, const char* example, int (*run)(const DbVerb&)) {
  CLI::App* part = verb.add_subcommand(name, summary);
  add_option(*part, "files", options->files, "databases of trials")->required();
  part->footer(fmt::format("Example: {}", example));
  add_filter(*part, *options);
  begin_group(*part, "Output");
  part->callback([options, &action, run] { action = [options, run] { return run(*options); }; });
  return *part;
}

}  // namespace

void add_db(CLI::App& app, Action& action) {
  auto options = std::make_shared<DbVerb>();
  CLI::App* verb = app.add_subcommand("db", "ask, merge and export databases of trials");
  verb->require_subcommand(1);
  verb->footer(
      "Examples: weft db best weftdb.jsonl --target sm_90a\n"
      "          weft db merge a.jsonl b.jsonl -o all.jsonl\n"
      "          weft db regret exhaustive.jsonl --searched tuned.jsonl");
  CLI::App& query_part = add_part(*verb, options, action, "query", "list trials",
                                  "weft db query weftdb.jsonl --limit 10", query);
  only_from(add_option(query_part, "--limit", options->limit, "only so many, the fastest"), 1, most_rows);
  add_json_flag(query_part, options->json, "the records themselves, a line each");
  CLI::App& best_part = add_part(*verb, options, action, "best", "the fastest kernel of each problem",
                                 "weft db best weftdb.jsonl --target sm_90a", best);
  add_json_flag(best_part, options->json, "the records themselves, a line each");
  CLI::App& stats_part = add_part(*verb, options, action, "stats", "trials of each problem by how they ended",
                                  "weft db stats weftdb.jsonl", stats);
  add_json_flag(stats_part, options->json);
  CLI::App& merge_part = add_part(*verb, options, action, "merge", "append to one database what it lacks",
                                  "weft db merge a.jsonl b.jsonl -o all.jsonl", merge);
  add_option(merge_part, "-o,--out", options->out, "the database")->required();
  merge_part.add_flag("--allow-arch", options->any_architecture, "even of another architecture");
  CLI::App& export_part = add_part(*verb, options, action, "export", "write trials for other tools",
                                   "weft db export weftdb.jsonl --to csv -o trials.csv", export_to);
  add_option(export_part, "--to", options->form, "t4, kernel-tuner or csv")->required();
  add_option(export_part, "-o,--out", options->out, "the file; stdout if left out");
  CLI::App& regret_part =
      add_part(*verb, options, action, "regret", "how near a search comes to the best of exhaustive trials",
               "weft db regret exhaustive.jsonl --searched tuned.jsonl", regret);
  add_option(regret_part, "--searched", options->searched,
             "database of the search; if left out, it is played through on the exhaustive times");
  only_from(add_option(regret_part, "--trials", options->trials, "of a search that is played through"), 1,
            1'000'000);
  only_from(
      add_option(regret_part, "--seeds", options->seeds, "searches of a problem, of which the median counts"),
      1, 10000);
  add_json_flag(regret_part, options->json);
}

}  // namespace weft::tool
