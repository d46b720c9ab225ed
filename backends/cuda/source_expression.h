// Expressions of a program as CUDA C++. For files of this folder.
#pragma once

#include <weft/backends/cuda/source_helpers.h>
#include <weft/backends/cuda/source_text.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/lower.h>

#include <map>
#include <string>
#include <vector>

namespace weft::cuda {

/// How tightly operators bind; an expression inside a tighter one gets parentheses.
enum class Precedence : std::uint8_t {
  lowest,
  conditional,
  logical_or,
  logical_and,
  exclusive_or,
  equality,
  comparison,
  sum,
  product,
  unary,
  postfix,
};

/// Which C++ types an integer expression may have.
enum class Form : std::uint8_t {
  any,       ///< every one: the text is converted where it stands
  narrow,    ///< int or the index type: an operand beside the index type
  exact,     ///< the index type; small constants may be int
  argument,  ///< the index type, constants too: overloads depend on it
};

class Expressions {
 public:
  Expressions(const ThreadProgram& program, Names& names, Helpers& helpers);

  std::string text(const ir::Expr& expr, Precedence around = Precedence::lowest, Form form = Form::exact);
  /// "C[m * N + n]", "sum[2]", or "sum" for a local buffer of one element.
  std::string element(const ir::BufferRef& buffer, const std::vector<ir::Expr>& indices);
  /// "[4][2]" behind the name of a local buffer; nothing for one element.
  std::string local_shape(const ir::Buffer& buffer) const;

  const std::string& name_of(const ir::Variable& variable) {
    return names_.of(Names::Kind::variable, variable.name);
  }
  const std::string& name_of(const std::string& variable) {
    return names_.of(Names::Kind::variable, variable);
  }
  const std::string& name_of(const ir::Buffer& buffer) {
    const auto found = renamed_.find(&buffer);
    return found != renamed_.end() ? found->second : names_.of(Names::Kind::buffer, buffer.name);
  }
  void rename(const ir::Buffer& buffer, const std::string& name) { renamed_[&buffer] = name; }
  /// "int" or "long long".
  std::string index_type() const { return wide_ ? "long long" : "int"; }
  /// What a variable of that type is declared as.
  std::string type_of_value(DType dtype);

  /// The values of integers that are in scope: to know what is never negative.
  ir::Range range_of(const ir::Expr& expr) const;
  void set_range(const std::string& variable, const ir::Range& range) { ranges_[variable] = range; }

  /// While it is set, loads of that place print as `text`.
  struct Replacement {
    ir::BufferRef buffer;
    ir::Expr offset;
    std::string text;
  };
  std::vector<Replacement>& replacements() { return replacements_; }

  /// True once both floating products and floating sums were printed: a compiler could contract them.
  bool can_be_contracted() const { return float_products_ && float_sums_; }
  void note_float_sum() { float_sums_ = true; }

 private:
  struct Printed {
    std::string text;
    Precedence precedence = Precedence::postfix;
  };
  static Printed call(std::string_view function, const std::string& arguments);
  /// Both operands as arguments of a function.
  std::string both(const ir::Binary& e, Form form);
  Printed print(const ir::Expr& expr, Form form);
  Printed of(const ir::Constant& e, Form form);
  Printed of(const ir::Variable& e, Form form);
  Printed of(const ir::Load& e, Form form);
  Printed of(const ir::Unary& e, Form form);
  Printed of(const ir::Binary& e, Form form);
  Printed of(const ir::Select& e, Form form);
  Printed of(const ir::Cast& e, Form form);
  Printed of(const ir::Call& e, Form form);
  Printed floor_quotient(const ir::Binary& e, Form form);
  Printed integer_operation(const ir::Binary& e, Form form);
  Printed float_operation(const ir::Binary& e);
  Printed infix(const ir::Binary& e, Form left, Form right);
  Printed converted(std::string value, DType from, DType to);
  Printed converted_to_integer(std::string value, DType from, DType to);
  std::string as_f32(const ir::Expr& expr);
  std::string narrowed(const std::string& value, DType to);
  bool has_index_type(const ir::Expr& expr) const;
  void define_function(const std::string& instruction);

  const ThreadProgram& program_;
  Names& names_;
  Helpers& helpers_;
  bool wide_;
  ir::Ranges ranges_;
  std::map<const ir::Buffer*, std::string> renamed_;
  std::vector<Replacement> replacements_;
  bool float_products_ = false;
  bool float_sums_ = false;
};

}  // namespace weft::cuda
