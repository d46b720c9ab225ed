// weft inspect: the structure of a weight file.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/formats/pruned_for.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/structure.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/made_weights.h>
#include <weft/search/tool/options.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

namespace weft::tool {
namespace {

/// What the weights look like, and what they were pruned by.
std::string json_of(const WeightMatrix& matrix, const Statistics& found,
                    const std::vector<FoundStructure>& structures) {
  auto document = nlohmann::ordered_json::parse(json_text(found));
  document["structures"] = nlohmann::ordered_json::array();
  for (const FoundStructure& structure : structures)
    document["structures"].push_back({{"format", structure.format.text()},
                                      {"kept", structure.kept},
                                      {"density", structure.density},
                                      {"fill", structure.fill}});
  if (matrix.pruned_for != nullptr)
    document["pruned_for"] = {{"format", matrix.pruned_for->format.text()},
                              {"row_order", matrix.pruned_for->row_order}};
  if (!matrix.row_scale.empty()) document["row_scale"] = matrix.row_scale;
  if (!matrix.note.empty()) document["note"] = matrix.note;
  return document.dump(2) + "\n";
}

std::string text_of(const WeightMatrix& matrix, const Statistics& found,
                    const std::vector<FoundStructure>& structures) {
  std::string text = report_text(found);
  std::string_view name = "structure";
  for (const FoundStructure& structure : structures) {
    text += fmt::format("  {:<22}{}\n", name, weft::text_of(structure));
    name = {};
  }
  if (structures.empty()) text += fmt::format("  {:<22}none found\n", name);
  if (matrix.pruned_for != nullptr)
    text += fmt::format("  {:<22}{}, as the file says{}\n", "pruned for", matrix.pruned_for->format.text(),
                        matrix.pruned_for->format.name == "shfl_bw" && !matrix.pruned_for->row_order.empty()
                            ? ", in the row order that it has"
                            : "");
  if (!matrix.row_scale.empty()) {
    const auto [least, most] = std::ranges::minmax(matrix.row_scale);
    text += fmt::format("  {:<22}{}_scale, which rows are to be multiplied by: {:.4g} to {:.4g}\n", "scale",
                        matrix.origin, least, most);
  }
  if (!matrix.note.empty()) text += fmt::format("  {:<22}{}\n", "note", matrix.note);
  return text;
}

struct InspectVerb {
  std::string file;
  std::string tensor;
  bool json = false;
};

int run(const InspectVerb& options) {
  refuse_other_file_for_weights("file", options.file);
  if (is_made_weights(options.file)) {
    check_made_weights(options.file);  // or what is proposed would be refused
    throw UserError("made weights are no file", "file", options.file,
                    "a file; weft run --weights " + options.file + " --n 256 takes made ones");
  }
  if (std::error_code none; std::filesystem::is_directory(options.file, none))
    throw UserError("a folder is given as a file", "file", options.file,
                    fmt::format("weft model inspect {0}, or one of its files", options.file));
  const WeightMatrix matrix = read(options.file, {.tensor = options.tensor});
  const Statistics found = statistics(matrix);
  const std::vector<FoundStructure> structures = find_structures(matrix);
  fmt::print("{}", options.json ? json_of(matrix, found, structures)
                                : matrix.origin + "\n" + text_of(matrix, found, structures));
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  const auto [verb, options] =
      new_verb<InspectVerb>(app, action, "inspect", "print the structure of a weight file",
                            "Example: weft inspect layer.safetensors --tensor model.fc1.weight", run);
  add_option(verb, "file", options.file, ".smtx .mtx .npy .npz .onnx .safetensors")->required();
  begin_group(verb, "Problem");
  add_option(verb, "--tensor", options.tensor, "which tensor of the file");
  begin_group(verb, "Output");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
