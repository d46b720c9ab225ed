// weft model export: a network's kernels as one package.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/network/network_export.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/model.h>
#include <weft/search/tool/options.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

/// A name for the package from that of the folder: letters and digits of it.
std::string name_from(const std::string& path) {
  std::string name;
  const auto normal = std::filesystem::absolute(path).lexically_normal();
  const auto stem = normal.has_filename() ? normal.stem() : normal.parent_path().stem();
  for (const char c : stem.string()) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

int run(const ExportModel& options) {
  return export_model(options);
}

}  // namespace

int export_model(const ExportModel& given) {
  ExportModel options = given;
  options.with.package.name =
      options.name.empty() ? name_from(options.out.empty() ? options.path : options.out) : options.name;
  const std::string folder = options.out.empty() ? options.with.package.name : options.out;
  check_export_options(options.with.package);
  for (const std::string& name : options.with.targets) packaged_target(name);
  std::vector<StoredRecord> records;
  if (!options.databases.empty())
    records = of_option("--db", [&] { return records_of_files(options.databases); });
  options.with.records = records;
  options.with.formats = asked_formats(options.format);
  Network network = inspected_network(options.path);
  const NetworkExportHooks hooks{
      .progress = [](std::size_t number, std::size_t all, const NetworkLayer& layer, bool kept) {
        fmt::print(stderr, "[{}/{}] {}{}\n", number, all, layer.name, kept ? ": as it was" : "");
      }};
  const ExportedNetwork done = export_network(folder, network, options.with, hooks);
  if (options.json) {
    nlohmann::ordered_json refused = nlohmann::ordered_json::object();
    for (const auto& [name, why] : done.refused) refused[name] = why;
    const nlohmann::ordered_json document{{"folder", folder},
                                          {"name", options.with.package.name},
                                          {"layers", done.layers},
                                          {"stay_dense", done.stay_dense},
                                          {"refused", refused}};
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return exit_ok;
  }
  fmt::print("{}: {} layers", folder, done.layers.size());
  if (!done.stay_dense.empty())
    fmt::print(", {} stay dense ({})", done.stay_dense.size(), fmt::join(done.stay_dense, ", "));
  fmt::print("\n");
  for (const auto& [name, why] : done.refused) fmt::print("  {} stays dense: {}\n", name, why);
  fmt::print(
      "Build it: cmake -S {0} -B {0}/build && cmake --build {0}/build -j; {0}/README.md has the rest\n",
      folder);
  return exit_ok;
}

void add_model_export(CLI::App& verb, Action& action) {
  const auto [part, options] = new_verb<ExportModel>(
      verb, action, "export", "one package of its kernels, with a table of the layers and a PyTorch module",
      "Layers that were measured to be faster dense (--db of weft model tune) stay out. What an earlier\n"
      "export wrote is kept where it would be the same: one that was interrupted goes on.\n"
      "Example: weft model export llama-pruned --db weftdb.jsonl --n 1,8,512 --archs sm_90a -o pkg",
      run);
  add_option(part, "path", options.path, "a folder, a file, or a network.json")->required();
  begin_group(part, "Problem");
  only_from(
      add_list(part, "--n", options.with.columns, "a kernel for up to each of so many columns: 1,8,512", "N"),
      1, 1'000'000'000);
  begin_group(part, "Schedule");
  add_option(part, "--db", options.databases, "trials to choose by", "FILE");
  add_option(part, "--format", options.format, "of layers without trials that fit it: see weft formats");
  add_list(part, "--archs", options.with.targets, "GPUs, and x86-64-v3, x86-64-v4, aarch64 of CPUs");
  only_from(add_option(part, "--threads", options.with.threads, "of a processor, that share a layer's loops"),
            1, 1024);
  part.add_flag("--all", options.with.all, "also layers that were measured to be faster dense");
  begin_group(part, "Output");
  add_option(part, "--name", options.name, "of library and symbols; else that of the folder", "NAME");
  add_option(part, "-o,--out", options.out, "folder; else the name", "DIR");
  add_option(part, "--spdx", options.with.package.spdx, "its licence, your choice");
  add_json_flag(part, options.json);
}

}  // namespace weft::tool
