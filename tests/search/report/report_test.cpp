#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/report/commands.h>
#include <weft/search/report/network_part.h>
#include <weft/search/report/page.h>
#include <weft/search/report/page_table.h>
#include <weft/search/report/trial_charts.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

namespace weft::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

StoredRecord trial(std::int64_t n, std::int64_t tile, std::int64_t stages, double time) {
  StoredRecord stored;
  Record& record = stored.record;
  record.kernel = "spmm";
  record.recipe = "shfl_bw";
  record.config = {{"tile_n", tile}, {"stages", stages}, {"instruction", 3}};
  record.problem.sizes = {{"M", 1024}, {"K", 512}, {"N", n}};
  record.problem.words = {{"dtype", "f16"}};
  record.pattern.kind = "shfl_bw:V=64";
  record.pattern.group = 64;
  record.pattern.stored = 1024 * 128;
  record.pattern.hash = "xxh3:1";
  record.pattern.row_mean = 128;
  record.target = {"sm_90a", "NVIDIA <H200> & \"co\"", 132, 232448};
  record.measure = "gpu";
  record.microseconds = TrialTime{time, time, time, 3};
  record.predicted_microseconds = time * 1.1;
  record.baselines = {{"cuBLAS f16", true, 20, BaselineOf::library}};
  return stored;
}

std::vector<StoredRecord> trials() {
  std::vector<StoredRecord> all;
  for (const std::int64_t n : {256, 512}) {
    for (const std::int64_t tile : {64, 128, 256}) {
      for (const std::int64_t stages : {2, 3, 4}) {
        all.push_back(
            trial(n, tile, stages, 10 + static_cast<double>(tile) / 64 - static_cast<double>(stages)));
        all.back().line = all.size() + 1;
      }
    }
  }
  all[3].record.status = TrialStatus::correctness;
  all[3].record.message = "</script><script>alert('x')</script>";
  all.push_back(trial(512, 512, 4, 5));
  all.back().record.status = TrialStatus::constraints;
  return all;
}

