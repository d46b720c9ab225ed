#include <weft/dsl/errors.h>

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

}  // namespace

UserError::UserError(Report report) : std::runtime_error(text_of(report)), report_(std::move(report)) {}

InternalError::InternalError(const std::string& text, std::source_location place)
    : std::logic_error("internal error in weft: " + text + " (" + base_name(place.file_name()) + ":" +
                       std::to_string(place.line()) + "). Please report it with the program that led here.") {
}

void internal_check(bool condition, const std::string& text, std::source_location place) {
  if (!condition) throw InternalError(text, place);
}

std::string SourcePlace::text() const {
  return line == 0 ? std::string() : base_name(file) + ":" + std::to_string(line);
}

}  // namespace weft
