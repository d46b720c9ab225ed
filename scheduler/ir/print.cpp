#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/ir/operand_copy.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>

#include <array>
#include <iterator>
#include <utility>

namespace weft::ir {
namespace {

struct Spelling {
  std::string_view text;
  int precedence;
};

/// In the order of BinaryOperator.
constexpr std::array<Spelling, 14> spellings{{{"+", 5},
                                              {"-", 5},
                                              {"*", 6},
                                              {"/", 6},
                                              {"%", 6},
                                              {"min", 0},
                                              {"max", 0},
                                              {"xor", 0},
                                              {"==", 3},
                                              {"!=", 3},
                                              {"<", 4},
                                              {"<=", 4},
                                              {"and", 2},
                                              {"or", 1}}};

/// Expressions written at the end of a text: of a written-out program there are millions.
class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}

  void list(const std::vector<Expr>& exprs) {
    for (std::size_t i = 0; i < exprs.size(); ++i) {
      if (i > 0) text_ += ", ";
      (*this)(exprs[i], 0);
    }
  }

  /// In parentheses where an operator of lower precedence than `outer` holds the expression together.
  void operator()(const Expr& expr, int outer) {
    std::visit([&](const auto& node) { write(node, outer); }, expr.node().kind());
  }

 private:
  template <class... Parts>
  void format(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
  }

  void write(const Constant& e, int) {
    if (e.dtype == DType::boolean) {
      text_ += e.integer != 0 ? "true" : "false";
    } else if (is_float(e.dtype)) {
      format("{:g}", e.real);
    } else {
      format("{}", e.integer);
    }
  }
  void write(const Variable& e, int) { text_ += e.name; }
  void write(const Load& e, int) {
    text_ += e.buffer->name;
    if (e.indices.empty()) return;
    text_ += "[";
    list(e.indices);
    text_ += "]";
  }
  void write(const Unary& e, int) {
    text_ += e.op == UnaryOperator::negate ? "-" : "not ";
    (*this)(e.operand, 7);
  }
  void write(const Binary& e, int outer) {
    const auto [name, precedence] = spellings[static_cast<std::size_t>(e.op)];
    if (precedence == 0) return call(name, {e.left, e.right});
    const bool parentheses = precedence < outer;
    if (parentheses) text_ += "(";
    (*this)(e.left, precedence);
    format(" {} ", name);
    (*this)(e.right, precedence + 1);
    if (parentheses) text_ += ")";
  }
  void write(const Select& e, int) { call("select", {e.condition, e.when_true, e.when_false}); }
  void write(const Cast& e, int) { call(weft::name_of(e.dtype), {e.operand}); }
  void write(const Call& e, int) { call(e.instruction, e.arguments); }

  void call(std::string_view name, const std::vector<Expr>& arguments) {
    text_ += name;
    text_ += "(";
    list(arguments);
    text_ += ")";
  }

  std::string& text_;
};

std::string text(const Expr& expr, int outer) {
  std::string result;
  Writer{result}(expr, outer);
  return result;
}

std::string list(const std::vector<Expr>& exprs) {
  std::string result;
  Writer(result).list(exprs);
  return result;
}

std::string region(const BufferRef& buffer, const std::vector<Expr>& begin,
                   const std::vector<Expr>& extents) {
  std::string result = buffer->name + "[";
  // The number of the buffer, of several, has no extent.
  const std::size_t leading = begin.size() - extents.size();
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const Expr extent = i < leading ? integer(1) : extents[i - leading];
    const std::int64_t* size = integer_value(extent);
    result += (i == 0 ? "" : ", ") + text(begin[i], 0);
    if (size == nullptr || *size != 1) result += " ..+" + text(extent, 0);
  }
  return result + "]";
}

std::string declaration(const Buffer& buffer) {
  const std::string order = buffer.swizzle == 0 ? "" : fmt::format(" swizzled {}", 16 << buffer.swizzle);
  return fmt::format("{}: {}[{}]{}", buffer.name, weft::name_of(buffer.dtype), list(buffer.shape), order);
}