/// Elements that are opened are closed, in order; the page has no others.
void expect_well_formed(const std::string& text) {
  const std::regex tag("<(/?)([a-zA-Z0-9]+)((?:[^<>\"]|\"[^\"<>]*\")*?)(/?)>");
  std::vector<std::string> open;
  auto at = std::sregex_iterator(text.begin(), text.end(), tag);
  std::size_t signs = 0;
  for (; at != std::sregex_iterator(); ++at) {
    ++signs;
    const std::string name = (*at)[2];
    if ((*at)[4].length() > 0 || name == "meta" || name == "wbr") continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(signs, static_cast<std::size_t>(std::ranges::count(text, '<'))) << "a < that begins no element";
}

TEST(Scale, marks_are_one_two_and_five) {
  EXPECT_THAT(scale_of({0, 10}, false).ticks, ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(scale_of({3, 47}, false).ticks, ElementsAre(0, 10, 20, 30, 40, 50));
  EXPECT_THAT(scale_of({0.3, 4}, true).ticks,
              ElementsAre(testing::DoubleEq(0.2), testing::DoubleEq(0.5), 1, 2, testing::DoubleEq(5)));
  EXPECT_THAT(scale_of({1, 1e6}, true).ticks, ElementsAre(1, 10, 100, 1000, 1e4, 1e5, 1e6));
  for (const bool logarithmic : {false, true}) {
    for (const std::vector<double>& values :
         {std::vector<double>{}, {7}, {-1, 0}, {1e-12, 1e12}, {NAN, INFINITY}, {3, 3}}) {
      const Scale scale = scale_of(values, logarithmic);
      EXPECT_LT(scale.first, scale.last);
      EXPECT_GE(scale.ticks.size(), 2U);
      EXPECT_LE(scale.ticks.size(), 30U);
      for (const double tick : scale.ticks) {
        EXPECT_GE(scale.at(tick), -1e-9);
        EXPECT_LE(scale.at(tick), 1 + 1e-9);
      }
    }
  }
}

TEST(Scale, names_of_marks_tell_them_apart) {
  EXPECT_THAT(scale_of({89.99, 90.01}, false).names(),
              ElementsAre("89.99", "89.995", "90", "90.005", "90.01"));
  EXPECT_THAT(scale_of({0, 10}, false).names(), ElementsAre("0", "2", "4", "6", "8", "10"));
}

TEST(Chart, every_string_is_escaped) {
  EXPECT_EQ(escaped("<a href='x' & \"y\">\x01"), "&lt;a href=&#39;x&#39; &amp; &quot;y&quot;&gt; ");
  const std::string bad = "<script>&\"'";
  expect_well_formed(svg_of(Chart{.title = bad,
                                  .x_label = bad,
                                  .y_label = bad,
                                  .series = {{bad, Series::Kind::points, {{1, 1, bad}, {2, 2, bad}}},
                                             {bad + "2", Series::Kind::steps, {{1, 1, bad}, {2, 3, bad}}}},
                                  .marks = {{1.5, true, bad}, {1.5, false, bad}}}));
  expect_well_formed(svg_of(Bars{bad, bad, {Bar{bad, 3.0, bad}, Bar{bad + bad + bad + bad, {}, bad}}, 1}));
  expect_well_formed(svg_of(HeatMap{bad, bad, bad, bad, {bad, "b"}, {bad}, {1.0, 2.0}}));
}

/// What is behind the last letter that fits is cut, never within a letter.
TEST(Chart, of_a_long_name_the_end_is_shown) {
  const std::string svg = svg_of(Bars{"t", "l", {Bar{"äääääääääääääääääääääää.block.7.projection", 2.0}}});
  EXPECT_THAT(svg, HasSubstr(".block.7.projection<"));
  EXPECT_THAT(svg, testing::ContainsRegex(">…(ä)*\\.block"));
}

TEST(Chart, nothing_to_draw_is_said) {
  EXPECT_THAT(svg_of(Chart{.title = "t", .x_label = "x", .y_label = "y"}), HasSubstr("nothing was measured"));
  EXPECT_THAT(svg_of(Bars{"t", "l", {}}), HasSubstr("none"));
  EXPECT_THAT(svg_of(HeatMap{"t", "x", "y", "l", {}, {}, {}}), HasSubstr("nothing was measured"));
}

TEST(TrialCharts, show_what_was_measured) {
  const std::vector<StoredRecord> all = trials();
  const std::vector<ProblemTrials> problems = problems_of(all);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(most_tried(problems), &problems[1]);
  EXPECT_EQ(problems[1].best->record.config.at("stages"), 4);
  EXPECT_EQ(problems[1].dense->name, "cuBLAS f16");
  EXPECT_EQ(problems[1].standing->winner, Faster::kernel);
  EXPECT_DOUBLE_EQ(problems[1].speed_up().value(), 20.0 / 7);

  const Chart speed = speed_up_over_sparsity(problems);
  ASSERT_EQ(speed.series.size(), 1U);
  EXPECT_EQ(speed.series[0].name, "V = 64");
  EXPECT_DOUBLE_EQ(speed.series[0].points[0].x, 75);
  EXPECT_EQ(speed.marks[0].value, 1);

  const Chart best = best_so_far(problems[1]);
  EXPECT_EQ(best.series[0].points.size(), 9U);
  for (std::size_t i = 1; i < best.series[1].points.size(); ++i)
    EXPECT_LE(best.series[1].points[i].y, best.series[1].points[i - 1].y);
  EXPECT_EQ(best.marks[0].value, 20);

  const HeatMap map = two_knobs(problems[1]);
  EXPECT_EQ(map.x_label, "tile_n");
  EXPECT_EQ(map.y_label, "stages");
  EXPECT_THAT(map.columns, ElementsAre("64", "128", "256"));
  EXPECT_EQ(map.values[0], 9);

  const Bars bars = failures(problems);
  const auto counted = [](const char* name, double count) {
    return testing::AllOf(testing::Field(&Bar::name, name), testing::Field(&Bar::value, count));
  };
  EXPECT_THAT(bars.bars,
              ElementsAre(counted("correct", 17), counted("constraints", 1), counted("correctness", 1)));
  EXPECT_EQ(predicted_against_measured(problems).series[0].points.size(), 17U);
  // No kernel is above the roof.
  const Chart roof = roofline(problems);
  ASSERT_EQ(roof.series.size(), 3U);
  for (const ChartPoint& point : roof.series[0].points) EXPECT_LT(point.y, roof.series[1].points.back().y);
}

TEST(TrialCharts, times_are_compared_with_times_of_their_kind) {
  std::vector<StoredRecord> all = trials();
  for (StoredRecord& stored : all)
    stored.record.baselines = {{"dense, by the model", true, 20, BaselineOf::model}};
  EXPECT_FALSE(problems_of(all)[0].speed_up()) << "measured beside modelled";
  for (StoredRecord& stored : all) stored.record.baselines.clear();
  EXPECT_FALSE(problems_of(all)[0].dense);
  for (StoredRecord& stored : all) stored.record.measure = "model";
  const std::vector<ProblemTrials> problems = problems_of(all);
  ASSERT_TRUE(problems[0].dense);
  EXPECT_EQ(problems[0].dense->whose, BaselineOf::model);
  EXPECT_THAT(speed_up_over_sparsity(problems).y_label, HasSubstr("modelled"));
}

/// What turning operands over takes is in the time, and in the error of the model.
TEST(Trials, of_rows_as_frameworks_have_them_are_known_by_their_algorithm) {
  std::vector<StoredRecord> all = trials();
  EXPECT_FALSE(problems_of(all)[0].summary.input_across);
  for (StoredRecord& stored : all)
    stored.record.problem.words["algorithm"] = "C[n, m] = sum(k, A[m, k] * B[n, k])";
  EXPECT_TRUE(problems_of(all)[0].summary.input_across);
  EXPECT_TRUE(problems_of(all)[0].summary.output_across);
}

TEST(Page, says_that_no_library_was_measured) {
  PageInput input;
  input.records = trials();
  for (StoredRecord& stored : input.records) {
    stored.record.measure = "cpu";
    stored.record.target = {"cpu", "a CPU", 0, 0, 2};
    stored.record.pattern.kind = "csr";
    stored.record.pattern.group = 0;
    stored.record.baselines = {{"weft, dense", true, 20, BaselineOf::weft}};
  }
  const std::string page = page_of(input);
  EXPECT_THAT(page,
              HasSubstr("no verdict: no library was measured; 2.86 times faster than weft&#39;s own dense"));
  EXPECT_THAT(page, HasSubstr("\"winner\":\"none\""));
  EXPECT_THAT(page, HasSubstr("<td>no&nbsp;verdict&nbsp;[1]</td>"));
  EXPECT_THAT(page, HasSubstr("[1] no library was measured.</p>"));
  EXPECT_THAT(page, Not(HasSubstr("against dense: 2.86x faster")));
  EXPECT_THAT(page, Not(HasSubstr("times faster</th>"))) << "than what nobody has";
  EXPECT_TRUE(speed_up_over_sparsity(problems_of(input.records)).series.empty());
}

TEST(Page, formats_of_one_matrix_are_one_problem_drawn_as_its_best) {
  std::vector<StoredRecord> all = trials();
  StoredRecord other = all[0];
  other.record.pattern.kind = "csr";
  other.record.pattern.group = 0;
  other.record.recipe = "default";
  other.record.config = {};
  other.record.microseconds = TrialTime{1, 1, 1, 3};
  all.push_back(other);
  const std::vector<ProblemTrials> problems = problems_of(all);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].best->record.pattern.kind, "csr");
  EXPECT_EQ(problems[0].summary.group_rows, 0);
  EXPECT_THAT(problems[0].name, Not(HasSubstr("V=")));
  EXPECT_THAT(problems[1].name, HasSubstr("V=64"));
}

