// The parts of the verb model, one file each.
#pragma once

#include <weft/search/network/network_export.h>
#include <weft/search/network/network_tuning.h>
#include <weft/search/tool/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::tool {

void add_model_inspect(CLI::App& verb, Action& action);
void add_model_tune(CLI::App& verb, Action& action);
void add_model_export(CLI::App& verb, Action& action);
void add_model_demo(CLI::App& verb, Action& action);

struct TuneModel {
  std::string path;
  std::vector<std::int64_t> columns;
  std::string format;  ///< tried as well, where it holds a layer's weights
  std::string budget = "5m";
  std::string measure = "gpu";
  std::string target;
  std::string database = "weftdb.jsonl";
  std::string plan;    ///< to be measured elsewhere
  std::string absorb;  ///< what that measured
  std::string progress = "auto";
  NetworkTuneOptions with;
  bool json = false;
};
/// What weft model tune does. Returns the exit code.
int tune_model(const TuneModel& options);

struct ExportModel {
  std::string path;
  std::vector<std::string> databases;
  std::string format;  ///< chosen where no trial says more and it holds a layer's weights
  std::string name;
  std::string out;
  NetworkExportOptions with;
  bool json = false;
};
/// What weft model export does. Returns the exit code.
int export_model(const ExportModel& options);

/// What --format says of the layers of a network: none or one.
std::vector<Format> asked_formats(const std::string& text);
/// The layers of a path, inspected; progress on a terminal, and notes about layers on stderr.
Network inspected_network(const std::string& path);
/// The layers that are left out, by the reason.
void print_left_out(const Network& network);
/// "512 B", "1.5 MB"
std::string text_of_bytes(std::uint64_t bytes);

}  // namespace weft::tool