/// "0, 4, 9, 15, 20, …, 64"
std::string shortly(const std::vector<std::int32_t>& numbers) {
  constexpr std::size_t shown = 5;
  if (numbers.size() <= shown + 2) return fmt::format("{}", fmt::join(numbers, ", "));
  return fmt::format("{}, …, {}", fmt::join(numbers.begin(), numbers.begin() + shown, ", "), numbers.back());
}

class Printer {
 public:
  explicit Printer(std::string marked) : marked_(std::move(marked)) {}

  void line(int depth, const std::string& content, const std::string& name = {}) {
    begin(depth, name);
    result_ += content;
    result_ += '\n';
  }

  void print(const Stmt& stmt, int depth) {
    if (!stmt.defined()) return;
    std::visit([&](const auto& node) { statement(node, depth); }, stmt.node().kind());
  }

  std::string take() { return std::move(result_); }

 private:
  void begin(int depth, const std::string& name) {
    const auto indent = static_cast<std::size_t>(2 * depth);
    if (marked_.empty() || name != marked_) {
      result_.append(indent, ' ');
    } else {
      result_ += ">>";
      result_.append(depth > 0 ? indent - 2 : 1, ' ');
    }
  }

  void statement(const For& s, int depth) {
    const std::string kind = s.kind == LoopKind::serial ? "" : fmt::format("  # {}", name_of(s.kind));
    line(depth,
         fmt::format("for {} in {} .. {}{}", s.name, text(s.begin, 0), text(s.begin + s.extent, 0), kind),
         s.name);
    print(s.body, depth + 1);
  }
  void statement(const Store& s, int depth) {
    begin(depth, s.buffer->name);
    result_ += s.buffer->name;
    Writer write(result_);
    if (!s.indices.empty()) {
      result_ += "[";
      write.list(s.indices);
      result_ += "]";
    }
    result_ += s.accumulate ? " += " : " = ";
    write(s.value, 0);
    result_ += '\n';
  }
  void statement(const Sequence& s, int depth) {
    for (const Stmt& child : s.statements) print(child, depth);
  }
  void statement(const If& s, int depth) {
    line(depth, "if " + text(s.condition, 0));
    print(s.then, depth + 1);
    if (!s.otherwise.defined()) return;
    line(depth, "else");
    print(s.otherwise, depth + 1);
  }
  void statement(const Allocate& s, int depth) {
    line(depth, fmt::format("allocate {} in {}", declaration(*s.buffer), name_of(s.buffer->scope)),
         s.buffer->name);
    print(s.body, depth);
  }
  void statement(const Let& s, int depth) {
    begin(depth, {});
    result_ += "let ";
    result_ += s.name;
    result_ += " = ";
    Writer{result_}(s.value, 0);
    result_ += '\n';
    print(s.body, depth);
  }
  void statement(const TensorOperation& s, int depth) {
    line(depth, fmt::format("{} {}:", s.pending < 0 ? "wait for" : "by", s.instruction));
    print(s.meaning, depth + 1);
  }
  static std::string ranges(const std::vector<RegisterRange>& list_of_them) {
    std::string result;
    for (const RegisterRange& range : list_of_them)
      result += fmt::format("{}{}[{} ..+{}]", result.empty() ? "" : ", ", range.buffer->name,
                            list(range.indices), range.count);
    return result;
  }
  void statement(const Execute& s, int depth) {
    std::string operands = ranges(s.inputs);
    for (const Expr& argument : s.arguments) operands += (operands.empty() ? "" : ", ") + text(argument, 0);
    line(depth, fmt::format("{}{}{}({})", ranges(s.results), s.results.empty() ? "" : " = ", s.instruction,
                            operands));
  }
  void statement(const Copy& s, int depth) {
    if (!s.coordinates.empty()) {
      std::string places;
      for (std::size_t i = 0; i < s.coordinates.size(); ++i)
        places += fmt::format("{}{} < {}", i == 0 ? "" : ", ", s.coordinates[i], text(s.extents[i], 0));
      return line(depth,
                  fmt::format("gather {}[{}] -> {}[{}] for {}{}{}", s.source->name, list(s.source_begin),
                              s.destination->name, list(s.destination_begin), places,
                              s.inside.defined() ? " where " + text(s.inside, 0) : "",
                              s.asynchronous ? "  # asynchronous" : ""),
                  s.destination->name);
    }
    line(depth,
         fmt::format("copy {} -> {}{}{}", region(s.source, s.source_begin, s.extents),
                     region(s.destination, s.destination_begin, s.extents),
                     s.inside.defined() ? " where " + text(s.inside, 0) : "",
                     s.asynchronous ? "  # asynchronous" : ""),
         s.destination->name);
  }
  void statement(const SparseProduct& s, int depth) {
    const EntryTable& table = *s.table;
    line(depth,
         fmt::format("{}[{}] += value * {}[{}]  # {} entries of {} columns", s.sums->name, list(s.of_sums),
                     s.dense->name, list(s.of_dense), table.entries().size(), table.columns()),
         s.sums->name);
  }
  void statement(const CopyGroup& s, int depth) {
    line(depth,
         s.pending < 0 ? "end group of copies" : fmt::format("wait for groups of copies but {}", s.pending));
  }
  void statement(const Barrier&, int depth) { line(depth, "barrier"); }