TEST(Page, is_self_contained_and_its_data_reads_back) {
  PageInput input;
  input.records = trials();
  input.files = {"t<1>.jsonl"};
  input.kernel = {.schedule = "schedule.tile(m = 4)",
                  .program = "for m < 4",
                  .source = "if (a < b && c > d) {}",
                  .language = "PTX",
                  .note = {}};
  const std::string page = page_of(input);
  EXPECT_LT(page.size(), 100'000U);
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("alert('x')")));
  for (const char* part :
       {"The best of every problem", "Roofline", "Best time so far", "Best time by two knobs of shfl_bw",
        "How trials ended", "Predicted against measured", "The fastest kernel", "The other problems",
        "if (a &lt; b &amp;&amp; c &gt; d) {}", "prefers-color-scheme:dark", "2.86x faster than cuBLAS f16"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("by sparsity"))) << "one sparsity alone";
  for (const char* number : {"0", "1"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<a href=\"#p") + number + "\">"));
    EXPECT_THAT(page, HasSubstr(std::string(" id=\"p") + number + "\">"));
  }
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size(), to = page.find("</script>", from);
  const nlohmann::json data = nlohmann::json::parse(page.substr(from, to - from));
  EXPECT_EQ(data.at("problems").size(), 2U);
  EXPECT_EQ(data.at("problems").at(1).at("best_us"), 7);
  EXPECT_EQ(data.at("problems").at(1).at("dense_us"), 20);
  EXPECT_EQ(data.at("trials").size(), 10U);
  EXPECT_EQ(data.at("files").at(0), "t<1>.jsonl");
  // One script, which is data; and well-formed elements from the body on.
  EXPECT_EQ(page.find("<script", from), std::string::npos);
  const std::size_t body = page.find("<body>");
  expect_well_formed(page.substr(body, page.find("</body>") + 7 - body));
}

