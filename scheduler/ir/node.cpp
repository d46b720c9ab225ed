#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/node.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <ranges>

namespace weft::ir {
namespace {

template <class Kind>
Expr make(Kind kind) {
  return Expr(std::make_shared<const ExprNode>(std::move(kind)));
}

template <class Kind>
Stmt make_stmt(Kind kind) {
  return Stmt(std::make_shared<const StmtNode>(std::move(kind)));
}

bool is_comparison(BinaryOperator op) {
  return op >= BinaryOperator::equal;
}

}  // namespace

Expr::Expr(std::int64_t value) : Expr(integer(value)) {}

// Texts of complaints are made when there is something to complain of: making one takes longer than a node.
DType Expr::dtype() const {
  if (!defined()) internal_check(false, "the type of an undefined expression was asked for");
  return std::visit(
      overloaded{
          [](const Constant& e) { return e.dtype; },
          [](const Variable& e) { return e.dtype; },
          [](const Load& e) { return is_float(e.buffer->dtype) ? e.buffer->dtype : DType::i64; },
          [](const Unary& e) { return e.operand.dtype(); },
          [](const Binary& e) { return is_comparison(e.op) ? DType::boolean : e.left.dtype(); },
          [](const Select& e) { return e.when_true.dtype(); },
          [](const Cast& e) { return e.dtype; },
          [](const Call& e) { return e.dtype; },
      },
      node().kind());
}

Expr constant(DType dtype, double value) {
  if (!is_float(dtype)) internal_check(false, "a floating constant of an integer type");
  return make(Constant{dtype, 0, value});
}
Expr integer(std::int64_t value) {
  return make(Constant{DType::i64, value, 0});
}
Expr zero_of(DType dtype) {
  return is_float(dtype) ? constant(dtype, 0) : integer(0);
}
Expr boolean(bool value) {
  return make(Constant{DType::boolean, value ? 1 : 0, 0});
}
Expr variable(std::string name, DType dtype) {
  return make(Variable{std::move(name), dtype});
}

Expr load(BufferRef buffer, std::vector<Expr> indices) {
  if (indices.size() != buffer->shape.size())
    internal_check(false, "a load of " + buffer->name + " with the wrong rank");
  return make(Load{std::move(buffer), std::move(indices)});
}

Expr unary(UnaryOperator op, Expr operand) {
  if (const std::int64_t* value = integer_value(operand))
    return op == UnaryOperator::negate ? integer(-*value) : boolean(*value == 0);
  return make(Unary{op, std::move(operand)});
}

Expr binary(BinaryOperator op, Expr left, Expr right) {
  if (left.dtype() != right.dtype())
    internal_check(false, "operands of different types: " + std::string(name_of(left.dtype())) + " and " +
                              std::string(name_of(right.dtype())));
  if (Expr folded = fold(op, left, right); folded.defined()) return folded;
  return make(Binary{op, std::move(left), std::move(right)});
}

Expr select(Expr condition, Expr when_true, Expr when_false) {
  if (const std::int64_t* value = integer_value(condition)) return *value != 0 ? when_true : when_false;
  return make(Select{std::move(condition), std::move(when_true), std::move(when_false)});
}

Expr cast(DType dtype, Expr operand) {
  if (operand.dtype() == dtype) return operand;
  return make(Cast{dtype, std::move(operand)});
}

Expr call(std::string instruction, DType dtype, std::vector<Expr> arguments) {
  return make(Call{std::move(instruction), dtype, std::move(arguments)});
}

Expr equal(Expr a, Expr b) {
  return binary(BinaryOperator::equal, std::move(a), std::move(b));
}
Expr minimum(Expr a, Expr b) {
  return binary(BinaryOperator::minimum, std::move(a), std::move(b));
}
Expr maximum(Expr a, Expr b) {
  return binary(BinaryOperator::maximum, std::move(a), std::move(b));
}
Expr exclusive_or(Expr a, Expr b) {
  return binary(BinaryOperator::exclusive_or, std::move(a), std::move(b));
}
Expr ceil_divide(const Expr& a, const Expr& b) {
  return (a + (b - 1)) / b;
}

const Binary* as_binary(const Expr& expr, BinaryOperator op) {
  const auto* node = expr.as<Binary>();
  return node != nullptr && node->op == op ? node : nullptr;
}

const std::int64_t* integer_value(const Expr& expr) {
  const auto* node = expr.as<Constant>();
  return node != nullptr && !is_float(node->dtype) ? &node->integer : nullptr;
}

Stmt for_loop(For loop) {
  if (!loop.body.defined()) return {};
  return make_stmt(std::move(loop));
}

Stmt for_loop(For loop, Stmt body) {
  loop.body = std::move(body);
  return for_loop(std::move(loop));
}

Stmt for_range(const Expr& variable, Expr extent, LoopKind kind, int step, Stmt body, LoopRole role,
               std::string tile) {
  return for_loop({variable.as<Variable>()->name, integer(0), std::move(extent), kind, step, std::move(body),
                   role, std::move(tile)});
}

Stmt for_loops(const std::vector<For>& loops, Stmt body) {
  for (const For& loop : std::views::reverse(loops)) body = for_loop(loop, std::move(body));
  return body;
}

Stmt store(BufferRef buffer, std::vector<Expr> indices, Expr value, bool accumulate) {
  if (indices.size() != buffer->shape.size())
    internal_check(false, "a store to " + buffer->name + " with the wrong rank");
  return make_stmt(Store{std::move(buffer), std::move(indices), std::move(value), accumulate});
}

Stmt block(std::vector<Stmt> statements) {
  std::vector<Stmt> flat;
  for (Stmt& statement : statements) {
    if (!statement.defined()) continue;
    if (const auto* inner = statement.as<Sequence>())
      flat.insert(flat.end(), inner->statements.begin(), inner->statements.end());
    else
      flat.push_back(std::move(statement));
  }
  if (flat.empty()) return {};
  if (flat.size() == 1) return flat.front();
  return make_stmt(Sequence{std::move(flat)});
}

Stmt if_then(Expr condition, Stmt then, Stmt otherwise) {
  if (const std::int64_t* value = integer_value(condition)) return *value != 0 ? then : otherwise;
  if (!then.defined() && !otherwise.defined()) return {};
  return make_stmt(If{std::move(condition), std::move(then), std::move(otherwise)});
}

Stmt if_all(const std::vector<Expr>& conditions, Stmt then) {
  for (const Expr& condition : std::views::reverse(conditions)) then = if_then(condition, std::move(then));
  return then;
}

Stmt allocate(BufferRef buffer, Stmt body) {
  if (!body.defined()) return {};
  return make_stmt(Allocate{std::move(buffer), std::move(body)});
}

Stmt let(std::string name, Expr value, Stmt body) {
  if (!body.defined()) return {};
  return make_stmt(Let{std::move(name), std::move(value), std::move(body)});
}

Stmt copy(Copy copy) {
  return make_stmt(std::move(copy));
}
Stmt barrier() {
  return make_stmt(Barrier{});
}
Stmt commit_copies() {
  return make_stmt(CopyGroup{});
}
Stmt wait_for_copies(int pending) {
  return make_stmt(CopyGroup{pending});
}
Stmt tensor_operation(TensorOperation operation) {
  if (!operation.meaning.defined()) return {};
  return make_stmt(std::move(operation));
}
Stmt execute(Execute execute) {
  return make_stmt(std::move(execute));
}
Stmt execute(std::string instruction, std::vector<Expr> arguments) {
  return make_stmt(Execute{std::move(instruction), {}, {}, std::move(arguments)});
}

Stmt sparse_product(SparseProduct product) {
  return make_stmt(std::move(product));
}

Expr build(ExprNode node) {
  return std::visit(overloaded{
                        [](Load& e) { return load(std::move(e.buffer), std::move(e.indices)); },
                        [](Unary& e) { return unary(e.op, std::move(e.operand)); },
                        [](Binary& e) { return binary(e.op, std::move(e.left), std::move(e.right)); },
                        [](Select& e) {
                          return select(std::move(e.condition), std::move(e.when_true),
                                        std::move(e.when_false));
                        },
                        [](Cast& e) { return cast(e.dtype, std::move(e.operand)); },
                        [](auto& e) { return make(std::move(e)); },
                    },
                    static_cast<ExprNode::variant&>(node));
}

Stmt build(StmtNode node) {
  return std::visit(
      overloaded{
          [](For& s) { return for_loop(std::move(s)); },
          [](Store& s) {
            return store(std::move(s.buffer), std::move(s.indices), std::move(s.value), s.accumulate);
          },
          [](Sequence& s) { return block(std::move(s.statements)); },
          [](If& s) { return if_then(std::move(s.condition), std::move(s.then), std::move(s.otherwise)); },
          [](Allocate& s) { return allocate(std::move(s.buffer), std::move(s.body)); },
          [](Let& s) { return let(std::move(s.name), std::move(s.value), std::move(s.body)); },
          [](TensorOperation& s) { return tensor_operation(std::move(s)); },
          [](auto& s) { return make_stmt(std::move(s)); },
      },
      static_cast<StmtNode::variant&>(node));
}

BufferRef make_buffer(std::string name, DType dtype, Scope scope, Access access, std::vector<Expr> shape,
                      bool non_negative) {
  auto buffer = std::make_shared<Buffer>();
  buffer->name = std::move(name);
  buffer->dtype = dtype;
  buffer->scope = scope;
  buffer->access = access;
  buffer->non_negative = non_negative;
  buffer->strides.resize(shape.size());
  Expr stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    buffer->strides[i] = stride;
    stride = stride * shape[i];
  }
  buffer->shape = std::move(shape);
  return buffer;
}

