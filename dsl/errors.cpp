#include <weft/dsl/errors.h>

#include <new>

namespace weft {
namespace {

std::string text_of(const UserError::Report& report) {
  std::string text = report.what;
  if (!report.where.empty()) text += "\n  where:    " + report.where;
  if (!report.found.empty()) text += "\n  found:    " + report.found;
  if (!report.accepted.empty()) text += "\n  accepted: " + report.accepted;
  return text;
}

std::string base_name(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// A name or a word that is empty would leave the line of what was found out.
UserError::Report with_what_was_found(UserError::Report report) {
  if (report.found.empty() && !report.accepted.empty()) report.found = "an empty text";
  return report;
}

/// What path would do in place of one that the system refuses so; nothing where no other would do.
std::string accepted_path(std::error_code error) {
  if (error == std::errc::no_such_file_or_directory)
    return "a path in a folder that is there: mkdir -p makes it";
  if (error == std::errc::not_a_directory || error == std::errc::file_exists)
    return "a path that goes through folders, not through a file";
  if (error == std::errc::is_a_directory) return "the path of a file, not that of a folder";
  if (error == std::errc::permission_denied || error == std::errc::read_only_file_system ||
      error == std::errc::operation_not_permitted)
    return "a path in a folder that may be written";
  if (error == std::errc::filename_too_long || error == std::errc::too_many_symbolic_link_levels ||
      error == std::errc::invalid_argument)
    return "a shorter path, of names that the file system takes";
  return {};
}

thread_local const SourcePlace* outermost_place = nullptr;

/// `report` with the place before what it says of where, unless it begins with it.
UserError::Report placed(UserError::Report report, const SourcePlace& place) {
  const std::string text = place.text();
  if (!text.empty() && !report.where.starts_with(text))
    report.where = text + (report.where.empty() ? "" : ", " + report.where);
  return report;
}

}  // namespace

UserError::UserError(Report report)
    : std::runtime_error(text_of(with_what_was_found(report))),
      report_(with_what_was_found(std::move(report))) {}

InternalError::InternalError(const std::string& text, CallPlace place)
    : std::logic_error("internal error in weft: " + text + " (" + base_name(place.file_name()) + ":" +
                       std::to_string(place.line()) + "). Please report it with the program that led here.") {
}

void internal_check(bool condition, const std::string& text, CallPlace place) {
  if (!condition) throw InternalError(text, place);
}

void refuse_path(const std::string& doing, const std::string& path, std::error_code error) {
  const std::string what = "cannot " + doing + " " + (path.empty() ? "\"\"" : path);
  const std::string accepted = accepted_path(error);
  if (accepted.empty()) throw RuntimeError(what + ": " + error.message());
  throw UserError(what, error.message(), accepted);
}

std::string SourcePlace::text() const {
  return line == 0 ? std::string() : base_name(file) + ":" + std::to_string(line);
}

namespace detail {

UserCall::UserCall(const SourcePlace& place) : is_outermost_(outermost_place == nullptr) {
  if (is_outermost_) outermost_place = &place;
}

UserCall::~UserCall() {
  if (is_outermost_) outermost_place = nullptr;
}

const SourcePlace* UserCall::outermost() {
  return outermost_place;
}

void rethrow_with_place(const SourcePlace& place) {
  // Calls inside another one are not the user's; the outermost adds its line.
  const SourcePlace& told = outermost_place == nullptr ? place : *outermost_place;
  try {
    throw;
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(placed(error.report(), told));
  } catch (const UserError& error) {
    throw UserError(placed(error.report(), told));
  } catch (const RuntimeError&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw RuntimeError("memory ran out" + (told.text().empty() ? "" : " (" + told.text() + ")"));
  } catch (const std::exception& error) {
    throw InternalError(error.what());
  }
}

}  // namespace detail
}  // namespace weft
