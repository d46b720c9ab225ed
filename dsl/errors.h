// The three kinds of error. There is no fourth.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace weft {

/// What the user gave cannot be used. The text answers four questions: what was being done, where,
/// what was found, what would be accepted.
class UserError : public std::runtime_error {
 public:
  /// The four answers. `where` is a file and byte, a step and the user's line, a flag: whatever the user can
  /// go to. An empty part is left out of the text.
  struct Report {
    std::string what;
    std::string where;
    std::string found;
    std::string accepted;
  };

  explicit UserError(Report report);
  explicit UserError(const std::string& text) : UserError(Report{text, {}, {}, {}}) {}

  const Report& report() const { return report_; }

 private:
  Report report_;
};

/// No schedule of the asked kind fits the target. A UserError of its own kind, because a search goes on after
/// it and the command exits with 3.
class InfeasibleError : public UserError {
 public:
  using UserError::UserError;
};

/// A device, a driver, a file system or a tool outside failed.
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// weft is wrong. The text asks for a report and carries the place inside weft.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text,
                         std::source_location place = std::source_location::current());
};

/// Throws InternalError with `text` unless `condition` holds.
void internal_check(bool condition, const std::string& text,
                    std::source_location place = std::source_location::current());

/// A place in the user's program: where a step was asked for. Kept as text, so that a schedule that was
/// stored and read back still knows it.
struct SourcePlace {
  std::string file;
  unsigned line = 0;

  SourcePlace() = default;
  SourcePlace(const std::source_location& place) : file(place.file_name()), line(place.line()) {}
  /// "program.cpp:12", or nothing when the place is unknown.
  std::string text() const;
};

}  // namespace weft
