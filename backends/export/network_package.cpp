#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/network_package.h>
#include <weft/backends/export/package_folder.h>
#include <weft/backends/export/print.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/version.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Beside a layer's package: what it was made from, and its row of the table. The last file that is written
/// of it.
constexpr std::string_view row_file = "layer.json";

std::string text_at(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) ? read_bytes(path) : std::string();
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// The element type of a layer's output and bias.
std::string type_of(const Algorithm& algorithm) {
  return std::string(name_of(algorithm.operands[algorithm.output.operand].dtype));
}
/// That of its input and its weights.
std::string input_type_of(const Algorithm& algorithm) {
  return std::string(name_of(algorithm.operands[algorithm.factors.front().operand].dtype));
}

std::string name_of_scales(const std::string& symbol) {
  return fmt::format("weights/{}_scale.f32", symbol);
}

void check_scales(const PackagedLayer& layer, const Algorithm& algorithm) {
  const auto scale = std::ranges::find(algorithm.operands, "scale", &Operand::name);
  const std::int64_t asked = scale == algorithm.operands.end() ? 0 : scale->shape.front().value;
  if (std::ssize(layer.scales) == asked) return;
  throw UserError("a layer has not the scales that its kernels read", layer.name,
                  fmt::format("{} scales", layer.scales.size()), fmt::format("{}, one for each row", asked));
}

std::string bytes_of_scales(const std::vector<float>& scales) {
  return {reinterpret_cast<const char*>(scales.data()), scales.size() * sizeof(float)};
}

Json shape_of(const Operand& operand) {
  Json shape = Json::array();
  for (const Extent& extent : operand.shape)
    shape.push_back(extent.is_static() ? Json(extent.value) : Json("n"));
  return shape;
}

bool has_open_size(const Algorithm& algorithm) {
  return std::ranges::any_of(algorithm.operands, [](const Operand& one) {
    return std::ranges::any_of(one.shape, [](const Extent& extent) { return !extent.is_static(); });
  });
}

/// With an open size where one of the kernels has it: others may be for one size alone.
const Algorithm& algorithm_of(const PackagedLayer& layer) {
  const auto open = std::ranges::find_if(layer.kernels, [](const PackageKernel& one) {
    return has_open_size(one.kernel.schedule().algorithm());
  });
  return (open != layer.kernels.end() ? *open : layer.kernels.front()).kernel.schedule().algorithm();
}

PackageDevice device_of(const PackagedLayer& layer) {
  const bool gpu = layer.kernels.front().kernel.target().is_gpu();
  internal_check(
      std::ranges::all_of(layer.kernels,
                          [&](const PackageKernel& one) { return one.kernel.target().is_gpu() == gpu; }),
      "a layer's kernels are for a processor and a GPU: " + layer.name);
  return gpu ? PackageDevice::gpu : PackageDevice::processor;
}

/// What the table and the Python module know of a layer.
Json row_of(const PackagedLayer& layer, const std::string& symbol, const std::string& made_from) {
  const Algorithm& algorithm = algorithm_of(layer);
  const SparseTensor& weights = *layer.kernels.front().kernel.schedule().weights();
  Json row{{"layer", layer.name},         {"symbol", symbol},       {"op", layer.op},
           {"dtype", type_of(algorithm)}, {"rows", weights.rows()}, {"columns", weights.columns()}};
  row["input_dtype"] = input_type_of(algorithm);
  std::int64_t least = 0, most = 0;
  for (const PackageKernel& kernel : layer.kernels) {
    if (!has_open_size(algorithm)) continue;
    least = least == 0 ? kernel.least : std::min(least, kernel.least);
    most = std::max(most, kernel.most);
  }
  row["least"] = least;
  row["most"] = most;
  row["device"] = device_of(layer) == PackageDevice::gpu ? "gpu" : "cpu";
  row["activation"] = layer.activation;
  if (layer.op == "linear") row["layout"] = row["device"] == "gpu" ? layer.layout : "nk";
  row["bias"] = false;
  for (const Operand& operand : algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    const bool output = &operand == &algorithm.operands[algorithm.output.operand];
    if (operand.name == "bias")
      row["bias"] = true;
    else if (operand.name == "token_scale")
      row["token_scale"] = true;
    else if (operand.name == "scale")
      row["scale"] = fmt::format("layers/{}/{}", symbol, name_of_scales(symbol));
    else
      row[output ? "output" : "input"] = shape_of(operand);
  }
  if (!layer.settings.empty()) row["settings"] = layer.settings;
  row["weights"] = fmt::format("layers/{0}/weights/{0}.safetensors", symbol);
  row["made_from"] = exporting::sha256_of(made_from);
  return row;
}

