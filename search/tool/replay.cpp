// weft replay: the kernel of a record, made again.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/verify.h>
#include <weft/search/records/record_file.h>
#include <weft/search/records/words.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/measure.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/tuning.h>

#include <algorithm>
#include <filesystem>

namespace weft::tool {
namespace {

struct ReplayVerb {
  std::string place;
  std::string weights;
  std::string out;
  std::string device;
};

/// What names a record of the file, as far as there is one.
std::string named_in(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return "db.jsonl:17";
  const RecordFile file(path, RecordFile::Mode::read);
  if (file.records().empty()) return "a database with records, as in db.jsonl:17";
  const std::size_t first = file.records().front().line, last = file.records().back().line;
  return fmt::format("{}:{}", path, first) + (first == last ? "" : fmt::format(" to {}:{}", path, last));
}

/// "db.jsonl:17", a line of a file.
Record record_at(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const auto line = colon == std::string::npos
                        ? std::nullopt
                        : read_number<std::size_t>(std::string_view(place).substr(colon + 1));
  if (!line || *line == 0)
    throw UserError("a record is named by its file and line", "weft replay", place,
                    named_in(place.substr(0, colon)));
  const RecordFile file(place.substr(0, colon), RecordFile::Mode::read);
  const auto found = std::ranges::find(file.records(), *line, &StoredRecord::line);
  if (found != file.records().end()) return found->record;
  throw UserError("there is no record on that line", place, fmt::format("{} records", file.records().size()),
                  file.records().empty() ? "a database with records"
                                         : fmt::format("lines {} to {}", file.records().front().line,
                                                       file.records().back().line));
}

Schedule schedule_of_record(const Record& record, const TrialProblem& problem) {
  const std::string hash = hash_of_pattern(*problem.what.matrix);
  if (hash != record.pattern.hash)
    throw UserError("the weights are not those of the record", problem.what.matrix->origin,
                    fmt::format("{} of {} x {} weights stored, {}", problem.what.matrix->stored(),
                                problem.what.matrix->rows, problem.what.matrix->columns, hash),
                    fmt::format("--weights with those that were tuned: {} stored, {}", record.pattern.stored,
                                record.pattern.hash));
  const Target& target = target_named(record.target.name);
  Schedule schedule = space_of(record.recipe, problem.what, target).schedule(record.config);
  if (!record.kernel_hash.empty() && hash_of(schedule.json()) != record.kernel_hash)
    fmt::print(stderr, "note: the recipe {} has changed since: its steps are others than those measured\n",
               record.recipe);
  return schedule;
}

int run(const ReplayVerb& options) {
  const Record record = record_at(options.place);
  if (record.source.empty())
    throw UserError("a record does not say how its problem was made", options.place, "no \"source\"",
                    "a record that weft tune wrote, which names its weights, sizes and types");
  ProblemOptions source = options_of_source(record.source);
  if (!options.weights.empty()) source.weights = options.weights;
  TrialProblem problem = make_trial_problem(source);
  const Kernel kernel = compile(schedule_of_record(record, problem));
  fmt::print("{}\n", text_of_config(record));
  if (const auto& us = record.microseconds)
    fmt::print("recorded: {} {}, {:.4g} us by {}\n", record.time, name_of(record.status), us->median,
               record.measure);
  else
    fmt::print("recorded: {} {} {}\n", record.time, name_of(record.status), record.message);
  fmt::print("{}", kernel.explain());
  if (!options.out.empty())
    for (const std::string& file : of_option("--out", [&] { return kernel.write_to(options.out); }))
      fmt::print("{}/{}\n", options.out, file);
  if (options.device.empty()) return exit_ok;
  const Device device = named_device(options.device);
  const Verification verification = verify(kernel, device, problem.arguments());
  fmt::print("{}\n", verification.text());
  if (!verification.passed) return exit_mismatch;
  const Timing timing = time_kernel(device, kernel.bind(device, problem.arguments()));
  fmt::print("now: {:.4g} us on {}\n", timing.median, device.description().model);
  return exit_ok;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  const auto [verb, options] =
      new_verb<ReplayVerb>(app, action, "replay", "make the kernel of a recorded trial again",
                           "Example: weft replay weftdb.jsonl:17 -o kernel17 --device cuda", run);
  add_option(verb, "record", options.place, "file and line: db.jsonl:17")->required();
  begin_group(verb, "Problem");
  add_option(verb, "--weights", options.weights, "where the record's weights lie now");
  begin_group(verb, "Device");
  add_option(verb, "--device", options.device, "verify and time it: cpu, cuda, sim:sm_90a");
  begin_group(verb, "Output");
  add_option(verb, "-o,--out", options.out, "write program, PTX, source and resources into this folder");
}

}  // namespace weft::tool
