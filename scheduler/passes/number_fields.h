// Several places from one number of the weights, taken apart once.
#pragma once

#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>

#include <string>
#include <vector>

namespace weft::passes {

/// A convolution gathers by a number that stands for channel, line and column of the filter: its quotients
/// and remainders. Each lane that copies would divide for each row; so the lane that loads a number divides,
/// and puts what comes out into fields of bits of one word, which the others shift and mask. The lowest bit
/// says that the number is no mark of padding.
class NumberFields {
 public:
  /// Without fields where no division is of `data` alone, or one word cannot hold what they come to.
  NumberFields() = default;
  NumberFields(const ir::Copy& copy, const ir::Expr& data);

  bool empty() const { return fields_.empty(); }
  /// The expression in terms of one variable a field.
  ir::Expr named(const ir::Expr& expr) const;
  /// What the variables can be.
  ir::Ranges ranges() const;
  /// The word of a number; of a mark of padding, 0.
  ir::Expr word(const ir::Expr& number) const;
  /// The variables, of a word that cannot be negative.
  ir::Substitution of_word(const ir::Expr& word) const;

 private:
  struct Field {
    ir::Expr part;  ///< of data
    std::string name;
    std::int64_t largest = 0;
    std::int64_t place = 1;  ///< the power of two that it is multiplied with
  };

  ir::Expr data_;
  std::vector<Field> fields_;  ///< the lowest first; the first says what is no padding
};

}  // namespace weft::passes
