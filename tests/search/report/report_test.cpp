#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/report/page.h>
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

TEST(Chart, every_string_is_escaped) {
  EXPECT_EQ(escaped("<a href='x' & \"y\">\x01"), "&lt;a href=&#39;x&#39; &amp; &quot;y&quot;&gt; ");
  const std::string bad = "<script>&\"'";
  expect_well_formed(svg_of(Chart{.title = bad,
                                  .x_label = bad,
                                  .y_label = bad,
                                  .series = {{bad, Series::Kind::points, {{1, 1, bad}, {2, 2, bad}}},
                                             {bad + "2", Series::Kind::steps, {{1, 1, bad}, {2, 3, bad}}}},
                                  .marks = {{1.5, true, bad}, {1.5, false, bad}}}));
  expect_well_formed(svg_of(Bars{bad, bad, {{bad, 3}}}));
  expect_well_formed(svg_of(HeatMap{bad, bad, bad, bad, {bad, "b"}, {bad}, {1.0, 2.0}}));
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
  EXPECT_THAT(bars.bars, ElementsAre(testing::Pair("correct", 17), testing::Pair("constraints", 1),
                                     testing::Pair("correctness", 1)));
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
  EXPECT_THAT(page, HasSubstr("+: weft's own dense kernel; no library was measured."));
  EXPECT_THAT(page, Not(HasSubstr("against dense: 2.86x faster")));
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
       {"Verdict", "Speed-up over dense", "Roofline", "Best time so far", "Best time by two knobs",
        "How trials ended", "Predicted against measured", "The chosen schedule",
        "if (a &lt; b &amp;&amp; c &gt; d) {}", "prefers-color-scheme:dark", "2.86x faster than cuBLAS f16"})
    EXPECT_THAT(page, HasSubstr(part));
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

TEST(Report, OfANetworkBeginsWithItsLayers) {
  std::vector<StoredRecord> all = trials();
  for (StoredRecord& stored : all) {
    stored.record.source = {{"layer", stored.record.problem.size("N") == 256 ? "block.up" : "block.<down>"},
                            {"weights", "model.safetensors"},
                            {"op", "spmm"},
                            {"n", "256"}};
    stored.record.pattern.hash += stored.record.source["layer"];
  }
  PageInput input;
  input.records = all;
  const std::string page = page_of(input);
  const std::size_t body = page.find("<body>");
  expect_well_formed(page.substr(body, page.find("</body>") + 7 - body));
  EXPECT_THAT(page, HasSubstr("<h2>The network</h2>"));
  EXPECT_THAT(page, HasSubstr("Speed-up over dense, a bar a layer"));
  EXPECT_THAT(page, HasSubstr("block.up: "));
  EXPECT_THAT(page, Not(HasSubstr("--layer"))) << "commands run as they stand";
  input.records = trials();
  EXPECT_THAT(page_of(input), Not(HasSubstr("The network")));
}

}  // namespace
}  // namespace weft::report
