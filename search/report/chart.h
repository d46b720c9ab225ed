// Charts as SVG that stands inside a page: no script, no network, colours by the page's style.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::report {

/// Text for a page: & < > " and ' as entities, control characters as spaces.
std::string escaped(std::string_view text);

/// "1.5k", "12", "0.03": a number short enough for an axis.
std::string short_number(double value);

/// One axis: from where to where, and at which numbers it has marks: 1, 2 and 5 times powers of ten.
struct Scale {
  double first = 0, last = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  /// 0 … 1 from first to last.
  double at(double value) const;
  /// Texts of the marks, with as many digits as tell them apart.
  std::vector<std::string> names() const;
};
/// Around these numbers; logarithmic ones leave out what is not above zero. Never empty.
Scale scale_of(const std::vector<double>& values, bool logarithmic);

struct ChartPoint {
  double x = 0, y = 0;
  std::string label;  ///< shown where the pointer rests
};

struct Series {
  enum class Kind { line, steps, points };
  std::string name;  ///< in the legend; empty: not there
  Kind kind = Kind::points;
  std::vector<ChartPoint> points;
};

/// A line across the chart.
struct Mark {
  double value = 0;
  bool horizontal = true;
  std::string label;
};

struct Chart {
  std::string title, x_label, y_label;
  bool logarithmic_x = false, logarithmic_y = false;
  std::vector<Series> series = {};
  std::vector<Mark> marks = {};
  bool diagonal = false;              ///< where x equals y, with both axes the same
  std::optional<double> most_x = {};  ///< where the axis ends at the latest: 100 of shares
};

struct Bar {
  enum class Look { plain, faint, contrary };
  std::string name;                  ///< the end of a long one is shown
  std::optional<double> value = {};  ///< nothing: the text alone
  std::string text = {};             ///< behind the bar; empty: the value
  Look look = Look::plain;
};

struct Bars {
  std::string title, label;
  std::vector<Bar> bars = {};
  std::optional<double> mark = {};  ///< a line across, where it is among the values
};

struct HeatMap {
  std::string title, x_label, y_label, label;
  std::vector<std::string> columns = {}, rows = {};
  std::vector<std::optional<double>> values = {};  ///< row by row; small is good
};

/// Each an <svg> element with a <title>, wide enough for half a page and for a phone. A chart without a point
/// says that there are none.
std::string svg_of(const Chart& chart);
std::string svg_of(const Bars& bars);
std::string svg_of(const HeatMap& map);

/// The same as a larger file of its own, light or dark as the reader's screen is.
std::string svg_file_of(const Chart& chart);

/// What the classes of the elements mean: eight colours that colour-blind readers can tell apart (Okabe, Ito,
/// "Color Universal Design", 2008), and a light and a dark look.
std::string_view chart_style();

}  // namespace weft::report
