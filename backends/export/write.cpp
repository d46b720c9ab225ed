// The files of a package, one line each.
#include <fmt/format.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/dsl/errors.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft {
namespace exporting {
namespace {

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  void write(const std::string& name, std::string_view content) {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) throw RuntimeError("cannot write " + path.string());
    names_.push_back(name);
    hashes_[name] = sha256_of(content);
  }
  const std::vector<std::string>& names() const { return names_; }
  const nlohmann::ordered_json& hashes() const { return hashes_; }

 private:
  std::string path_;
  std::vector<std::string> names_;
  nlohmann::ordered_json hashes_ = nlohmann::ordered_json::object();
};

/// Where each template goes. NAME stands for the package's name.
struct Place {
  std::string_view name;
  std::string_view path;
};
constexpr Place places[] = {
    {"header.h", "include/NAME.h"},
    {"header.hpp", "include/NAME.hpp"},
    {"internal.h", "src/NAME_internal.h"},
    {"weights.h", "src/NAME_weights.h"},
    {"driver.h", "src/NAME_driver.h"},
    {"open.h", "src/NAME_open.h"},
    {"numbers.h", "src/NAME_numbers.h"},
    {"arguments.c", "src/NAME_arguments.c"},
    {"host.c", "src/NAME_host.c"},
    {"open.c", "src/NAME_open.c"},
    {"weights.c", "src/NAME_weights.c"},
    {"walk.c", "src/NAME_walk.c"},
    {"sha256.c", "src/NAME_sha256.c"},
    {"smoke_device.h", "tests/smoke_device.h"},
    {"CMakeLists.txt", "CMakeLists.txt"},
    {"config.cmake", "cmake/NAME-config.cmake.in"},
    {"pc", "cmake/NAME.pc.in"},
    {"from_source.cmake", "cmake/from_source.cmake"},
    {"README.md", "README.md"},
};

std::string named(std::string_view path, const std::string& name) {
  std::string text(path);
  const std::size_t at = text.find("NAME");
  return at == std::string::npos ? text : text.replace(at, 4, name);
}

/// The kernel as CUDA C++ that nvcc compiles alone; as PTX where it is too long for compilers of C++.
void write_source(Folder& folder, const Package& package, const Variant& variant) {
  const ThreadProgram& program = variant.kernel->lowered();
  const bool is_short = source_statements(program) <= most_source_statements;
  std::string text =
      fmt::format("// {}, {} {}. Made by weft {}. SPDX-License-Identifier: {}\n// Its schedule:\n",
                  package.name, package.size, variant.range.text(), WEFT_VERSION, package.options.spdx);
  for (const Step& step : variant.kernel->schedule().steps()) text += "//   " + step.cpp() + "\n";
  text += is_short
              ? "// Compile with: nvcc -cubin -fmad=false -arch=" + variant.kernel->target().name + "\n//\n"
              : "//\n";
  text += is_short ? variant.kernel->cuda_source() : variant.kernel->ptx();
  folder.write(fmt::format("src/{}_{}.{}", package.name, variant.symbol, is_short ? "cu" : "ptx"), text);
}

std::string license_of(const Package& package) {
  if (!package.options.license_text.empty()) return package.options.license_text;
  if (package.options.spdx == "0BSD") return filled("LICENSE", words_of(package));
  return "SPDX-License-Identifier: " + package.options.spdx + "\n";
}

void write_weights(Folder& folder, const Package& package) {
  const std::string file = packed_file(package);
  if (package.options.with_weights) folder.write("weights/" + package.name + ".safetensors", file);
  std::map<std::string, std::string> words = words_of(package);
  if (!package.embeds_weights) {
    folder.write("src/" + package.name + "_embedded.c", filled("not_embedded.c", words));
    return;
  }
  words["BYTES"] = c_bytes(bytes_of(file));
  words["BYTE_COUNT"] = std::to_string(file.size());
  folder.write("src/" + package.name + "_embedded.c", filled("embedded.c", words));
}

std::string manifest_source(const Package& package, const std::string& manifest) {
  std::map<std::string, std::string> words = words_of(package);
  words["MANIFEST"] = c_bytes(bytes_of(manifest + '\0'));
  return filled("manifest.c", words);
}

void write_all(Folder& folder, const Package& package) {
  const std::map<std::string, std::string> words = words_of(package);
  const std::string source = "src/" + package.name;
  const std::string identity = print_manifest(package);
  for (const Place& place : places) folder.write(named(place.path, package.name), filled(place.name, words));
  folder.write(source + "_pack.c", filled(package.needs_weights ? "pack.c" : "no_pack.c", words));
  folder.write(source + "_tables.c", print_tables(package));
  folder.write(source + "_image.c", print_image(package));
  folder.write(source + "_reference.c", print_reference(package));
  folder.write(source + "_manifest.c", manifest_source(package, identity));
  folder.write("tests/smoke.c", print_smoke(package));
  folder.write("tests/golden.h", print_golden(package));
  for (const TargetGroup& group : package.targets) {
    for (const Variant& variant : group.variants) write_source(folder, package, variant);
  }
  write_weights(folder, package);
  const std::map<std::string, std::string> of_torch = torch_words(package);
  folder.write("torch/" + package.name + "_torch.cpp", filled("torch.cpp", of_torch));
  folder.write("torch/" + package.name + ".py", filled("torch.py", of_torch));
  folder.write("torch/CMakeLists.txt", filled("torch.cmake", of_torch));
  folder.write("LICENSE", license_of(package));
  auto manifest = nlohmann::ordered_json::parse(identity);
  manifest["sha256"] = folder.hashes();
  folder.write("manifest.json", manifest.dump(2) + "\n");
}

}  // namespace
}  // namespace exporting

std::vector<std::string> export_package(const std::string& folder, const std::vector<PackageKernel>& kernels,
                                        const ExportOptions& options) {
  const exporting::Package package = exporting::describe(kernels, options);
  exporting::Folder files(folder);
  exporting::write_all(files, package);
  return files.names();
}

std::vector<std::string> Kernel::export_to(const std::string& folder, const ExportOptions& options) const {
  return export_package(folder, {{*this}}, options);
}

}  // namespace weft
