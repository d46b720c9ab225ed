// The three kinds of error. There is no fourth.
#pragma once

#include <weft/dsl/compiler.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

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
  UserError(std::string what, std::string where, std::string found, std::string accepted)
      : UserError(Report{std::move(what), std::move(where), std::move(found), std::move(accepted)}) {}
  /// For what is nowhere but in the call that the user made, whose line every error names.
  UserError(std::string what, std::string found, std::string accepted)
      : UserError(std::move(what), {}, std::move(found), std::move(accepted)) {}

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

/// Throws what it means that the system refuses `doing` ("write") with a path: UserError where there can be
/// no such file, as in a folder that is not there, else RuntimeError, as of a full disk.
[[noreturn]] void refuse_path(const std::string& doing, const std::string& path, std::error_code error);

/// Where a function was called from, as its last parameter: `CallPlace place = {}`.
struct CallPlace : std::source_location {
  constexpr CallPlace(std::source_location place = std::source_location::current())
      : std::source_location(place) {}
};

/// weft is wrong. The text asks for a report and carries the place inside weft.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text, CallPlace place = {});
};

/// Throws InternalError with `text` unless `condition` holds.
void internal_check(bool condition, const std::string& text, CallPlace place = {});

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

namespace detail {

/// While one lives, the call that the user made goes on in this thread. Calls inside of it are weft's own, so
/// that what they refuse is told with the line of the outermost one.
class UserCall {
 public:
  explicit UserCall(const SourcePlace& place);
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;
  ~UserCall();

  /// The place of the outermost call that goes on in this thread; null where there is none.
  static const SourcePlace* outermost();

 private:
  bool is_outermost_;
};

/// Throws the exception that is being handled as one of the three kinds of error: a UserError names `place`,
/// memory that cannot be had is a RuntimeError, every foreign exception is weft's mistake.
[[noreturn]] void rethrow_with_place(const SourcePlace& place);

}  // namespace detail

/// What a public function does: errors that leave it name the line from which the user called it.
///     SparseTensor pack(const WeightMatrix& weights, const Format& format, CallPlace place) {
///       return user_call(place, [&] { … });
///     }
template <class Body>
decltype(auto) user_call(const SourcePlace& place, Body&& body) {
  const detail::UserCall call(place);
  try {
    return body();
  } catch (...) {
    detail::rethrow_with_place(place);
  }
}

}  // namespace weft