/// Code has many megabytes: nothing is moved more than once.
std::string without(std::string_view text, const std::string& word) {
  std::string rest;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word)) {
    rest += text.substr(0, at);
    rest += '@';
    text.remove_prefix(at + word.size());
  }
  return rest.append(text);
}

/// A hash of all that does not say whose weights it is for: not the package's name, nor where entries are.
std::string hash_of_code(const std::vector<exporting::PackageFile>& files,
                         const exporting::Package& package) {
  const std::string structure = exporting::structure_of(package);
  std::string hashes;
  for (const exporting::PackageFile& file : files) {
    std::string text = file.name + '\n' + file.content;
    for (const std::string& word : {package.name, package.upper, structure}) text = without(text, word);
    hashes += exporting::sha256_of(text);
  }
  return exporting::sha256_of(hashes);
}

/// As C has the size of an element.
std::string bytes_of_type(const Json& dtype) {
  return std::to_string(size_of(dtype_named(dtype.get<std::string>()).value_or(DType::f32)));
}

/// In C, for open(); NULL where any will do.
std::string c_structure(const Json& row) {
  const std::string structure = row["structure"];
  return structure.empty() ? "NULL" : exporting::c_string(structure);
}

/// The files with a manifest of them, by which a later export knows them.
std::vector<exporting::PackageFile> with_manifest(std::vector<exporting::PackageFile> files,
                                                  const ExportOptions& options, const std::string& name) {
  Json identity{{"name", name}, {"weft", weft_version()}, {"license", options.spdx}};
  for (const exporting::PackageFile& file : files)
    identity["sha256"][file.name] = exporting::sha256_of(file.content);
  files.push_back({exporting::manifest_name, identity.dump(2) + "\n"});
  return files;
}

/// What the folder of a layer has whose code stands in another one, whose name `package` has, with files of
/// its own.
std::vector<exporting::PackageFile> files_beside(const exporting::Package& package, const Json& row,
                                                 const ExportOptions& options,
                                                 std::vector<exporting::PackageFile> of_layer) {
  const std::string symbol = row["symbol"];
  const exporting::Words words{{"NAME", options.name},
                               {"LAYER", row["layer"]},
                               {"SYMBOL", symbol},
                               {"PACKAGE", package.name},
                               {"PACKAGE_UPPER", upper(package.name)},
                               {"STRUCTURE", c_structure(row)}};
  std::vector<exporting::PackageFile> files{
      {"README.md", exporting::filled("network_shared.md", words)},
      {"weights/" + symbol + ".safetensors", exporting::packed_file(package)}};
  std::ranges::move(of_layer, std::back_inserter(files));
  return with_manifest(std::move(files), options, symbol);
}

}  // namespace

NetworkPackage::NetworkPackage(std::string folder, ExportOptions options, CallPlace place)
    : folder_(std::move(folder)), options_(std::move(options)) {
  user_call(place, [&] { check_export_options(options_); });
}

/// "net_l3f2a90c1d2", the same for the same name, whatever other layers there are.
std::string NetworkPackage::symbol_of(const std::string& layer, PackageDevice device) const {
  const char* const letter = device == PackageDevice::gpu ? "_g" : "_l";
  return options_.name + letter + exporting::sha256_of(layer).substr(0, 10);
}