TEST(Page, keeps_its_size) {
  PageInput input;
  for (std::int64_t n = 8; n <= 8 * 3000; n += 8) {
    input.records.push_back(trial(n, 64, 2, 5));
    input.records.back().record.message = std::string(500, 'x');
  }
  input.kernel.source = std::string(3'000'000, '<');
  EXPECT_LT(page_of(input).size(), 2'000'000U);
  input.most_bytes = 900'000;
  EXPECT_LE(page_of(input).size(), 900'000U);
}

TEST(Page, refuses_records_without_problems) {
  PageInput input;
  EXPECT_THROW(page_of(input), UserError);
  input.records = {StoredRecord()};
  EXPECT_THROW(page_of(input), UserError);
}

TEST(Page, of_one_problem_has_its_verdict_first_and_no_table_of_all) {
  PageInput input;
  const std::vector<StoredRecord> all = trials();
  input.records.assign(all.begin(), all.begin() + 9);
  const std::string page = page_of(input);
  EXPECT_THAT(page, HasSubstr("<h2 id=\"p0\">Verdict</h2>"));
  EXPECT_THAT(page, Not(HasSubstr("The best of every problem")));
  EXPECT_THAT(page, Not(HasSubstr("The other problems")));
  EXPECT_THAT(page, HasSubstr("9 trials of 1 problem, measured on NVIDIA &lt;H200&gt;"));
}

TEST(PageTable, leaves_out_columns_with_nothing_in_them) {
  PageTable table("a & b", {{"first"}, {"second", PageTable::Kind::number}, {"third"}});
  table.row({"1", "", "x"});
  table.row({"", "", "y"});
  const std::string html = table.html();
  expect_well_formed(html);
  EXPECT_THAT(html, HasSubstr("<th>first</th><th>third</th>"));
  EXPECT_THAT(html, HasSubstr("<tr><td>-</td><td>y</td></tr>"));
  EXPECT_THAT(html, HasSubstr("tabindex=\"0\" role=\"region\" aria-label=\"a &amp; b\""));
}

TEST(Commands, make_a_problem_again_and_search_on) {
  std::vector<StoredRecord> all = trials();
  all.resize(9);
  EXPECT_TRUE(commands_of(problems_of(all)[0], "t.jsonl").empty()) << "nobody says where the weights are";
  for (StoredRecord& stored : all)
    stored.record.source = {{"weights", "it's.npy"}, {"format", "csr"}, {"n", "256"}, {"layer", "fc1"},
                            {"network", "net.onnx"}, {"layers", "3"},   {"like", "a"}};
  const std::vector<Command> commands = commands_of(problems_of(all)[0], "my trials.jsonl");
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[0].line,
            "weft run --format shfl_bw:V=64 --n 256 --weights 'it'\\''s.npy' --recipe "
            "shfl_bw:instruction=wgmma,stages=4,tile_n=64 --target sm_90a --device cuda");
  EXPECT_EQ(commands[1].line,
            "weft tune --n 256 --weights 'it'\\''s.npy' --target sm_90a --measure gpu --trials 18 --db "
            "'my trials.jsonl'");
}

/// Two layers that are alike, of which one was searched for, run five times; a third is alone.
std::vector<StoredRecord> trials_of_a_network() {
  std::vector<StoredRecord> all;
  const auto add = [&](const std::string& layer, std::int64_t n, double time) {
    StoredRecord& stored = all.emplace_back(trial(n, 64, 2, time));
    stored.record.pattern.hash = layer;
    stored.record.source = {{"layer", layer},         {"weights", "net/model.safetensors"},
                            {"tensor", layer},        {"op", "spmm"},
                            {"n", std::to_string(n)}, {"network", "net"},
                            {"columns", "256"}};
  };
  add("block.up", 256, 4);
  all.back().record.source["layers"] = "2";
  all.back().record.source["calls"] = "5";
  add("block.<out>", 256, 25);
  add("other.up", 256, 6);
  all.back().record.source["like"] = "block.up";
  all.back().record.baselines.clear();
  return all;
}

