// The only IR: one tree of expressions and statements, immutable and shared. Two levels live in it: tile
// level (copies, bound loops) and thread level (what the back ends print). The list of kinds is the two
// variants at the end of the two halves of this file.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/scheduler/ir/buffer.h>
#include <weft/scheduler/ir/entry_table.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace weft::ir {

struct ExprNode;

/// A value. Integer arithmetic is i64 and exact; floating arithmetic is in the type of its operands, which
/// must agree. Comparisons and logic give `boolean`. Every operand is evaluated (no short circuit), save the
/// branches of Select, of which only one may touch memory.
class Expr {
 public:
  Expr() = default;
  Expr(std::int64_t value);  ///< an i64 constant
  Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  bool defined() const { return node_ != nullptr; }
  const ExprNode& node() const { return *node_; }
  const ExprNode* identity() const { return node_.get(); }
  DType dtype() const;

  /// The node if it is of kind T, else null.
  template <class T>
  const T* as() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

/// A number. Integers and booleans in `integer`, floating types in `real`.
struct Constant {
  DType dtype = DType::i64;
  std::int64_t integer = 0;
  double real = 0;
};

/// A loop index, an extent known only at launch ("N"), a scalar argument ("alpha"), a knob, or a Let. Names
/// are unique in a program, so equal names are equal variables.
struct Variable {
  std::string name;
  DType dtype = DType::i64;
};

/// An element of a buffer.
struct Load {
  BufferRef buffer;
  std::vector<Expr> indices;
};

enum class UnaryOperator : std::uint8_t { negate, logical_not };
struct Unary {
  UnaryOperator op;
  Expr operand;
};

/// Division and remainder of integers round towards minus infinity, and the divisor is positive. Division of
/// floating types is IEEE's, rounded to nearest; they have no remainder.
enum class BinaryOperator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  minimum,
  maximum,
  exclusive_or,  ///< bit by bit, integers alone
  equal,
  not_equal,
  less,
  less_equal,
  logical_and,
  logical_or,
};
struct Binary {
  BinaryOperator op;
  Expr left;
  Expr right;
};

struct Select {
  Expr condition;
  Expr when_true;
  Expr when_false;
};

/// Conversion, rounded to nearest.
struct Cast {
  DType dtype;
  Expr operand;
};

/// An instruction of the table that gives a value (scheduler/hardware/instructions.h), named by its row.
struct Call {
  std::string instruction;
  DType dtype;
  std::vector<Expr> arguments;
};

struct ExprNode : std::variant<Constant, Variable, Load, Unary, Binary, Select, Cast, Call> {
  using variant::variant;
  const variant& kind() const { return *this; }
};

template <class T>
const T* Expr::as() const {
  return node_ ? std::get_if<T>(&node_->kind()) : nullptr;
}

struct StmtNode;

/// A statement. Undefined stands for "nothing".
class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  bool defined() const { return node_ != nullptr; }
  const StmtNode& node() const { return *node_; }
  const StmtNode* identity() const { return node_.get(); }
  template <class T>
  const T* as() const;

 private:
  std::shared_ptr<const StmtNode> node_;
};

/// Who runs the iterations of a loop.
enum class LoopKind : std::uint8_t {
  serial,      ///< one after the other
  unrolled,    ///< one after the other, written out; constant extent
  vectorized,  ///< together, as the elements of a vector; constant extent
  parallel,    ///< by CPU threads
  block_x,     ///< by the thread blocks of the launch
  block_y,
  block_z,
  warp,    ///< by the warps of a block
  lane,    ///< by the 32 lanes of a warp
  thread,  ///< by all threads of a block, one-dimensional
};

constexpr bool is_block(LoopKind kind) {
  return kind >= LoopKind::block_x && kind <= LoopKind::block_z;
}
constexpr bool is_within_block(LoopKind kind) {
  return kind >= LoopKind::warp;
}
constexpr bool is_bound(LoopKind kind) {
  return kind >= LoopKind::block_x;
}

/// What the iterations of a loop are, whatever it is called.
enum class LoopRole : std::uint8_t {
  other,             ///< the loop is of an instruction or of an array
  output,            ///< over what the output has: iterations write different elements
  rows,              ///< the same, over rows of the weights or blocks of them
  stored_rows,       ///< over rows as they are stored, several of which may add to the same sums
  sum,               ///< over what is summed
  groups,            ///< over groups that share a sum
  fragment_rows,     ///< over the two rows of a tile that a lane has in an instruction
  fragment_columns,  ///< over the two columns
};

