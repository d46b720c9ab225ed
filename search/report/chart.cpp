#include <fmt/format.h>
#include <weft/search/report/chart.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::report {
namespace {

struct Paper {
  double width, height;
};
constexpr Paper of_page{480, 310}, of_file{640, 380};
constexpr double left = 64, right = 20, top = 34, bottom = 52;
constexpr double of_a_letter = 6.4;  ///< a tick's width for each, on the average
constexpr std::size_t colours = 7;

std::string text_at(double x, double y, std::string_view text, const char* kind,
                    const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y, kind,
                     anchor, escaped(text));
}

std::string line_between(double x1, double y1, double x2, double y2, const char* kind) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>", x1, y1,
                     x2, y2, kind);
}

std::string begin_of(const std::string& title, Paper paper) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\"><title>{}</title>{}", paper.width,
                     paper.height, escaped(title), text_at(paper.width / 2, 18, title, "title"));
}

/// The end of a long name says more than its beginning.
std::string end_of(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  std::size_t from = name.size() - most + 1;
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0U) == 0x80U) ++from;
  return "…" + name.substr(from);
}

class Drawing {
 public:
  Drawing(const Chart& chart, Paper paper) : chart_(chart), width_(paper.width), height_(paper.height) {
    std::vector<double> xs, ys;
    for (const Series& series : chart.series) {
      for (const ChartPoint& point : series.points) {
        xs.push_back(point.x);
        ys.push_back(point.y);
      }
    }
    empty_ = xs.empty();
    for (const Mark& mark : chart.marks) (mark.horizontal ? ys : xs).push_back(mark.value);
    if (chart.diagonal) {
      xs.insert(xs.end(), ys.begin(), ys.end());
      ys = xs;
    }
    x_ = scale_of(xs, chart.logarithmic_x);
    y_ = scale_of(ys, chart.logarithmic_y);
    if (chart.most_x && x_.last > *chart.most_x) {
      x_.last = *chart.most_x;
      std::erase_if(x_.ticks, [this](double tick) { return tick > x_.last; });
    }
  }

  std::string operator()() {
    text_ = begin_of(chart_.title, {width_, height_});
    if (empty_)
      return text_ + text_at(width_ / 2, height_ / 2, "nothing was measured for this", "label") + "</svg>";
    axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw(chart_.series[i], i % colours);
    marks();
    legend();
    return text_ + "</svg>";
  }

 private:
  double across(double value) const { return left + (width_ - left - right) * x_.at(value); }
  double up(double value) const { return height_ - bottom - (height_ - top - bottom) * y_.at(value); }

  void axes() {
    const std::vector<std::string> x_names = x_.names(), y_names = y_.names();
    for (std::size_t i = 0; i < x_names.size(); ++i) {
      const double x = across(x_.ticks[i]);
      text_ += line_between(x, top, x, height_ - bottom, "grid");
      text_ += text_at(x, height_ - bottom + 16, x_names[i], "tick");
    }
    for (std::size_t i = 0; i < y_names.size(); ++i) {
      const double y = up(y_.ticks[i]);
      text_ += line_between(left, y, width_ - right, y, "grid");
      text_ += text_at(left - 6, y + 4, y_names[i], "tick", "end");
    }
    text_ += text_at((left + width_ - right) / 2, height_ - 14, chart_.x_label, "label");
    text_ += fmt::format("<g transform=\"translate(16 {:.1f}) rotate(-90)\">{}</g>",
                         (top + height_ - bottom) / 2, text_at(0, 0, chart_.y_label, "label"));
  }

  void marks() {
    if (chart_.diagonal)
      text_ += line_between(across(x_.first), up(y_.first), across(x_.last), up(y_.last), "mark");
    for (const Mark& mark : chart_.marks) {
      if (mark.horizontal) {
        text_ += line_between(left, up(mark.value), width_ - right, up(mark.value), "mark");
        const double wide = of_a_letter * static_cast<double>(mark.label.size()), x = width_ - right - 4;
        const double above = up(mark.value) - 5, below = up(mark.value) + 14;
        const bool is_free =
            covered(x - wide, above - 10, wide, 13) <= covered(x - wide, below - 10, wide, 13);
        text_ += text_at(x, is_free ? above : below, mark.label, "tick", "end");
      } else {
        text_ += line_between(across(mark.value), top, across(mark.value), height_ - bottom, "mark");
        text_ += text_at(across(mark.value) + 4, top + 12, mark.label, "tick", "start");
      }
    }
  }

