// What mma and wgmma have in common in their modifiers.
#pragma once

#include <weft/backends/simulator/execute/matrix_fragments.h>

#include <optional>
#include <string_view>
#include <vector>

namespace weft::simulator::matrix {

/// The modifiers of a matrix instruction.
struct Modifiers {
  int rows = 0, columns = 0, inner = 0;  ///< mMnNkK
  bool is_sparse = false;
  bool is_ordered = false;
  bool saturates = false;
  bool is_row_by_column = false;        ///< .row.col
  std::vector<std::string_view> types;  ///< in order
};

/// Reads them; nothing for a word that is none of theirs.
std::optional<Modifiers> read_modifiers(const ptx::Instruction& instruction);
std::optional<Element> element_of(std::string_view type);
std::optional<Sum> sum_of(std::string_view type);
/// Whether two types multiply: the same, or two integers, or two 8-bit floating ones.
bool can_multiply(Element a, Element b);

}  // namespace weft::simulator::matrix
