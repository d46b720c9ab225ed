#include <weft/backends/export/program.h>
#include <weft/backends/runtime/process.h>

#include <string_view>

namespace weft {
namespace {

constexpr std::string_view usage =
    "--out FOLDER --name NAME --targets sm_80,sm_90a, and where they are wanted --param k=v and --spdx ID";

[[noreturn]] void refuse(const std::string& found) {
  throw UserError("a program that exports cannot read its arguments", "command line", found,
                  std::string(usage));
}

struct CommandLine {
  std::string folder;
  ExportOptions options;
  ExportRequest request;
};

void read_targets(std::string_view list, std::vector<Target>& targets) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    try {
      targets.push_back(target_named(list.substr(0, comma), std::source_location()));
    } catch (const UserError& error) {
      throw UserError(error.report().what, "command line, --targets", error.report().found,
                      error.report().accepted);
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

CommandLine read(const std::vector<std::string>& words) {
  CommandLine line;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size()) refuse(words[i] + " without a value");
    const std::string& value = words[i + 1];
    const std::size_t equals = value.find('=');
    if (words[i] == "--out") {
      line.folder = value;
    } else if (words[i] == "--name") {
      line.options.name = value;
    } else if (words[i] == "--targets") {
      read_targets(value, line.request.targets);
    } else if (words[i] == "--spdx") {
      line.options.spdx = value;
    } else if (words[i] == "--param" && equals != std::string::npos) {
      line.request.parameters[value.substr(0, equals)] = value.substr(equals + 1);
    } else {
      refuse(words[i] + " " + value);
    }
  }
  if (line.folder.empty()) refuse("no --out");
  if (line.request.targets.empty()) refuse("no --targets");
  return line;
}

}  // namespace

const std::string& ExportRequest::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  if (found != parameters.end()) return found->second;
  std::string given;
  for (const auto& [other, value] : parameters) given += (given.empty() ? "" : ", ") + other;
  throw UserError("a parameter of an exporting program is missing", "command line, --param",
                  given.empty() ? "none" : "only " + given,
                  "--param " + name + "=VALUE, which is PARAMS " + name + "=VALUE of weft_add_kernel");
}

std::string ExportRequest::parameter(const std::string& name, const std::string& otherwise) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? otherwise : found->second;
}

int export_program(int count, char** arguments,
                   const std::function<std::vector<PackageKernel>(const ExportRequest&)>& make,
                   CallPlace place) {
  return exit_code_of([&] {
    const CommandLine line = read({arguments + 1, arguments + count});
    check_export_options(line.options);
    export_package(line.folder, make(line.request), line.options, place);
  });
}

}  // namespace weft
