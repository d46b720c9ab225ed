// What searches found, for whoever comes with the same problem and other weights: a small table of the
// fastest kernels that were measured.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>
#include <weft/search/records/records.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The fastest kernel of a search, and the problem.
struct KnownChoice {
  Record::Problem problem;  ///< sum_of() it
  std::string structure;    ///< structure_of() the weights
  double density = 0;       ///< entries over elements
  Format format;
  std::string recipe;
  KnobValues point;  ///< empty: as the recipe chooses
  double microseconds = 0;
  std::optional<Baseline> dense;  ///< a library's product, where the search timed one
};

/// Of one target.
struct KnownChoices {
  std::string target;  ///< whose kernels were measured: "sm_90a"
  std::vector<KnownChoice> choices;

  /// The one of the same sum and structure whose density is nearest, within a twentieth; null where there is
  /// none.
  const KnownChoice* find(const Record::Problem& problem, std::string_view structure, double density) const;
};

/// The problem without what follows its sum, bias and activation, which cost little and choose nothing.
Record::Problem sum_of(Record::Problem problem);

/// The first of the formats that holds a pattern, "shfl_bw:V=64", or "csr": what weights have in common that
/// the same kernels are fast for.
std::string structure_of(std::span<const Format> formats);

/// The fastest right kernel of each problem, structure and density of which at least three were measured on a
/// device of the target, unless that is the default schedule. Where a search was of one format, what it found
/// may be far from the best.
KnownChoices known_choices_of(std::span<const Record> records, const std::string& target);

/// One JSON document, a choice a line, and what it says. UserError that names `origin` and the place in it
/// where it is none.
std::string json_of(const KnownChoices& known);
KnownChoices known_choices_of_json(std::string_view json, const std::string& origin);

/// Of sm_90a, from searches of an H200: what
///     known_choices h200_full_search.jsonl h200_drawn_search.jsonl h200_short_search.jsonl
///         h200_narrow_tiles.jsonl h200_drawn_search_2.jsonl
///         h200_image_search.jsonl h200_rows_as_they_lie.jsonl -o search/choice/sm_90a_known.json
/// of tests/bench writes of the files in docs/data, the last one without column_quads (grep -v), which stood
/// alone there: other formats may hold such weights better. Read once.
const KnownChoices& shipped_choices();

}  // namespace weft