  std::string marked_;
  std::string result_;
};

}  // namespace

std::string print(const Expr& expr) {
  return expr.defined() ? text(expr, 0) : "?";
}

std::string print(const Stmt& stmt) {
  Printer printer({});
  printer.print(stmt, 0);
  return printer.take();
}

std::string print(const Program& program, const std::string& marked) {
  Printer printer(marked);
  std::string arguments;
  const auto add = [&](const std::string& argument) {
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  for (const BufferRef& buffer : program.buffers) add(declaration(*buffer));
  for (const Variable& scalar : program.scalars)
    add(scalar.name + ": " + std::string(weft::name_of(scalar.dtype)));
  for (const Variable& extent : program.extents) add(extent.name + ": size");
  printer.line(0, fmt::format("program {}({})", program.name, arguments));
  for (const Knob& knob : program.knobs)
    printer.line(1, fmt::format("knob {} in {{{}}}", knob.name, fmt::join(knob.values, ", ")));
  for (const BufferRef& workspace : program.workspaces)
    printer.line(1, "workspace " + declaration(*workspace));
  for (const ConstantBuffer& constant : program.constants)
    printer.line(1,
                 fmt::format("constant {} = {}", declaration(*constant.buffer), shortly(constant.numbers)));
  for (const OperandCopy& each : program.copied)
    printer.line(1, fmt::format("{} {} it: {}", name_of(each.order), each.is_output ? "behind" : "ahead of",
                                declaration(*each.given)));
  if (program.roles)
    printer.line(1, fmt::format("roles: {} warps copy ({} registers), the others compute ({})",
                                program.roles->producers, program.roles->producer_registers,
                                program.roles->consumer_registers));
  if (program.cluster)
    printer.line(1, fmt::format("cluster: the {} blocks of {} share copies of {}", program.cluster->blocks,
                                program.cluster->loop, fmt::join(program.cluster->arrays, ", ")));
  if (program.resident_blocks > 0)
    printer.line(1, fmt::format("resident: {} blocks a multiprocessor", program.resident_blocks));
  if (streams_results(program)) printer.line(1, "results stream");
  if (program.overlap)
    printer.line(1, fmt::format("overlap: begins before the launch in front has ended, and waits for that "
                                "before it touches anything but {}",
                                program.overlap->tensor));
  printer.print(program.body, 1);
  return printer.take();
}

std::string_view name_of(LoopKind kind) {
  constexpr std::array<std::string_view, 10> names{"serial",  "unrolled", "vectorized", "parallel", "block_x",
                                                   "block_y", "block_z",  "warp",       "lane",     "thread"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Scope scope) {
  constexpr std::array<std::string_view, 3> names{"global memory", "shared memory", "registers"};
  return names[static_cast<std::size_t>(scope)];
}

}  // namespace weft::ir
