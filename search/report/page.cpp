#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/model/timing_table.h>
#include <weft/search/report/network_part.h>
#include <weft/search/report/page.h>
#include <weft/search/report/trial_charts.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view page_style =
    R"(body{margin:0 auto;max-width:1180px;padding:1.2rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}
pre{background:var(--panel);padding:.8rem;overflow:auto;max-height:34rem;font:12px/1.45 ui-monospace,monospace;margin:0}
.verdict{background:var(--panel);border-left:4px solid var(--c2);padding:.8rem 1rem;white-space:pre-line;overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:1rem}
.panes{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.panes>div{min-width:0}@media(max-width:800px){.panes,.charts{grid-template-columns:1fr}}
table{border-collapse:collapse;font-size:13px}th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:left}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.k{overflow-wrap:anywhere;font:12px ui-monospace,monospace}
.scroll{overflow:auto;max-height:32rem}.soft{color:var(--soft)}summary{cursor:pointer}code{overflow-wrap:anywhere}
)";

std::string config_of(const Record& record) {
  return Configuration{record.recipe, record.config}.text();
}

/// The same, and the format of its weights.
std::string way_of(const Record& record) {
  return config_of(record) + (record.pattern.kind.empty() ? "" : " in " + record.pattern.kind);
}

/// Escaped, with a place for a new line behind every comma.
std::string breakable(std::string_view text) {
  std::string out = escaped(text);
  for (std::size_t at = out.find(','); at != std::string::npos; at = out.find(',', at + 1))
    out.insert(at + 1, "<wbr>");
  return out;
}

/// What stands behind a dense time that no library was measured for.
const char* mark_of(const std::optional<Baseline>& dense) {
  if (!dense || dense->whose == BaselineOf::library) return "";
  return dense->whose == BaselineOf::model ? "*" : "+";
}

/// A word as a shell takes it.
std::string quoted(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string inside;
  for (const char c : word) inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + inside + "'";
}

