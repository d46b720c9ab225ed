// The files of a package, one line each.
#include <fmt/format.h>
#include <weft/backends/cuda/print_source.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/package_folder.h>
#include <weft/backends/export/print.h>
#include <weft/backends/version.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft {
namespace exporting {
namespace {

using Files = std::vector<PackageFile>;

void add(Files& files, std::string name, std::string content) {
  files.push_back({std::move(name), std::move(content)});
}

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
    {"counters.c", "src/NAME_counters.c"},
    {"host.c", "src/NAME_host.c"},
    {"open.c", "src/NAME_open.c"},
    {"weights.c", "src/NAME_weights.c"},
    {"walk.c", "src/NAME_walk.c"},
    {"sha256.c", "src/NAME_sha256.c"},
    {"smoke_device.h", "tests/NAME_smoke_device.h"},
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

/// Text of a comment that ends with its line, whatever it is of: neither an end of a line nor a backslash
/// there, which would take the next line into the comment.
std::string in_one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text.ends_with('\\') ? text + "." : text;
}

/// The kernel as CUDA C++ that nvcc compiles alone; as PTX where it is too long for compilers of C++.
void add_source(Files& files, const Package& package, const Variant& variant) {
  const ThreadProgram& program = variant.kernel->lowered();
  const bool is_short = source_length(program).is_printable();
  std::string text =
      fmt::format("// {}, {} {}. Made by weft {}. SPDX-License-Identifier: {}\n// Its schedule:\n",
                  package.name, package.size, variant.range.text(), weft_version(), package.options.spdx);
  for (const Step& step : variant.kernel->schedule().steps())
    text += "//   " + in_one_line(step.cpp()) + "\n";
  text += is_short
              ? "// Compile with: nvcc -cubin -fmad=false -arch=" + variant.kernel->target().name + "\n//\n"
              : "//\n";
  text += is_short ? variant.kernel->cuda_source() : variant.kernel->ptx();
  add(files, fmt::format("src/{}_{}.{}", package.name, variant.symbol, is_short ? "cu" : "ptx"), text);
}

std::string license_of(const Package& package) {
  if (!package.options.license_text.empty()) return package.options.license_text;
  if (package.options.spdx == "0BSD") return filled("LICENSE", words_of(package));
  return "SPDX-License-Identifier: " + package.options.spdx + "\n";
}

void add_weights(Files& files, const Package& package) {
  const std::string file = packed_file(package);
  if (package.options.with_weights) add(files, "weights/" + package.name + ".safetensors", file);
  Words words = words_of(package);
  if (!package.embeds_weights) {
    add(files, "src/" + package.name + "_embedded.c", filled("not_embedded.c", words));
    return;
  }
  words["BYTES"] = c_bytes(bytes_of(file));
  words["BYTE_COUNT"] = std::to_string(file.size());
  add(files, "src/" + package.name + "_embedded.c", filled("embedded.c", words));
}

std::string manifest_source(const Package& package, const std::string& manifest) {
  Words words = words_of(package);
  words["MANIFEST"] = c_bytes(bytes_of(manifest + '\0'));
  return filled("manifest.c", words);
}

}  // namespace

Files code_files(const Package& package) {
  Files files;
  const Words words = words_of(package);
  const std::string source = "src/" + package.name;
  for (const Place& place : places) add(files, named(place.path, package.name), filled(place.name, words));
  add(files, source + "_pack.c", filled(package.takes_values ? "pack.c" : "no_pack.c", words));
  add(files, source + "_tables.c", print_tables(package));
  add(files, source + "_image.c", print_image(package));
  add(files, source + "_reference.c", print_reference(package));
  add(files, "tests/smoke.c", print_smoke(package));
  for (const TargetGroup& group : package.targets) {
    if (group.is_cpu()) {
      add(files, fmt::format("{}_{}.S", source, group.symbol()), print_assembly(package, group));
      continue;
    }
    for (const Variant& variant : group.variants) add_source(files, package, variant);
  }
  if (package.has_cpu()) {
    add(files, source + "_cpu.c", filled("cpu.c", words));
    add(files, "tests/" + package.name + "_smoke_cpu.h", print_smoke_cpu(package));
  }
  const Words of_torch = torch_words(package);
  add(files, "torch/" + package.name + "_torch.cpp", filled("torch.cpp", of_torch));
  add(files, "torch/" + package.name + ".py", filled("torch.py", of_torch));
  add(files, "torch/CMakeLists.txt", filled("torch.cmake", of_torch));
  add(files, "LICENSE", license_of(package));
  return files;
}

Files with_weights(Files code, const Package& package) {
  Files files = std::move(code);
  const std::string identity = print_manifest(package);
  add(files, "src/" + package.name + "_manifest.c", manifest_source(package, identity));
  add(files, "tests/" + package.name + "_golden.h", print_golden(package));
  add_weights(files, package);
  auto manifest = nlohmann::ordered_json::parse(identity);
  for (const PackageFile& file : files) manifest["sha256"][file.name] = sha256_of(file.content);
  add(files, manifest_name, manifest.dump(2) + "\n");
  return files;
}

}  // namespace exporting

std::vector<std::string> export_package(const std::string& folder, const std::vector<PackageKernel>& kernels,
                                        const ExportOptions& options, CallPlace place) {
  return user_call(place, [&] {
    const exporting::Package package = exporting::describe(kernels, options);
    const std::vector<exporting::PackageFile> files =
        exporting::with_weights(exporting::code_files(package), package);
    exporting::put_in_place(files, folder);
    std::vector<std::string> names;
    for (const exporting::PackageFile& file : files) names.push_back(file.name);
    return names;
  });
}

std::vector<std::string> Kernel::export_to(const std::string& folder, const ExportOptions& options,
                                           CallPlace place) const {
  return export_package(folder, {{*this}}, options, place);
}

}  // namespace weft
