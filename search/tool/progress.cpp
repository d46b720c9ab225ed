#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/progress.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace weft::tool {
namespace {

constexpr std::chrono::milliseconds between_redraws(100);
constexpr std::chrono::seconds between_lines(10);

std::string bar(double share) {
  constexpr int width = 10;
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  std::string text(full, '=');
  if (full < width) text += '>';
  text.resize(width, ' ');
  return "[" + text + "]";
}

/// The columns of the terminal, less the last one, where some of them begin a new line.
std::size_t columns_of_terminal() {
  constexpr std::size_t usual = 79;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return usual;
  return static_cast<std::size_t>(size.ws_col) - 1;
}

/// "dense" alone is what a library has.
std::string_view name_of_dense(BaselineOf whose) {
  switch (whose) {
    case BaselineOf::library: return "dense";
    case BaselineOf::weft: return "weft's dense";
    case BaselineOf::model: return "modelled dense";
  }
  throw InternalError("a baseline of nobody");
}

constexpr int most_left_out = 3;

/// Without the bar, and what is tuned, and the kinds of failures with the format: so many of these, in this
/// order.
std::string progress_without(int left_out, const std::string& what, const TuneStatus& status) {
  const double share =
      status.limit > 0 ? static_cast<double>(status.trials) / static_cast<double>(status.limit) : 1;
  std::string text;
  if (left_out < 2) text += what + "  ";
  if (left_out < 1) text += bar(share) + " ";
  text += fmt::format("{}/{}", status.trials, status.limit);
  if (status.best) {
    text += fmt::format("  best {:.4g} us", *status.best);
    if (!status.best_format.empty() && left_out < most_left_out) text += " in " + status.best_format;
    if (status.dense)
      text += fmt::format(" ({:.2f}x {})", *status.dense / *status.best, name_of_dense(status.dense_of));
  }
  std::int64_t failures = 0;
  std::string kinds;
  for (const auto& [kind, count] : status.failures) {
    failures += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", name_of(kind), count);
  }
  text += fmt::format("  fail {}", failures);
  if (failures > 0 && left_out < most_left_out) text += " (" + kinds + ")";
  if (status.seconds_left) text += "  eta " + text_of_duration(*status.seconds_left);
  return text;
}

}  // namespace

ProgressStyle progress_style_named(const std::string& name) {
  constexpr std::array<std::string_view, 3> names{"auto", "plain", "none"};
  if (const auto known = value_named<ProgressStyle>(names, name)) return *known;
  throw UserError("there is no such progress", "--progress", name, "auto, plain or none");
}

std::string text_of_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::max(0.0, std::min(seconds, 1e9))));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string text_of_progress(const std::string& what, const TuneStatus& status, std::size_t columns) {
  for (int left_out = 0;; ++left_out) {
    std::string text = progress_without(left_out, what, status);
    if (text.size() <= columns || left_out == most_left_out) return text;
  }
}

ProgressLine::ProgressLine(std::string what, ProgressStyle style)
    : what_(std::move(what)),
      style_(style),
      terminal_(style == ProgressStyle::of_terminal && isatty(STDERR_FILENO) != 0),
      next_(std::chrono::steady_clock::now() + (terminal_ ? std::chrono::seconds(0) : between_lines)) {}

ProgressLine::~ProgressLine() {
  end();
}

void ProgressLine::show(const TuneStatus& status) {
  if (style_ == ProgressStyle::none) return;
  last_ = status;
  shown_ = true;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  if (terminal_) {
    next_ = now + between_redraws;
    redraw();
    drawn_ = true;
  } else {
    next_ = now + between_lines;
    fmt::print(stderr, "{}\n", text_of_progress(what_, last_));
  }
}

void ProgressLine::redraw() const {
  const std::size_t columns = columns_of_terminal();
  fmt::print(stderr, "\r{}\x1b[K", text_of_progress(what_, last_, columns).substr(0, columns));
  std::fflush(stderr);
}

void ProgressLine::end() {
  if (terminal_ && drawn_) {
    redraw();
    fmt::print(stderr, "\n");
  }
  if (!terminal_ && shown_) fmt::print(stderr, "{}\n", text_of_progress(what_, last_));
  drawn_ = shown_ = false;
}

}  // namespace weft::tool