std::string NetworkPackage::folder_of(const std::string& symbol) const {
  return (fs::path(folder_) / "layers" / symbol).string();
}

bool NetworkPackage::is_written(const std::string& layer, PackageDevice device,
                                const std::string& made_from) const {
  const fs::path written = fs::path(folder_of(symbol_of(layer, device))) / row_file;
  const Json row = Json::parse(text_at(written), nullptr, false);
  return row.is_object() && row.value("made_from", "") == exporting::sha256_of(made_from) &&
         row.value("layer", "") == layer &&
         row.value("package", "") == package_of(row.value("code", ""), symbol_of(layer, device));
}

std::string NetworkPackage::package_of(const std::string& code, const std::string& symbol) const {
  const auto known = packages_.find(code);
  return known == packages_.end() ? symbol : known->second;
}

void NetworkPackage::keep(const std::string& layer, PackageDevice device) {
  rows_.push_back(text_at(fs::path(folder_of(symbol_of(layer, device))) / row_file));
  const Json row = Json::parse(rows_.back());
  packages_.emplace(row["code"], row["package"]);
}

void NetworkPackage::add(const PackagedLayer& layer, const std::string& made_from, CallPlace place) {
  user_call(place, [&] {
    check_scales(layer, algorithm_of(layer));
    const std::string symbol = symbol_of(layer.name, device_of(layer));
    const fs::path target = folder_of(symbol);
    std::error_code none;
    fs::create_directories(target.parent_path(), none);
    // Until the row is there again the layer counts as not written.
    fs::remove(target / row_file, none);
    ExportOptions options = options_;
    options.name = symbol;
    options.embed_weights = false;
    options.with_weights = true;
    exporting::Package made = exporting::describe(layer.kernels, options);
    std::vector<exporting::PackageFile> files = exporting::code_files(made);
    Json row = row_of(layer, symbol, made_from);
    row["code"] = hash_of_code(files, made);
    row["package"] = package_of(row["code"], symbol);
    row["structure"] = made.any_pattern ? std::string() : exporting::structure_of(made);
    std::vector<exporting::PackageFile> of_layer;
    if (!layer.scales.empty()) of_layer.push_back({name_of_scales(symbol), bytes_of_scales(layer.scales)});
    if (row["package"] == symbol) {
      std::ranges::move(of_layer, std::back_inserter(files));
      files = exporting::with_weights(std::move(files), made);
    } else {
      made.name = row["package"];  // as the file of weights has it
      files = files_beside(made, row, options_, std::move(of_layer));
    }
    exporting::put_in_place(files, target.string());
    packages_.emplace(row["code"], row["package"]);
    rows_.push_back(row.dump());
    write_bytes(target / row_file, rows_.back());
  });
}

