#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/timing_table.h>
#include <weft/search/report/commands.h>
#include <weft/search/report/network_part.h>
#include <weft/search/report/page.h>
#include <weft/search/report/page_table.h>
#include <weft/search/report/trial_charts.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view page_style =
    R"(body{margin:0 auto;max-width:1180px;padding:1.2rem;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;
font:15px/1.5 system-ui,sans-serif}h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .4rem}a{color:var(--c0)}:focus-visible{outline:2px solid var(--c1);outline-offset:2px}
pre{background:var(--panel);padding:.8rem;overflow:auto;max-height:34rem;font:12px/1.45 ui-monospace,monospace;margin:0}
pre.command{white-space:pre-wrap;margin-bottom:.6rem}p.what{margin:.2rem 0;color:var(--soft)}
.verdict{background:var(--panel);border-left:4px solid var(--c2);padding:.8rem 1rem;margin-bottom:.6rem;white-space:pre-line}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:1rem;margin-top:1rem}
.charts svg{max-width:540px}.panes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:1rem}.panes>div{min-width:0}
table{border-collapse:collapse;font-size:13px;overflow-wrap:normal}th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{position:sticky;top:0;background:var(--paper)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.k{overflow-wrap:anywhere;min-width:15rem;font:12px ui-monospace,monospace}td.p{overflow-wrap:anywhere;min-width:9rem}
.scroll{overflow:auto;max-height:36rem}.soft{color:var(--soft);margin:.4rem 0}summary{cursor:pointer;padding:.15rem 0}
@media(max-width:700px){body{padding:.7rem}td,th{padding:.2rem .4rem}}
@media print{.scroll,pre{max-height:none;overflow:visible}pre{white-space:pre-wrap}svg,tr,.verdict{break-inside:avoid}
table{font-size:10px}td,th{padding:.15rem .3rem}td.k{min-width:0;font-size:9px}td.p{min-width:0}th{position:static}}
)";

std::string config_of(const Record& record) {
  return Configuration{record.recipe, record.config}.text();
}

/// The same, and the format of its weights.
std::string way_of(const Record& record) {
  return config_of(record) + (record.pattern.kind.empty() ? "" : " in " + record.pattern.kind);
}

/// Escaped, with a place for a new line behind every comma, and every point within a name.
std::string breakable(std::string_view text) {
  std::string out;
  const std::string whole = escaped(text);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    out += whole[i];
    const bool in_name = i + 1 < whole.size() && std::isalpha(static_cast<unsigned char>(whole[i + 1])) != 0;
    if (whole[i] == ',' || (whole[i] == '.' && in_name)) out += "<wbr>";
  }
  return out;
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : std::string();
}

std::string html_of(const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands)
    text += fmt::format("<p class=\"what\">{}:</p>\n<pre class=\"command\">{}</pre>\n", escaped(command.what),
                        escaped(command.line));
  return text;
}

bool has_points(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& series) { return !series.points.empty(); });
}

/// Where one sparsity alone was tried, the table says it all.
bool has_sparsities(const Chart& chart) {
  std::set<double> zeros;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) zeros.insert(point.x);
  }
  return zeros.size() > 1;
}