/// Whether iterations write different elements of the output.
constexpr bool is_over_output(LoopRole role) {
  return role == LoopRole::output || role == LoopRole::rows || role == LoopRole::fragment_rows ||
         role == LoopRole::fragment_columns;
}

/// `for variable in begin .. begin + extent`. After a reduction moved inside, the same loop can stand in
/// several places (first values, sum, result); steps speak of it by its name and mean all of them.
struct For {
  std::string name;  ///< what the user calls it, "n.outer"; also the name of its variable
  Expr begin;
  Expr extent;
  LoopKind kind = LoopKind::serial;
  int step = -1;  ///< the schedule step that made the loop what it is; -1: the algorithm
  Stmt body;
  LoopRole role = LoopRole::other;
  std::string tile = {};  ///< the loop over a tile in whose place it stands for an instruction; empty: none
};

/// buffer[indices] = value, or += value where `accumulate` is set.
struct Store {
  BufferRef buffer;
  std::vector<Expr> indices;
  Expr value;
  bool accumulate = false;
};

struct Sequence {
  std::vector<Stmt> statements;
};

struct If {
  Expr condition;
  Stmt then;
  Stmt otherwise;  ///< may be undefined
};

/// A buffer that lives while `body` runs.
struct Allocate {
  BufferRef buffer;
  Stmt body;
};

struct Let {
  std::string name;
  Expr value;
  Stmt body;
};

/// destination[destination_begin + i] = source[source_begin + i] for every i below `extents`; the extents of
/// size 1 included, one for each dimension of the source. Places of the source outside its shape are not
/// read: the destination receives zero there. All threads of a block take part.
///
/// An asynchronous copy goes into one of several buffers: the destination has one dimension more in front,
/// and its place there is the number of the iteration, of the loop directly around, modulo its extent. A GPU
/// runs such copies iterations ahead; elsewhere they are ordinary copies. At the thread level, an
/// asynchronous copy is what is left of one: a run of elements that one thread starts to copy, and that is
/// there once the thread has waited for its group.
struct Copy {
  BufferRef destination;
  std::vector<Expr> destination_begin;
  BufferRef source;
  std::vector<Expr> source_begin;
  std::vector<Expr> extents;
  int step = -1;
  bool asynchronous = false;
  Expr inside;  ///< where it does not hold, the run is zero; undefined: it always holds
  /// A copy that gathers has a name for each of `extents`: then destination_begin and source_begin are whole
  /// indices, and `inside` a condition, in terms of variables of these names.
  std::vector<std::string> coordinates = {};
  bool of_one_thread = false;  ///< thread level
};

/// Asynchronous copies of a thread since the last group are a group (`pending` below zero); or the thread
/// waits until no more than `pending` of its groups are under way.
struct CopyGroup {
  int pending = -1;
};

/// All threads of the block wait for one another, and see each other's shared memory afterwards.
struct Barrier {};

/// Tile level: a loop nest that is done by instructions of the table. A machine without them runs the nest.
struct TensorOperation {
  std::string instruction;  ///< a row of the table (scheduler/hardware/tensor_instructions.h)
  Stmt meaning;
  int step = -1;
  /// How many operations may still be under way when the next statement begins. Below zero, nothing is begun
  /// here: all that is under way is waited for.
  int pending = 0;
};

/// So many elements of an array in registers, one after the other, from the place on.
struct RegisterRange {
  BufferRef buffer;
  std::vector<Expr> indices;
  int count = 1;
};

/// Thread level: an instruction of the table with effects. Its operands are numbered in the order results,
/// inputs, arguments. An argument that is a Load stands for the address of the element.
struct Execute {
  std::string instruction;
  std::vector<RegisterRange> results;
  std::vector<RegisterRange> inputs;
  std::vector<Expr> arguments;
};

/// For each column of a table, in order: what is read of the dense operand there, once, times the value of
/// each entry of the column is added to the sum of the entry's row, fused. Sums are f32; what is read is that
/// or widened to it. A hundred thousand entries are one node, through which no pass has to go.
struct SparseProduct {
  static constexpr bool can_read(DType dtype) {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  }
  std::shared_ptr<const EntryTable> table;
  std::vector<std::string> coordinates;  ///< variables of a column's place, in `of_dense`
  std::string row;                       ///< variable of an entry's row, in `of_sums`
  BufferRef dense;
  std::vector<Expr> of_dense;
  BufferRef sums;
  std::vector<Expr> of_sums;
};

struct StmtNode : std::variant<For, Store, Sequence, If, Allocate, Let, Copy, CopyGroup, Barrier,
                               TensorOperation, Execute, SparseProduct> {
  using variant::variant;
  const variant& kind() const { return *this; }
};

