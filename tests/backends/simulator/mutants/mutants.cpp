#include "mutants.h"

#include <weft/dsl/errors.h>

#include <algorithm>

#include "mutants_of.h"

namespace weft::mutants {

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = [] {
    std::vector<Mutant> joined;
    for (const auto part :
         {mutants_of_loops(), mutants_of_copies(), mutants_of_warpgroups(), mutants_of_blocks()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

const char* name_of(Change change) {
  switch (change) {
    case Change::barrier: return "barrier";
    case Change::wait: return "wait";
    case Change::fence: return "fence";
    case Change::commit: return "commit";
    case Change::predicate: return "predicate";
    case Change::index: return "index";
    case Change::swizzle: return "swizzle";
    case Change::metadata: return "metadata";
    case Change::atomicity: return "atomicity";
  }
  return "";
}

std::string mutate(const std::string& text, const Mutant& mutant) {
  const std::string from = mutant.from;
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos)
    throw UserError("changing " + std::string(mutant.kernel) + ": " + mutant.name,
                    "'" + from + "' " + (at == std::string::npos ? "nowhere" : "more than once"),
                    "a text that is in the kernel once");
  // A text that ends in a comment takes the rest of the comment along.
  std::size_t end = at + from.size();
  if (from.find("//", from.rfind('\n') + 1) != std::string::npos) end = text.find('\n', end);
  return text.substr(0, at) + mutant.to + text.substr(std::min(end, text.size()));
}

}  // namespace weft::mutants
