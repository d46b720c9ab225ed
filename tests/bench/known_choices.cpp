// The table of known choices that ships, of trials of `weft tune`:
//
//   known_choices TRIALS.jsonl OTHER.jsonl -o search/choice/sm_90a_known.json
#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/choice/known_choices.h>
#include <weft/search/records/record_file.h>

#include <CLI/CLI.hpp>

namespace weft {
namespace {

int run(const std::vector<std::string>& files, const std::string& target, const std::string& out) {
  std::vector<Record> records;
  for (const std::string& file : files) {
    const RecordFile trials(file, RecordFile::Mode::read);
    for (const StoredRecord& one : trials.records()) records.push_back(one.record);
  }
  const KnownChoices known = known_choices_of(records, target);
  if (known.choices.empty())
    throw UserError("there is nothing to know", fmt::format("{} trials", records.size()),
                    "none that is right on a device of " + target, "trials of weft tune on such a device");
  write_bytes(out, json_of(known));
  fmt::print("{} choices of {} trials\n", known.choices.size(), records.size());
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string target = "sm_90a", out;
  CLI::App app("The fastest kernel of each problem of searches, as the table that ships.");
  app.add_option("trials", files, "trials of weft tune")->required();
  app.add_option("--target", target)->capture_default_str();
  app.add_option("-o,--out", out, "where the table goes")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(files, target, out);
  } catch (const std::exception& error) {
    fmt::print(stderr, "known_choices: {}\n", error.what());
    return 2;
  }
}
