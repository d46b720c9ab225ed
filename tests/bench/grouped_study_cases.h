// The products of the study of row groups and of weights that keep two of four (grouped_study.cpp).
#pragma once

#include <weft/search/measure/suite.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Which weights a product has, as far as one kernel serves them all: groups of V rows that keep the same
/// columns, or two of four.
struct StudyKind {
  std::int64_t group_rows = 0;              ///< V of row groups
  std::optional<PairPattern> pattern = {};  ///< or this
  /// Columns of weights with a pattern, whose packing knows them; 0: any.
  std::int64_t depth = 0;

  std::string text() const;  ///< "V=64", "64:2:16", "64:2:16 of 1024"
  StudyKind of_any_depth() const { return {group_rows, pattern, 0}; }
  const char* recipe() const;
  Format format() const;
  auto operator<=>(const StudyKind& other) const { return text() <=> other.text(); }
  bool operator==(const StudyKind&) const = default;
};

/// Of a text as StudyKind::text(), of any depth; UserError for another.
StudyKind study_kind_named(const std::string& text);
StudyKind kind_of(const SuiteCase& one);

struct StudyCases {
  std::vector<std::string> kinds{"V=32", "V=64", "V=128"};
  /// K of weights with a pattern, for each of which kernels are compiled.
  std::vector<std::int64_t> depths{512, 1024, 2048, 4096};
  std::size_t drawn = 210;      ///< products of sizes, densities and kinds by chance
  std::int64_t largest = 4096;  ///< M, K and N of these
  std::string suite;            ///< a file with V or patterns, whose layers come beside them; empty: none
  std::size_t of_suite = 60;
  std::uint64_t seed = 1;
};

/// M, K and N in powers of two and between, of row groups densities of 0.05 to 0.5; several widths for each
/// matrix, so that matrices can be left out. Layers of the suite likewise: every width of matrices by chance,
/// of these kinds. In any order, so that the first ones are a sample of all. Errors as read_suite.
std::vector<SuiteCase> study_cases(const StudyCases& options);

/// A small one, whose kernels serve all of its kind.
SuiteCase example_of(const StudyKind& kind);

}  // namespace weft