template <class T>
const T* Stmt::as() const {
  return node_ ? std::get_if<T>(&node_->kind()) : nullptr;
}

// Building expressions. Operands are simplified a little on the way: constants fold, x + 0 is x.
Expr constant(DType dtype, double value);
/// 0 as what is stored to elements of the type: of it, or an integer.
Expr zero_of(DType dtype);
Expr integer(std::int64_t value);
Expr boolean(bool value);
Expr variable(std::string name, DType dtype = DType::i64);
Expr load(BufferRef buffer, std::vector<Expr> indices);
Expr unary(UnaryOperator op, Expr operand);
Expr binary(BinaryOperator op, Expr left, Expr right);
Expr select(Expr condition, Expr when_true, Expr when_false);
Expr cast(DType dtype, Expr operand);
Expr call(std::string instruction, DType dtype, std::vector<Expr> arguments);

inline Expr operator+(Expr a, Expr b) {
  return binary(BinaryOperator::add, std::move(a), std::move(b));
}
inline Expr operator-(Expr a, Expr b) {
  return binary(BinaryOperator::subtract, std::move(a), std::move(b));
}
inline Expr operator*(Expr a, Expr b) {
  return binary(BinaryOperator::multiply, std::move(a), std::move(b));
}
inline Expr operator/(Expr a, Expr b) {
  return binary(BinaryOperator::divide, std::move(a), std::move(b));
}
inline Expr operator%(Expr a, Expr b) {
  return binary(BinaryOperator::remainder, std::move(a), std::move(b));
}
inline Expr operator<(Expr a, Expr b) {
  return binary(BinaryOperator::less, std::move(a), std::move(b));
}
inline Expr operator<=(Expr a, Expr b) {
  return binary(BinaryOperator::less_equal, std::move(a), std::move(b));
}
inline Expr operator&&(Expr a, Expr b) {
  return binary(BinaryOperator::logical_and, std::move(a), std::move(b));
}
Expr equal(Expr a, Expr b);
Expr minimum(Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr exclusive_or(Expr a, Expr b);
/// ceil(a / b) for a >= 0, b > 0.
Expr ceil_divide(const Expr& a, const Expr& b);

/// The value of an integer or boolean constant, if it is one. It lies in the expression.
const std::int64_t* integer_value(const Expr& expr);
const std::int64_t* integer_value(Expr&& expr) = delete;
/// The node if it is that operation, else null.
const Binary* as_binary(const Expr& expr, BinaryOperator op);
/// Same tree, node by node.
bool same(const Expr& a, const Expr& b);
/// The same trees in the same order.
bool same(const std::vector<Expr>& a, const std::vector<Expr>& b);
/// Whether one of the list is the same tree.
bool contains(const std::vector<Expr>& list, const Expr& expr);

// Building statements. A block flattens blocks inside it and leaves undefined statements out.
Stmt for_loop(For loop);
/// The loop around another body.
Stmt for_loop(For loop, Stmt body);
/// `for variable in 0 .. extent: body`
Stmt for_range(const Expr& variable, Expr extent, LoopKind kind, int step, Stmt body,
               LoopRole role = LoopRole::other, std::string tile = {});
/// The loops around the body, the first outermost.
Stmt for_loops(const std::vector<For>& loops, Stmt body);
Stmt store(BufferRef buffer, std::vector<Expr> indices, Expr value, bool accumulate = false);
Stmt block(std::vector<Stmt> statements);
Stmt if_then(Expr condition, Stmt then, Stmt otherwise = {});
/// `then` where all conditions hold. The first is asked first: what another one reads may exist only where it
/// holds.
Stmt if_all(const std::vector<Expr>& conditions, Stmt then);
Stmt allocate(BufferRef buffer, Stmt body);
Stmt let(std::string name, Expr value, Stmt body);
Stmt copy(Copy copy);
Stmt barrier();
/// Ends a group of asynchronous copies.
Stmt commit_copies();
/// Waits for all groups but the last `pending` ones.
Stmt wait_for_copies(int pending);
Stmt tensor_operation(TensorOperation operation);
Stmt execute(Execute execute);
/// An instruction that has arguments alone.
Stmt execute(std::string instruction, std::vector<Expr> arguments = {});
Stmt sparse_product(SparseProduct product);

}  // namespace weft::ir

namespace weft {

// What every step and pass works on has its bare name in all rooms.
using ir::Expr, ir::LoopKind, ir::Stmt;

}  // namespace weft
