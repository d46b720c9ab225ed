// weft model: a whole network.
#include <weft/search/tool/flags.h>
#include <weft/search/tool/model.h>

namespace weft::tool {

void add_model(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("model", "a whole network: its layers, a verdict for each, a package");
  verb->require_subcommand(1);
  verb->footer(
      "Examples: weft model inspect llama-pruned\n"
      "          weft model tune llama-pruned --n 1,8,512 --budget 5m\n"
      "          weft model export llama-pruned --n 1,8,512 --db weftdb.jsonl -o pkg");
  add_model_inspect(*verb, action);
  add_model_tune(*verb, action);
  add_model_export(*verb, action);
  add_model_demo(*verb, action);
}

}  // namespace weft::tool