  void draw(const Series& series, std::size_t colour) {
    if (series.kind == Series::Kind::points) {
      for (const ChartPoint& point : series.points)
        text_ += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" class=\"c{}\"><title>{}</title></circle>",
            across(point.x), up(point.y), colour, escaped(point.label));
      return;
    }
    std::string path;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const ChartPoint& point = series.points[i];
      if (i > 0 && series.kind == Series::Kind::steps)
        path += fmt::format(" {:.1f},{:.1f}", across(point.x), up(series.points[i - 1].y));
      path += fmt::format(" {:.1f},{:.1f}", across(point.x), up(point.y));
    }
    text_ +=
        fmt::format("<polyline points=\"{}\" class=\"l{}\"/>", path.empty() ? "" : path.substr(1), colour);
  }

  /// In the corner with the fewest points.
  void legend() {
    std::vector<std::pair<const Series*, std::size_t>> names;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (!chart_.series[i].name.empty()) names.emplace_back(&chart_.series[i], i % colours);
    }
    if (names.size() < 2) return;
    std::size_t longest = 0;
    for (const auto& [series, colour] : names) longest = std::max(longest, series->name.size());
    const double wide = 28 + of_a_letter * static_cast<double>(longest),
                 tall = 8 + 16 * static_cast<double>(names.size());
    const auto [x, y] = corner(wide, tall);
    text_ +=
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"legend\"/>",
                    x, y, wide, tall);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double line = y + 16 + 16 * static_cast<double>(i);
      const auto [series, colour] = names[i];
      if (series->kind == Series::Kind::points)
        text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" class=\"c{}\"/>", x + 12, line - 4,
                             colour);
      else
        text_ += fmt::format("<polyline points=\"{0:.1f},{2:.1f} {1:.1f},{2:.1f}\" class=\"l{3}\"/>", x + 5,
                             x + 18, line - 4, colour);
      text_ += text_at(x + 22, line, series->name, "tick", "start");
    }
  }

  /// Where something is drawn: points, and lines at short distances.
  std::vector<std::pair<double, double>> drawn_places() const {
    constexpr int of_a_piece = 24;
    std::vector<std::pair<double, double>> places;
    for (const Series& series : chart_.series) {
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        const double x = across(series.points[i].x), y = up(series.points[i].y);
        places.emplace_back(x, y);
        if (i == 0 || series.kind == Series::Kind::points) continue;
        const bool step = series.kind == Series::Kind::steps;
        const double from_x = across(series.points[i - 1].x), from_y = up(series.points[i - 1].y);
        for (int part = 1; part < of_a_piece; ++part) {
          const double share = static_cast<double>(part) / of_a_piece;
          places.emplace_back(from_x + share * (x - from_x), step ? from_y : from_y + share * (y - from_y));
        }
      }
    }
    return places;
  }

  /// Drawn places in a rectangle, or close to it.
  std::ptrdiff_t covered(double x, double y, double wide, double tall) const {
    constexpr double close = 4;
    return std::ranges::count_if(drawn_places(), [&](const auto& place) {
      return place.first > x - close && place.first < x + wide + close && place.second > y - close &&
             place.second < y + tall + close;
    });
  }

  std::pair<double, double> corner(double wide, double tall) const {
    std::pair<double, double> best;
    std::ptrdiff_t fewest = std::numeric_limits<std::ptrdiff_t>::max();
    for (const double x : {left + 6, width_ - right - 6 - wide}) {
      for (const double y : {top + 6, height_ - bottom - 6 - tall}) {
        const std::ptrdiff_t here = covered(x, y, wide, tall);
        if (here < fewest) {
          fewest = here;
          best = {x, y};
        }
      }
    }
    return best;
  }

  const Chart& chart_;
  double width_, height_;
  Scale x_, y_;
  bool empty_ = false;
  std::string text_;
};

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

std::string svg_of(const Chart& chart) {
  return Drawing(chart, of_page)();
}

std::string svg_of(const Bars& bars) {
  constexpr double line = 24, names = 206;
  const double count = static_cast<double>(std::max<std::size_t>(1, bars.bars.size()));
  const Paper paper{of_page.width, top + line * count + 26};
  std::string text = begin_of(bars.title, paper);
  if (bars.bars.empty())
    return text + text_at(paper.width / 2, paper.height / 2 + 6, "none", "label") + "</svg>";
  double largest = bars.mark.value_or(0);
  std::size_t longest = 4;
  for (const Bar& bar : bars.bars) {
    largest = std::max(largest, bar.value.value_or(0));
    longest = std::max(longest, bar.text.size());
  }
  const double texts = 12 + of_a_letter * static_cast<double>(longest);
  const double room = std::max(60.0, paper.width - names - texts);
  const auto across = [&](double value) { return largest > 0 ? std::max(1.0, room * value / largest) : 1; };
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar& bar = bars.bars[i];
    const double y = top + line * static_cast<double>(i);
    constexpr auto most = static_cast<std::size_t>((names - 8) / of_a_letter);
    text += text_at(names - 8, y + 16, end_of(bar.name, most), "tick", "end");
    const char* const look = bar.look == Bar::Look::plain   ? "c0"
                             : bar.look == Bar::Look::faint ? "faint"
                                                            : "c1";
    if (bar.value)
      text += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>",
                          names, y + 3, across(*bar.value), line - 6, look);
    const std::string says = bar.text.empty() && bar.value ? short_number(*bar.value) : bar.text;
    text += text_at(names + (bar.value ? across(*bar.value) : 0) + 6, y + 16, says, "tick", "start");
  }
  const bool any = std::ranges::any_of(bars.bars, [](const Bar& bar) { return bar.value.has_value(); });
  if (any && bars.mark) {
    const double x = names + across(*bars.mark);
    text += line_between(x, top, x, top + line * count, "mark");
  }
  if (any) text += text_at(paper.width / 2, paper.height - 8, bars.label, "label");
  return text + "</svg>";
}