TEST(Network, layers_that_are_alike_count_as_often_as_they_run) {
  std::vector<StoredRecord> all = trials_of_a_network();
  const std::vector<ProblemTrials> problems = problems_of(all);
  EXPECT_DOUBLE_EQ(problems[2].speed_up().value(), 20.0 / 6) << "dense of the same sizes";
  const std::vector<LayerTimes> layers = layers_of(problems);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].layers, 2U);
  EXPECT_DOUBLE_EQ(layers[0].dense.value(), 100);
  EXPECT_DOUBLE_EQ(layers[0].sparse.value(), 25);
  EXPECT_EQ(layers[1].winner, Faster::dense);
  EXPECT_EQ(text_of(sums_of(layers)),
            "n 256: pruned layers dense 120.00 us, with the faster of both 45.00 us: 2.67 times; 2 faster "
            "sparse; 1 stay dense\n");
  // A kernel that is wrong for one of them leaves that one dense.
  all.back().record.status = TrialStatus::correctness;
  EXPECT_DOUBLE_EQ(layers_of(problems_of(all))[0].sparse.value(), 60);
}

TEST(Network, what_no_library_was_measured_for_is_not_counted) {
  const std::vector<LayerTimes> layers{
      {.name = "fc", .n = 8, .layers = 3, .dense = 30, .sparse = 25},
      {.name = "fc", .n = 64, .layers = 3, .sparse = 25},
      {.name = "conv", .layers = 2, .sparse = 7},
  };
  EXPECT_EQ(
      text_of(sums_of(layers)),
      "n 8: pruned layers dense 30.00 us, with the faster of both 30.00 us: 1.00 times; 0 faster sparse; "
      "3 without a verdict, taken as dense; 2 not counted, without a library's dense time\n"
      "n 64: no verdict on 5 layers: no library's dense time to compare with\n");
  const std::vector<Bars> bars = speed_ups_of(layers);
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_EQ(bars[0].title, "Convolutions");
  EXPECT_EQ(bars[0].bars[0].text, "no library; 7.00 us");
  EXPECT_EQ(bars[1].bars[0].name, "fc, 3 alike");
  EXPECT_EQ(bars[1].bars[0].look, Bar::Look::faint);
}

TEST(Network, of_many_layers_those_that_take_longest_have_a_bar) {
  std::vector<LayerTimes> layers;
  for (int i = 0; i < 150; ++i)
    layers.push_back({.name = std::to_string(i), .n = 8, .dense = 1 + i, .sparse = 1});
  const std::vector<Bars> bars = speed_ups_of(layers);
  ASSERT_EQ(bars.size(), 1U);
  EXPECT_EQ(bars[0].title, "Linear layers, n = 8, the 40 of 150 that take longest");
  ASSERT_EQ(bars[0].bars.size(), 40U);
  EXPECT_EQ(bars[0].bars[0].name, "149");
}

TEST(Report, OfANetworkBeginsWithItsLayers) {
  PageInput input;
  input.records = trials_of_a_network();
  const std::string page = page_of(input);
  const std::size_t body = page.find("<body>");
  expect_well_formed(page.substr(body, page.find("</body>") + 7 - body));
  EXPECT_THAT(page, HasSubstr("<h2>The network</h2>"));
  EXPECT_THAT(page, HasSubstr("Linear layers, n = 256"));
  EXPECT_THAT(page, HasSubstr("block.&lt;out&gt;: "));
  EXPECT_THAT(page, HasSubstr("weft model tune net --n 256 --target sm_90a --measure gpu --budget 10m"));
  EXPECT_THAT(page, HasSubstr("weft model export net --n 256 --archs sm_90a"));
  EXPECT_THAT(page, Not(HasSubstr("--layer"))) << "commands run as they stand";
  input.records = trials();
  EXPECT_THAT(page_of(input), Not(HasSubstr("The network")));
}

}  // namespace
}  // namespace weft::report
