#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>

namespace weft::ir {
namespace {

struct Spelling {
  std::string_view text;
  int precedence;
};

Spelling spelling(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::add:
      return {"+", 5};
    case BinaryOperator::subtract:
      return {"-", 5};
    case BinaryOperator::multiply:
      return {"*", 6};
    case BinaryOperator::divide:
      return {"/", 6};
    case BinaryOperator::remainder:
      return {"%", 6};
    case BinaryOperator::equal:
      return {"==", 3};
    case BinaryOperator::not_equal:
      return {"!=", 3};
    case BinaryOperator::less:
      return {"<", 4};
    case BinaryOperator::less_equal:
      return {"<=", 4};
    case BinaryOperator::logical_and:
      return {"and", 2};
    case BinaryOperator::logical_or:
      return {"or", 1};
    case BinaryOperator::minimum:
      return {"min", 0};
    case BinaryOperator::maximum:
      return {"max", 0};
    case BinaryOperator::exclusive_or:
      return {"xor", 0};
  }
  return {"?", 0};
}

std::string list(const std::vector<Expr>& exprs);

std::string text(const Expr& expr, int outer) {
  return std::visit(
      overloaded{
          [](const Constant& e) -> std::string {
            if (e.dtype == DType::boolean) return e.integer != 0 ? "true" : "false";
            return is_float(e.dtype) ? fmt::format("{:g}", e.real) : std::to_string(e.integer);
          },
          [](const Variable& e) { return e.name; },
          [](const Load& e) {
            return e.buffer->name + (e.indices.empty() ? "" : "[" + list(e.indices) + "]");
          },
          [](const Unary& e) { return (e.op == UnaryOperator::negate ? "-" : "not ") + text(e.operand, 7); },
          [&](const Binary& e) {
            const auto [name, precedence] = spelling(e.op);
            if (precedence == 0) return fmt::format("{}({}, {})", name, text(e.left, 0), text(e.right, 0));
            const std::string inner =
                fmt::format("{} {} {}", text(e.left, precedence), name, text(e.right, precedence + 1));
            return precedence < outer ? "(" + inner + ")" : inner;
          },
          [](const Select& e) {
            return fmt::format("select({}, {}, {})", text(e.condition, 0), text(e.when_true, 0),
                               text(e.when_false, 0));
          },
          [](const Cast& e) { return fmt::format("{}({})", weft::name_of(e.dtype), text(e.operand, 0)); },
          [](const Call& e) { return fmt::format("{}({})", e.instruction, list(e.arguments)); },
      },
      expr.node().kind());
}

std::string list(const std::vector<Expr>& exprs) {
  std::string result;
  for (const Expr& expr : exprs) result += (result.empty() ? "" : ", ") + text(expr, 0);
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
    const bool mark = !marked_.empty() && name == marked_;
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    result_ += (mark ? ">>" + (depth > 0 ? indent.substr(2) : " ") : indent) + content + "\n";
  }

  void print(const Stmt& stmt, int depth) {
    if (!stmt.defined()) return;
    std::visit([&](const auto& node) { statement(node, depth); }, stmt.node().kind());
  }

  std::string take() { return std::move(result_); }

 private:
  void statement(const For& s, int depth) {
    const std::string kind = s.kind == LoopKind::serial ? "" : fmt::format("  # {}", name_of(s.kind));
    line(depth,
         fmt::format("for {} in {} .. {}{}", s.name, text(s.begin, 0), text(s.begin + s.extent, 0), kind),
         s.name);
    print(s.body, depth + 1);
  }
  void statement(const Store& s, int depth) {
    const std::string place = s.buffer->name + (s.indices.empty() ? "" : "[" + list(s.indices) + "]");
    line(depth, fmt::format("{} {} {}", place, s.accumulate ? "+=" : "=", text(s.value, 0)), s.buffer->name);
  }
  void statement(const Block& s, int depth) {
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
    line(depth, fmt::format("let {} = {}", s.name, text(s.value, 0)));
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
  if (program.roles)
    printer.line(1, fmt::format("roles: {} warps copy ({} registers), the others compute ({})",
                                program.roles->producers, program.roles->producer_registers,
                                program.roles->consumer_registers));
  if (program.cluster)
    printer.line(1, fmt::format("cluster: the {} blocks of {} share copies of {}", program.cluster->blocks,
                                program.cluster->loop, fmt::join(program.cluster->arrays, ", ")));
  if (program.resident_blocks > 0)
    printer.line(1, fmt::format("resident: {} blocks a multiprocessor", program.resident_blocks));
  printer.print(program.body, 1);
  return printer.take();
}

std::string_view name_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "serial";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::block_x:
      return "block_x";
    case LoopKind::block_y:
      return "block_y";
    case LoopKind::block_z:
      return "block_z";
    case LoopKind::warp:
      return "warp";
    case LoopKind::lane:
      return "lane";
    case LoopKind::thread:
      return "thread";
  }
  return "?";
}

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::global:
      return "global memory";
    case Scope::shared:
      return "shared memory";
    case Scope::registers:
      return "registers";
  }
  return "?";
}

}  // namespace weft::ir