std::string svg_of(const HeatMap& map) {
  constexpr double names = 96, below = 58;
  const double line = map.rows.size() > 12 ? 22 : 30;
  const double tall = top + line * static_cast<double>(std::max<std::size_t>(1, map.rows.size())) + below;
  constexpr double width = of_page.width;
  std::string text = begin_of(map.title, {width, tall});
  double least = 0, most = 0;
  bool any = false;
  for (const std::optional<double>& value : map.values) {
    if (!value || !(*value > 0)) continue;
    least = any ? std::min(least, *value) : *value;
    most = any ? std::max(most, *value) : *value;
    any = true;
  }
  if (!any) return text + text_at(width / 2, tall / 2, "nothing was measured for this", "label") + "</svg>";
  const double cell = (width - names - right) / static_cast<double>(map.columns.size());
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + line * static_cast<double>(r);
    text += text_at(names - 6, y + line / 2 + 4, map.rows[r], "tick", "end");
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const std::optional<double>& value = map.values[r * map.columns.size() + c];
      const double x = names + cell * static_cast<double>(c);
      if (!value || !(*value > 0)) {
        text +=
            fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"none\"/>",
                        x, y, cell - 1, line - 1);
        continue;
      }
      // The best has the most colour, of which the ink on it is still told.
      const double share = most > least ? std::log(most / *value) / std::log(most / least) : 1;
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"heat\" "
          "fill-opacity=\"{:.2f}\"><title>{}, {}: {}</title></rect>",
          x, y, cell - 1, line - 1, 0.06 + 0.5 * share, escaped(map.columns[c]), escaped(map.rows[r]),
          short_number(*value));
      text += text_at(x + cell / 2, y + line / 2 + 4, short_number(*value), "tick");
    }
  }
  const double end = top + line * static_cast<double>(map.rows.size());
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    text += text_at(names + cell * (static_cast<double>(c) + 0.5), end + 16, map.columns[c], "tick");
  text += text_at((names + width) / 2, end + 36, map.x_label + "; " + map.label, "label");
  text += fmt::format("<g transform=\"translate(16 {:.1f}) rotate(-90)\">{}</g>", (top + end) / 2,
                      text_at(0, 0, map.y_label, "label"));
  return text + "</svg>";
}

std::string svg_file_of(const Chart& chart) {
  std::string svg = Drawing(chart, of_file)();
  svg.insert(std::string_view("<svg").size(), " xmlns=\"http://www.w3.org/2000/svg\"");
  svg.insert(svg.find('>') + 1, fmt::format("<style>{}</style>", chart_style()));
  return svg;
}

std::string_view chart_style() {
  return R"(:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#5a5a5a;--line:#dcdcdc;--panel:#f6f6f4;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#e69f00;--c5:#56b4e9;--c6:#8a7d00}
@media (prefers-color-scheme:dark){:root{--ink:#e8e8e6;--paper:#161618;--soft:#a5a5a0;--line:#37373a;--panel:#202023;
--c0:#4aa8e0;--c1:#f08a3c;--c2:#2fc79a;--c3:#e09cc4;--c4:#f0b840;--c5:#84ccf4;--c6:#f0e442}}
svg{width:100%;height:auto;max-width:760px;background:var(--paper);font:12px system-ui,sans-serif}
svg .title{font-size:14px;font-weight:600;fill:var(--ink)}svg .label{fill:var(--soft)}svg .tick{font-size:11px;fill:var(--ink);paint-order:stroke;stroke:var(--paper);stroke-width:2px}
svg .faint{fill:var(--line);stroke:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}
svg .mark{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:5 4}svg .legend{fill:var(--paper);fill-opacity:.85;stroke:var(--line)}
svg .heat{fill:var(--c0)}svg .none{fill:none;stroke:var(--line)}svg polyline{fill:none;stroke-width:2}
svg .c0{fill:var(--c0)}svg .c1{fill:var(--c1)}svg .c2{fill:var(--c2)}svg .c3{fill:var(--c3)}svg .c4{fill:var(--c4)}svg .c5{fill:var(--c5)}svg .c6{fill:var(--c6)}
svg circle{fill-opacity:.75}
svg .l0{stroke:var(--c0)}svg .l1{stroke:var(--c1)}svg .l2{stroke:var(--c2)}svg .l3{stroke:var(--c3)}svg .l4{stroke:var(--c4)}svg .l5{stroke:var(--c5)}svg .l6{stroke:var(--c6)}
)";
}

}  // namespace weft::report