std::vector<std::string> NetworkPackage::finish(CallPlace place) {
  return user_call(place, [&] {
    if (rows_.empty())
      throw UserError("a package of a network has no layer", folder_, "none",
                      "at least one layer that is added");
    std::vector<Json> rows;
    for (const std::string& row : rows_) rows.push_back(Json::parse(row));
    std::ranges::sort(rows, {}, [](const Json& row) { return row["symbol"].get<std::string>(); });
    exporting::Words words{{"NAME", options_.name},
                           {"UPPER", upper(options_.name)},
                           {"VERSION", weft_version()},
                           {"SPDX", options_.spdx},
                           {"COUNT", std::to_string(rows.size())}};
    std::vector<exporting::PackageFile> files;
    std::string folders, libraries, table, declarations;
    Json manifest = Json::array();
    for (const Json& row : rows) {
      const std::string symbol = row["symbol"], package = row["package"];
      if (package == symbol) {
        folders += fmt::format("add_subdirectory(layers/{} EXCLUDE_FROM_ALL)\n", symbol);
        libraries += fmt::format(" {}", symbol);
      }
      declarations += fmt::format("extern const {}_layer {}_row;\n", options_.name, symbol);
      table += fmt::format("  &{}_row,\n", symbol);
      exporting::Words of_layer = words;
      of_layer["ROW"] = symbol;
      of_layer["SYMBOL"] = package;
      of_layer["SYMBOL_UPPER"] = upper(package);
      of_layer["STRUCTURE"] = c_structure(row);
      of_layer["LAYER"] = exporting::c_string(row["layer"].get<std::string>());
      of_layer["OP"] = row["op"];
      of_layer["DEVICE"] = row["device"];
      of_layer["DTYPE"] = row["dtype"];
      of_layer["ROWS"] = std::to_string(row["rows"].get<std::int64_t>());
      of_layer["COLUMNS"] = std::to_string(row["columns"].get<std::int64_t>());
      of_layer["LEAST"] = std::to_string(row["least"].get<std::int64_t>());
      of_layer["MOST"] = std::to_string(row["most"].get<std::int64_t>());
      of_layer["HAS_BIAS"] = row["bias"].get<bool>() ? "1" : "0";
      of_layer["ACTIVATION"] = row["activation"];
      of_layer["WEIGHTS"] = row["weights"];
      of_layer["LAYOUT"] = row.value("layout", "");
      of_layer["INPUT_DTYPE"] = row["input_dtype"];
      of_layer["INPUT_BYTES"] = bytes_of_type(row["input_dtype"]);
      of_layer["OUTPUT_BYTES"] = bytes_of_type(row["dtype"]);
      of_layer["SCALE_FILE"] =
          row.contains("scale") ? exporting::c_string(row["scale"].get<std::string>()) : "NULL";
      of_layer["SET_SCALE"] = row.contains("scale") ? "args.scale = scales->of_rows;" : "(void)scales;";
      of_layer["SET_TOKEN_SCALE"] =
          row.contains("token_scale") ? "args.token_scale = scales->of_tokens;" : "(void)scales;";
      of_layer["USE_THREADS"] =
          row["device"] == "cpu"
              ? fmt::format(
                    "  return {0}_use_threads(of->kernels, threads > 1 ? {1}_in_parallel : NULL,\n"
                    "                              (void *)(intptr_t)threads, threads);",
                    package, options_.name)
              : fmt::format("  return {}_OK;", upper(package));
      of_layer["SET_N"] = row["most"].get<std::int64_t>() > 0 ? "args.n = n;" : "(void)n;";
      of_layer["SET_BIAS"] = row["bias"].get<bool>() ? "args.bias = bias;" : "(void)bias;";
      files.push_back({fmt::format("src/{}_row.c", symbol), exporting::filled("network_layer.c", of_layer)});
      manifest.push_back(row);
    }
    words["FOLDERS"] = folders;
    words["LIBRARIES"] = libraries;
    words["DECLARATIONS"] = declarations;
    words["TABLE"] = table;
    files.push_back({"include/" + options_.name + ".h", exporting::filled("network.h", words)});
    files.push_back({"src/" + options_.name + "_table.c", exporting::filled("network_table.c", words)});
    files.push_back({"src/" + options_.name + "_threads.h", exporting::filled("network_threads.h", words)});
    files.push_back({"src/" + options_.name + "_threads.c", exporting::filled("network_threads.c", words)});
    files.push_back({"CMakeLists.txt", exporting::filled("network_CMakeLists.txt", words)});
    files.push_back({"README.md", exporting::filled("network_README.md", words)});
    files.push_back({fmt::format("{}/__init__.py", options_.name), exporting::filled("network.py", words)});
    files.push_back({"layers.json", Json{{"name", options_.name}, {"layers", manifest}}.dump(1) + "\n"});
    files = with_manifest(std::move(files), options_, options_.name);
    std::vector<std::string> names;
    for (const exporting::PackageFile& file : files) names.push_back(file.name);
    exporting::put_in_place(files, folder_);
    return names;
  });
}

}  // namespace weft
