// One line of progress on stderr: redrawn where that is a terminal, else a line of its own every ten seconds.
#pragma once

#include <weft/search/trials/tune.h>

#include <chrono>
#include <string>

namespace weft::tool {

enum class ProgressStyle : std::uint8_t { of_terminal, plain, none };
/// UserError that lists them when there is none of that name.
ProgressStyle progress_style_named(const std::string& name);

/// "tune spmm  [=====>    ] 212/400  best 41.3 us in csr (2.14x dense)  fail 9 (compile 6, timeout 3)  eta
/// 3m10s". In fewer columns than that takes the bar is left out, then what is tuned, then the kinds of
/// failures and the format.
std::string text_of_progress(const std::string& what, const TuneStatus& status,
                             std::size_t columns = std::string::npos);
/// "3m10s", "12s", "2h05m"
std::string text_of_duration(double seconds);

class ProgressLine {
 public:
  ProgressLine(std::string what, ProgressStyle style);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const TuneStatus& status);
  /// Leaves the line as it is and goes to the next one.
  void end();

 private:
  void redraw() const;

  std::string what_;
  ProgressStyle style_;
  bool terminal_ = false;
  bool drawn_ = false;
  TuneStatus last_;
  bool shown_ = false;  ///< whether `last_` is one
  std::chrono::steady_clock::time_point next_;
};

}  // namespace weft::tool