/// Where times are from: "measured on NVIDIA H200".
std::string place_of(const Record& record) {
  const std::string& device = record.target.gpu.empty() ? record.target.name : record.target.gpu;
  if (record.measure == "model") return "modelled for " + device;
  return (record.measure == "sim" ? "simulated as " : "measured on ") + device;
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
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n";
    page += fmt::format("<title>weft report: {}</title>\n<style>\n", escaped(files()));
    page += chart_style();
    page += page_style;
    page += "</style>\n</head>\n<body>\n<h1>weft report</h1>\n";
    page += fmt::format("<p class=\"soft\">{} trials of {}, {}. From {}.</p>\n", input_.records.size(),
                        counted(problems_.size(), "problem"), escaped(places()), escaped(files()));
    page += network();
    if (problems_.size() > 1)
      page += "<h2>The best of every problem</h2>\n" + problem_table(rows) + side_by_side(charts());
    page += most_tried_problem(rows, text) + other_problems(rows);
    page += "<script type=\"application/json\" id=\"data\">" + data(rows) + "</script>\n</body>\n</html>\n";
    return page;
  }

  static std::string counted(std::size_t count, const std::string& what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  }

  std::string files() const {
    return input_.files.empty() ? "records" : fmt::format("{}", fmt::join(input_.files, ", "));
  }

  /// That more trials go to.
  std::string database() const { return input_.files.empty() ? "trials.jsonl" : input_.files.front(); }

  std::string places() const {
    std::set<std::string> places;
    for (const ProblemTrials& problem : problems_) places.insert(place_of(problem.trials.front()->record));
    return fmt::format("{}", fmt::join(places, ", "));
  }

  std::string verdict_of(const ProblemTrials& problem) const {
    if (&problem == chosen_ && !input_.verdict.empty()) return input_.verdict;
    if (problem.best == nullptr) return problem.name + ": no trial was right";
    std::string text = fmt::format("{}\nfastest: {}, {:.2f} us\n", problem.name, way_of(problem.best->record),
                                   *problem.best_time());
    text += problem.standing ? text_of(*problem.standing, *problem.dense) : "against dense: not measured\n";
    if (problem.bound)
      text += text_of_bound(problem.bound->microseconds, name_of(problem.bound->by), problem.best->record);
    return text;
  }

  static std::string box(const std::string& text) {
    return "<div class=\"verdict\">" + breakable(text.substr(0, text.find_last_not_of('\n') + 1)) +
           "</div>\n";
  }

  /// The network first, where the trials are of one.
  std::string network() const {
    const std::vector<LayerTimes> layers = layers_of(problems_);
    if (layers.empty()) return {};
    std::string bars;
    for (const Bars& some : speed_ups_of(layers)) bars += svg_of(some) + "\n";
    return "<h2>The network</h2>\n" + box(text_of(sums_of(layers))) +
           "<p class=\"soft\">n: the rows of a linear layer's input, tokens. Layers that are alike are "
           "searched for "
           "once.</p>\n" +
           side_by_side(bars) + html_of(commands_of_network(problems_, database()));
  }

  /// Those that say something of all trials.
  std::string charts() const {
    const Chart speed = speed_up_over_sparsity(problems_), roof = roofline(problems_),
                predicted = predicted_against_measured(problems_);
    const Bars ends = failures(problems_);
    std::string text;
    if (has_sparsities(speed)) text += svg_of(speed) + "\n";
    if (has_points(roof)) text += svg_of(roof) + "\n";
    if (has_points(predicted)) text += svg_of(predicted) + "\n";
    if (ends.bars.size() > 1) text += svg_of(ends) + "\n";
    return text;
  }

  static std::string side_by_side(const std::string& charts) {
    return charts.empty() ? charts : "<div class=\"charts\">\n" + charts + "</div>\n";
  }

  std::string problem_table(std::size_t rows) const {
    using Kind = PageTable::Kind;
    PageTable table("The best of every problem", {{"problem, M x K x N", Kind::name},
                                                  {"verdict"},
                                                  {"times faster", Kind::number},
                                                  {"weft us", Kind::number},
                                                  {"dense us", Kind::number},
                                                  {"dense by"},
                                                  {"trials", Kind::number},
                                                  {"bounded by"},
                                                  {"fastest kernel", Kind::code}});
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < std::min(rows, problems_.size()); ++i) {
      const ProblemTrials& problem = problems_[i];
      const auto& dense = problem.dense;
      // To be faster than weft's own dense kernel says nothing of what a user has.
      const bool compares = dense && dense->whose != BaselineOf::weft;
      table.row({fmt::format("<a href=\"#p{}\">{}</a>", i, breakable(problem.name)),
                 short_verdict(problem, notes), compares ? cell(problem.speed_up()) : "",
                 cell(problem.best_time()), dense ? fmt::format("{:.2f}", dense->microseconds) : "",
                 dense ? escaped(dense->name) : "", std::to_string(problem.trials.size()),
                 problem.bound ? std::string(name_of(problem.bound->by)) : "",
                 problem.best != nullptr ? breakable(way_of(problem.best->record)) : ""});
    }
    std::string text = table.html();
    for (std::size_t i = 0; i < notes.size(); ++i)
      text += fmt::format("<p class=\"soft\">[{}] {}.</p>\n", i + 1, escaped(notes[i]));
    if (problems_.size() > rows)
      text += fmt::format("<p class=\"soft\">The first {} of {}.</p>\n", rows, problems_.size());
    return text;
  }

  /// With the number of the reason where there is no verdict.
  static std::string short_verdict(const ProblemTrials& problem, std::vector<std::string>& notes) {
    if (problem.best == nullptr) return "no kernel was right";
    if (!problem.standing) return "no verdict";
    if (problem.standing->winner == Faster::kernel) return "sparse";
    if (problem.standing->winner == Faster::dense) return "stay dense";
    const std::string& why = problem.standing->why_none;
    auto at = std::ranges::find(notes, why);
    if (at == notes.end()) at = notes.insert(at, why);
    return fmt::format("no&nbsp;verdict&nbsp;[{}]", at - notes.begin() + 1);
  }

  /// The fastest first, then what failed.
  static std::vector<const StoredRecord*> shown_trials(const ProblemTrials& problem, std::size_t rows) {
    std::vector<const StoredRecord*> trials = problem.trials;
    std::ranges::stable_sort(trials, {}, [](const StoredRecord* stored) {
      const std::optional<double> time = stored->record.time_of_correct();
      return std::pair(!time.has_value(), time.value_or(0));
    });
    trials.resize(std::min(trials.size(), rows));
    return trials;
  }

  static std::string trial_table(const ProblemTrials& problem, std::size_t rows) {
    using Kind = PageTable::Kind;
    PageTable table("Trials of " + problem.name, {{"us", Kind::number},
                                                  {"kernel", Kind::code},
                                                  {"format"},
                                                  {"ended"},
                                                  {"predicted us", Kind::number},
                                                  {"registers", Kind::number},
                                                  {"spilled bytes", Kind::number},
                                                  {"message"},
                                                  {"line of the file", Kind::number}});
    for (const StoredRecord* stored : shown_trials(problem, rows)) {
      const Record& record = stored->record;
      table.row({cell(record.time_of_correct()), breakable(config_of(record)), escaped(record.pattern.kind),
                 std::string(weft::name_of(record.status)), cell(record.predicted_microseconds),
                 record.registers ? std::to_string(*record.registers) : "",
                 record.spill_bytes ? std::to_string(*record.spill_bytes) : "",
                 escaped(record.message.substr(0, 200)), std::to_string(stored->line)});
    }
    std::string text = table.html();
    if (problem.trials.size() > rows)
      text += fmt::format("<p class=\"soft\">The fastest {} of {}.</p>\n", rows, problem.trials.size());
    return text;
  }

  std::string most_tried_problem(std::size_t rows, std::size_t text) const {
    const std::size_t number = static_cast<std::size_t>(chosen_ - problems_.data());
    std::string page = fmt::format("<h2 id=\"p{}\">{}</h2>\n", number,
                                   problems_.size() > 1 ? "The problem with the most trials" : "Verdict") +
                       box(verdict_of(*chosen_)) + html_of(commands_of(*chosen_, database()));
    std::string own = svg_of(best_so_far(*chosen_)) + "\n";
    const HeatMap knobs = two_knobs(*chosen_);
    if (!knobs.values.empty()) own += svg_of(knobs) + "\n";
    if (problems_.size() == 1) own += charts();
    page += side_by_side(own) + "<h3>Trials</h3>\n" + trial_table(*chosen_, rows);
    return page + "<h3>The fastest kernel</h3>\n" + kernel(text);
  }

  /// Each folded, with its fastest trials.
  std::string other_problems(std::size_t rows) const {
    constexpr std::size_t most_trials = 10;
    std::string text;
    for (std::size_t i = 0; i < std::min(rows, problems_.size()); ++i) {
      const ProblemTrials& problem = problems_[i];
      if (&problem == chosen_) continue;
      // A link to what is folded unfolds it.
      text += fmt::format("<details><summary>{}</summary><div id=\"p{}\">\n", escaped(problem.name), i) +
              box(verdict_of(problem)) + html_of(commands_of(problem, database())) +
              trial_table(problem, most_trials) + "</div></details>\n";
    }
    return text.empty() ? text : "<h2>The other problems</h2>\n" + text;
  }

  static std::string pane(const std::string& name, const std::string& text, std::size_t most) {
    if (text.empty()) return {};
    const bool cut = text.size() > most;
    return fmt::format(
        "<div><details open><summary>{}</summary><pre tabindex=\"0\">{}{}</pre></details></div>\n",
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

  std::string data(std::size_t rows) const {
    Json json;
    json["verdict"] = verdict_of(*chosen_);
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
    for (const StoredRecord* stored : shown_trials(*chosen_, rows)) {
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