std::shared_ptr<Buffer> make_tile(std::string name, const Buffer& source, Scope scope,
                                  std::vector<Expr> shape) {
  auto tile = std::make_shared<Buffer>(*make_buffer(std::move(name), source.dtype, scope, Access::read_write,
                                                    std::move(shape), source.non_negative));
  tile->tensor = source.tensor;
  return tile;
}

Expr offset_of(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr offset = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) offset = offset + indices[i] * buffer.strides[i];
  return offset;
}

std::int64_t element_bytes(const Buffer& buffer) {
  return static_cast<std::int64_t>(size_of(buffer.dtype));
}

std::int64_t chunk_of(const Buffer& buffer) {
  constexpr std::int64_t bytes_of_chunk = 16;
  return bytes_of_chunk / element_bytes(buffer);
}

Expr swizzled(const Buffer& buffer, const Expr& offset) {
  if (buffer.swizzle == 0) return offset;
  constexpr std::int64_t chunks_of_line = 8;
  const std::int64_t chunk = chunk_of(buffer);
  const Expr line = offset / (chunks_of_line * chunk);
  return exclusive_or(offset, line % (std::int64_t{1} << buffer.swizzle) * chunk);
}

bool streams_results(const Program& program) {
  return std::ranges::any_of(program.buffers, [](const BufferRef& buffer) { return buffer->streams; });
}

bool is_awaited(const Program& program, const Buffer& buffer) {
  return program.overlap && (buffer.tensor != program.overlap->tensor || buffer.access != Access::read);
}

bool changes_meanwhile(const Program& program, const Buffer& buffer) {
  return buffer.between_blocks || is_awaited(program, buffer);
}

}  // namespace weft::ir