std::string cell(const std::optional<double>& value, const char* format = "{:.2f}") {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

class Page {
 public:
  explicit Page(const PageInput& input)
      : input_(input), problems_(problems_of(input.records)), chosen_(most_tried(problems_)) {
    if (chosen_ == nullptr)
      throw UserError("there is nothing to report", input.files.empty() ? "" : input.files.front(),
                      fmt::format("{} records, none with a problem", input.records.size()),
                      "a database of weft tune, whose records say M, K, N and dtype");
  }

  std::string operator()() {
    // Rows and texts are halved until the page fits.
    for (std::size_t rows = 400, text = 300'000;; rows /= 2, text /= 2) {
      std::string page = made(rows, text);
      if (page.size() <= input_.most_bytes || rows == 0) return page;
    }
  }

 private:
  std::string made(std::size_t rows, std::size_t text) {
    const Record& first = input_.records.front().record;
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n<title>weft report</title>\n<style>\n";
    page += chart_style();
    page += page_style;
    page += "</style>\n</head>\n<body>\n<h1>weft report</h1>\n";
    page += fmt::format("<p class=\"soft\">{} trials of {} {} on {}. From {}.</p>\n", input_.records.size(),
                        problems_.size(), problems_.size() == 1 ? "problem" : "problems",
                        escaped(first.target.gpu.empty() ? first.target.name : first.target.gpu),
                        escaped(files()));
    page += network();
    page += "<h2>Verdict</h2>\n<div class=\"verdict\">" + breakable(verdict()) + "</div>\n";
    page += charts();
    page += "<h2>The best of every problem</h2>\n" + problem_table(rows);
    page += fmt::format("<h2>Trials of {}</h2>\n", escaped(chosen_->name)) + trial_table(rows);
    page += "<h2>The chosen schedule</h2>\n" + kernel(text);
    page += "<h2>To measure it again</h2>\n<pre>" + escaped(commands()) + "</pre>\n";
    page += "<script type=\"application/json\" id=\"data\">" + data(rows) + "</script>\n</body>\n</html>\n";
    return page;
  }

  std::string files() const {
    return input_.files.empty() ? "records" : fmt::format("{}", fmt::join(input_.files, ", "));
  }

  std::string verdict() const {
    if (!input_.verdict.empty()) return input_.verdict;
    if (chosen_->best == nullptr) return chosen_->name + ": no trial was right";
    std::string text = fmt::format("{}\nfastest: {}, {:.2f} us\n", chosen_->name,
                                   way_of(chosen_->best->record), *chosen_->best_time());
    text +=
        chosen_->standing ? text_of(*chosen_->standing, *chosen_->dense) : "against dense: not measured\n";
    if (chosen_->bound)
      text += text_of_bound(chosen_->bound->microseconds, name_of(chosen_->bound->by), chosen_->best->record);
    return text;
  }

  /// The network first, where the trials are of one.
  std::string network() const {
    const std::vector<LayerTimes> layers = layers_of(problems_);
    const std::string verdict = network_verdict(layers);
    if (verdict.empty()) return {};
    return "<h2>The network</h2>\n<div class=\"verdict\">" + breakable(verdict) +
           "</div>\n<div class=\"charts\">\n" + svg_of(speed_up_of_layers(layers)) + "\n</div>\n";
  }

  std::string charts() const {
    std::string text = "<h2>Charts</h2>\n<div class=\"charts\">\n";
    text += svg_of(speed_up_over_sparsity(problems_)) + "\n" + svg_of(roofline(problems_)) + "\n";
    text += svg_of(best_so_far(*chosen_)) + "\n" + svg_of(two_knobs(*chosen_)) + "\n";
    text += svg_of(failures(problems_)) + "\n" + svg_of(predicted_against_measured(problems_)) + "\n</div>\n";
    return text;
  }

  std::string problem_table(std::size_t rows) const {
    std::string text =
        "<div class=\"scroll\"><table><thead><tr><th>problem</th><th class=\"n\">trials</th><th "
        "class=\"n\">best "
        "us</th><th class=\"n\">dense us</th><th class=\"n\">ratio</th><th>faster</th><th>bounded "
        "by</th><th>configuration</th></tr></thead><tbody>\n";
    for (std::size_t i = 0; i < std::min(rows, problems_.size()); ++i) {
      const ProblemTrials& problem = problems_[i];
      text += fmt::format(
          "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}{}</td><td "
          "class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"k\">{}</td></tr>\n",
          escaped(problem.name), problem.trials.size(), cell(problem.best_time()),
          problem.dense ? fmt::format("{:.2f}", problem.dense->microseconds) : "-", mark_of(problem.dense),
          cell(problem.speed_up()), problem.standing ? name_of(problem.standing->winner) : "-",
          problem.bound ? name_of(problem.bound->by) : "-",
          problem.best != nullptr ? breakable(way_of(problem.best->record)) : "none was right");
    }
    text += "</tbody></table></div>\n";
    if (problems_.size() > rows)
      text += fmt::format("<p class=\"soft\">The first {} of {}.</p>\n", rows, problems_.size());
    const auto has_of = [&](BaselineOf whose) {
      return std::ranges::any_of(problems_,
                                 [&](const ProblemTrials& p) { return p.dense && p.dense->whose == whose; });
    };
    if (has_of(BaselineOf::model)) text += "<p class=\"soft\">*: not measured, by the analytic model.</p>\n";
    if (has_of(BaselineOf::weft))
      text += "<p class=\"soft\">+: weft's own dense kernel; no library was measured.</p>\n";
    return text;
  }

  /// The fastest first, then what failed.
  std::vector<const StoredRecord*> shown_trials(std::size_t rows) const {
    std::vector<const StoredRecord*> trials = chosen_->trials;
    std::ranges::stable_sort(trials, {}, [](const StoredRecord* stored) {
      const std::optional<double> time = stored->record.time_of_correct();
      return std::pair(!time.has_value(), time.value_or(0));
    });
    trials.resize(std::min(trials.size(), rows));
    return trials;
  }

  std::string trial_table(std::size_t rows) const {
    std::string text =
        "<div class=\"scroll\"><table><thead><tr><th "
        "class=\"n\">line</th><th>format</th><th>configuration</th><th>status</th><th class=\"n\">us</th><th "
        "class=\"n\">predicted</th><th class=\"n\">registers</th><th class=\"n\">spilled "
        "B</th><th>message</th></tr></thead><tbody>\n";
    for (const StoredRecord* stored : shown_trials(rows)) {
      const Record& record = stored->record;
      text += fmt::format(
          "<tr><td class=\"n\">{}</td><td>{}</td><td class=\"k\">{}</td><td>{}</td><td "
          "class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
          stored->line, escaped(record.pattern.kind), breakable(config_of(record)),
          weft::name_of(record.status), cell(record.time_of_correct()), cell(record.predicted_microseconds),
          record.registers ? std::to_string(*record.registers) : "-",
          record.spill_bytes ? std::to_string(*record.spill_bytes) : "-",
          escaped(record.message.substr(0, 200)));
    }
    text += "</tbody></table></div>\n";
    if (chosen_->trials.size() > rows)
      text += fmt::format("<p class=\"soft\">The fastest {} of {}.</p>\n", rows, chosen_->trials.size());
    return text;
  }

  static std::string pane(const std::string& name, const std::string& text, std::size_t most) {
    if (text.empty()) return {};
    const bool cut = text.size() > most;
    return fmt::format("<div><details open><summary>{}</summary><pre>{}{}</pre></details></div>\n",
                       escaped(name), escaped(text.substr(0, most)), cut ? "\n… (cut here)" : "");
  }

  std::string kernel(std::size_t most) const {
    const ChosenKernel& kernel = input_.kernel;
    std::string text;
    if (chosen_->best != nullptr)
      text += "<p><code>" + breakable(way_of(chosen_->best->record)) + "</code></p>\n";
    if (!kernel.note.empty()) text += "<p class=\"soft\">" + escaped(kernel.note) + "</p>\n";
    text += pane("Schedule", kernel.schedule, most);
    text += "<div class=\"panes\">\n" + pane("Program", kernel.program, most) +
            pane(kernel.language, kernel.source, most) + "</div>\n";
    return text;
  }

  /// The device of `weft run` that measures as the record was measured; a modelled one is simulated.
  static std::string device_of(const Record& record) {
    if (record.measure == "cpu") return "cpu";
    return record.measure == "gpu" ? "cuda" : "sim:" + record.target.name;
  }

  std::string commands() const {
    if (chosen_->best == nullptr) return "# no trial was right";
    const Record& best = chosen_->best->record;
    if (!best.source.contains("weights")) return "# the records do not say where the weights are";
    std::map<std::string, std::string> source = best.source;
    source["format"] = best.pattern.kind;
    source.erase("layer");  // a name, no flag
    std::string flags;
    for (const auto& [flag, value] : source) flags += fmt::format(" --{} {}", flag, quoted(value));
    std::string text;
    // A kernel for a GPU that ran on the CPU by its meaning has no command.
    if (best.measure != "cpu" || !target_named(best.target.name).is_gpu())
      text += fmt::format("weft run{} --recipe {} --target {} --device {}\n", flags, quoted(config_of(best)),
                          best.target.name, device_of(best));
    const auto trials = std::ranges::count_if(chosen_->trials, [&](const StoredRecord* stored) {
      return stored->record.pattern.kind == best.pattern.kind;
    });
    return text + fmt::format("weft tune{} --target {} --measure {} --trials {} --db {}", flags,
                              best.target.name, best.measure, trials,
                              quoted(input_.files.empty() ? "trials.jsonl" : input_.files.front()));
  }

  std::string data(std::size_t rows) const {
    Json json;
    json["verdict"] = verdict();
    json["files"] = input_.files;
    json["problems"] = Json::array();
    for (std::size_t i = 0; i < std::min(rows, problems_.size()); ++i) {
      const ProblemTrials& problem = problems_[i];
      Json one{{"name", problem.name},
               {"M", problem.summary.m},
               {"K", problem.summary.k},
               {"N", problem.summary.n},
               {"density", problem.summary.density()},
               {"trials", problem.trials.size()}};
      if (problem.best != nullptr) {
        one["best_us"] = *problem.best_time();
        one["format"] = problem.best->record.pattern.kind;
        one["config"] = config_of(problem.best->record);
      }
      if (problem.dense) {
        one["dense_us"] = problem.dense->microseconds;
        one["dense"] = problem.dense->name;
        one["dense_of"] = name_of(problem.dense->whose);
      }
      if (problem.standing) one["winner"] = name_of(problem.standing->winner);
      if (problem.standing && !problem.standing->why_none.empty())
        one["no_verdict"] = problem.standing->why_none;
      if (problem.bound) one["bounded_by"] = name_of(problem.bound->by);
      json["problems"].push_back(std::move(one));
    }
    json["trials"] = Json::array();
    for (const StoredRecord* stored : shown_trials(rows)) {
      const Record& record = stored->record;
      Json one{{"line", stored->line},
               {"format", record.pattern.kind},
               {"config", config_of(record)},
               {"status", weft::name_of(record.status)}};
      if (const auto time = record.time_of_correct()) one["us"] = *time;
      if (record.predicted_microseconds) one["predicted_us"] = *record.predicted_microseconds;
      json["trials"].push_back(std::move(one));
    }
    // Nothing in it may end the element.
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
      text.replace(at, 1, "\\u003c");
    return text;
  }

  const PageInput& input_;
  std::vector<ProblemTrials> problems_;
  const ProblemTrials* chosen_;
};

}  // namespace

std::string page_of(const PageInput& input) {
  return Page(input)();
}

}  // namespace weft::report
