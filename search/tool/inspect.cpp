// weft inspect: the structure of a weight file.
#include <fmt/format.h>
#include <weft/formats/io/read.h>
#include <weft/formats/statistics.h>
#include <weft/search/tool/verbs.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace weft::tool {

void add_inspect(CLI::App& app, Action& action) {
  struct Options {
    std::string file;
    std::string tensor;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("inspect", "print the structure of a weight file");
  verb->footer("Example: weft inspect layer.safetensors --tensor model.fc1.weight");
  verb->add_option("file", options->file, ".smtx .mtx .npy .npz .safetensors")->required();
  verb->add_option("--tensor", options->tensor, "which tensor of the file");
  verb->add_flag("--json", options->json, "one JSON document");
  verb->callback([options, &action] {
    action = [options] {
      ReadOptions read_options;
      read_options.tensor = options->tensor;
      const WeightMatrix matrix = read(options->file, read_options);
      const Statistics found = statistics(matrix);
      fmt::print("{}", options->json ? json_text(found) + "\n" : matrix.origin + "\n" + report(found));
      return exit_ok;
    };
  });
}

}  // namespace weft::tool
