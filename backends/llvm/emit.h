// Thread-level programs as LLVM IR, for the CPU and for NVIDIA GPUs. Only .cpp files of this folder include
// this header, because it brings LLVM's.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <weft/backends/llvm/analysis.h>
#include <weft/backends/llvm/coded_sums.h>
#include <weft/backends/llvm/pieces.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::llvm_backend {

inline constexpr unsigned shared_space = 3;  ///< the address space of shared memory

/// What the emitter must know of the target.
struct Capabilities {
  bool gpu = false;
  bool asynchronous_copies = false;
  bool fused_multiply_add = true;  ///< else fma calls become a product and a sum
  bool half_conversions =
      true;  ///< f32 <-> f16 by instructions; else by integer arithmetic of the same result
  bool bfloat_conversions = false;       ///< f32 -> bf16 likewise
  bool byte_conversions = false;         ///< f32 -> e4m3 and e5m2 likewise
  bool integer_packs = false;            ///< i32 -> i8 that saturates, two at a time
  bool wide_vectors = false;             ///< 512-bit vectors pay
  VectorRegisters coded = {};            ///< what sums that are assembly of their own use
  int most_lanes = 64;                   ///< lanes of one vector value; longer vectorized loops are cut
  bool constants_apart = false;          ///< addresses are a base, and then a constant distance from it
  bool follow_registers = false;         ///< a block stores an element of a local array once, at its end
  std::int64_t argument_alignment = 16;  ///< bytes that every buffer argument is aligned to
};

/// The functions that were added to the module.
struct Emitted {
  /// GPU: the kernel, its parameters the buffers, workspaces, scalars and extents of the program.
  /// CPU: `void(void** buffers, double* scalars, int64* extents, void* scratch, void* runtime)`, the buffers
  /// followed by the workspaces. Parallel loops call
  /// `weft_parallel_for(runtime, begin, extent, void body(begin, end, scratch, context), context)`.
  llvm::Function* entry = nullptr;
  std::int64_t scratch_bytes = 0;         ///< CPU: local arrays too large for the stack
  std::int64_t worker_scratch_bytes = 0;  ///< CPU: the same for one thread of a parallel loop
};

constexpr bool is_narrow(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || is_float_of_a_byte(dtype);
}

/// Emits one program. Integers are index_bits wide; values of f16, bf16, e4m3 and e5m2 are their bits. No
/// floating-point operation is reordered or contracted, subnormal numbers are kept. minimum and maximum of
/// floating types give NaN where an operand is NaN, and -0 is below +0.
class Emitter {
 public:
  Emitter(llvm::Module& module, const ThreadProgram& thread_program, const Capabilities& capabilities);
  Emitted emit();

  /// For a GPU: the kernel with calls in place of the pieces, which are functions of other modules.
  Emitted emit_around(const PiecedProgram& pieced);
  /// One of these functions. Any number of them can go into a module, the kernel into none of theirs.
  void emit_piece(const Piece& piece);

 private:
  struct Storage {
    llvm::Value* pointer = nullptr;
    std::int64_t alignment = 1;
  };
  /// The constants of an ir::EntryTable.
  struct TableArrays {
    llvm::GlobalVariable *places = nullptr, *begins = nullptr, *rows = nullptr, *values = nullptr;
  };
  /// The function being written, and what can be named in it.
  struct Frame {
    llvm::Function* function = nullptr;
    std::map<std::string, llvm::Value*> variables;
    std::map<const ir::Buffer*, Storage> buffers;
    llvm::Value* scratch = nullptr;
    llvm::Value* runtime = nullptr;
    std::int64_t scratch_bytes = 0;
    bool is_worker = false;
  };
  /// An element of a local array, as the basic block being written knows it.
  struct KnownElement {
    const llvm::BasicBlock* block = nullptr;
    llvm::Value* value = nullptr;
    llvm::StoreInst* store = nullptr;  ///< what nothing has read from memory yet, or null
  };
  /// The vectorized loop being written. Uniform values stay scalar inside; `mask` is null where all lanes
  /// run.
  struct Lanes {
    std::string variable;
    unsigned count = 0;
    ir::Expr first;
    llvm::Value* mask = nullptr;
    ir::Substitution lets;  ///< lane-dependent Lets without loads
    std::set<std::string> varying;
  };

  // emit.cpp: functions, arguments, statements.
  llvm::Function* emit_kernel();
  llvm::Function* emit_cpu_entry(llvm::Function* kernel);
  void describe_arguments(llvm::Function* function);
  unsigned constants_space() const;
  void add_constants();
  void add_shared_arrays();
  void statement(const ir::Stmt& stmt);
  void of(const ir::For& s);
  void of(const ir::Store& s);
  void of(const ir::Sequence& s);
  void of(const ir::If& s);
  void of(const ir::Allocate& s);
  void of(const ir::Let& s);
  void of(const ir::Barrier& s);
  void of(const ir::TensorOperation& s);
  // emit_copy.cpp
  void of(const ir::Copy& s);
  void of(const ir::CopyGroup& s);
  llvm::Value* pointer_of_run(const ir::Buffer& buffer, const ir::Expr& logical);
  // emit_execute.cpp
  void of(const ir::Execute& s);
  // emit_square.cpp
  bool square_across(const ir::For& columns);
  // emit_product.cpp
  void of(const ir::SparseProduct& s);
  const TableArrays& arrays_of(const ir::EntryTable& table, std::size_t coordinates);
  llvm::Value* element(llvm::GlobalVariable* array, llvm::Value* place);
  llvm::Value* operand_of(const ir::Expr& argument, DType dtype);
  void clear_registers(const Storage& storage);
  void call(const CodedSum& sum);
  void call(const CodedSum& sum, const CodedNest& nest);
  void emit(const CodedNest& nest);
  void emit(const CodedNest& nest, const ir::Stmt& sums);
  Storage local_array(const ir::Buffer& buffer);
  void branch(llvm::Value* condition, const std::function<void()>& then,
              const std::function<void()>& otherwise);
  void masked_if(llvm::Value* condition, const ir::If& s);
  void each_lane_if(llvm::Value* condition, const ir::If& s);
  llvm::BasicBlock* new_block(const char* name);

  // emit_piece.cpp
  llvm::Function* piece_function(const Piece& piece);
  void call_piece(const Piece& piece);
  void inside(const std::vector<ir::Let>& around, std::size_t next, const std::function<void()>& body);
  unsigned space_of(const ir::Buffer& buffer) const;
  bool never_changes(const ir::Buffer& buffer) const;

  // emit_loops.cpp
  void serial_loop(const ir::For& loop, bool unroll);
  void serial_loop(const ir::For& loop, bool unroll, const std::function<void()>& body);
  void in_loops(std::span<const CodedNest::Loop> loops, const std::function<void()>& body);
  void unrolled_loop(const ir::For& loop);
  void vector_loop(const ir::For& loop);
  void vector_piece(const ir::For& loop, llvm::Value* first, const ir::Expr& first_expr, unsigned lanes);
  void counted(llvm::Value* begin, llvm::Value* end, bool unroll,
               const std::function<void(llvm::Value*)>& body);
  void parallel_loop(const ir::For& loop);
  llvm::Function* outlined_body(const ir::For& loop, const std::vector<std::string>& variables,
                                const std::vector<const ir::Buffer*>& buffers);
  llvm::Function* thunk_of(llvm::Function* body, llvm::StructType* context);
  void with_let(const std::string& name, const ir::Expr& expr, llvm::Value* bound,
                const std::function<void()>& body);
  void with_variable(const std::string& name, llvm::Value* value, const ir::Range& range,
                     const std::optional<ir::Expr>& known, const std::function<void()>& body);
  void scalar_lane(unsigned lane, const std::function<void()>& body);

  // emit_expression.cpp
  llvm::Value* value(const ir::Expr& expr);
  llvm::Value* of(const ir::Constant& e);
  llvm::Value* of(const ir::Variable& e);
  llvm::Value* of(const ir::Load& e);
  llvm::Value* of(const ir::Unary& e);
  llvm::Value* of(const ir::Binary& e);
  llvm::Value* of(const ir::Select& e);
  llvm::Value* of(const ir::Cast& e);
  llvm::Value* of(const ir::Call& e);
  llvm::Value* binary(ir::BinaryOperator op, llvm::Value* a, llvm::Value* b);
  llvm::Value* floor_quotient(const ir::Binary& e, llvm::Value* a, llvm::Value* b);
  bool is_read_by_lanes(const ir::Expr& expr) const;
  bool differs_between_lanes(const ir::Expr& expr) const;
  llvm::Value* lazy_branch(llvm::Value* condition, const ir::Expr& expr);
  bool is_non_negative(const ir::Expr& expr) const;
  ir::Range range_of(const ir::Expr& expr) const;

  // emit_memory.cpp
  llvm::Value* raw_load(const ir::Load& e);
  llvm::Value* from_storage(llvm::Value* stored, DType dtype);
  llvm::Value* to_storage(llvm::Value* computed, DType from, DType dtype);
  llvm::Value* stored_sum(llvm::Value* before, llvm::Value* added, DType dtype);
  const Storage& storage_of(const ir::Buffer& buffer) const;
  Access access_of(const ir::Buffer& buffer, const ir::Expr& offset) const;
  llvm::Value* pointer_from_base(const ir::Buffer& buffer, const ir::Expr& offset);
  llvm::Value* pointer_to(const ir::Buffer& buffer, const ir::Expr& logical);
  std::optional<std::uint64_t> place_in_registers(const ir::Buffer& buffer, const ir::Expr& offset) const;
  llvm::Value* load(llvm::Type* type, llvm::Value* pointer, const ir::Buffer& buffer, std::int64_t elements);
  llvm::Value* read_element(const ir::Buffer& buffer, std::uint64_t place);
  void write_element(const ir::Buffer& buffer, std::uint64_t place, llvm::Value* stored);
  llvm::Value* read(const ir::Buffer& buffer, const ir::Expr& offset);
  llvm::Value* read_every_second(llvm::VectorType* type, const ir::Buffer& buffer, const ir::Expr& offset);
  // emit_window.cpp
  llvm::Value* read_window(llvm::VectorType* type, const ir::Buffer& buffer, const ir::Expr& offset);
  void add_atomically(const ir::Store& s);
  bool is_beside_streams(const ir::Buffer& buffer) const;
  void write(const ir::Buffer& buffer, const ir::Expr& offset, llvm::Value* stored);
  bool may_touch_all_lanes(const ir::Buffer& buffer, const ir::Expr& offset) const;
  ir::Expr in_first_lane(const ir::Expr& offset) const;
  llvm::Align alignment_of(const ir::Buffer& buffer, std::int64_t elements) const;
  llvm::Value* active_lanes();

  // emit_convert.cpp
  llvm::Value* convert(llvm::Value* from_value, DType from, DType to);
  llvm::Value* to_f32(llvm::Value* bits, DType from);
  llvm::Value* saturated(llvm::Value* whole, DType to);
  llvm::Value* narrow(llvm::Value* f32_value, DType to);
  llvm::Value* round_to_odd(llvm::Value* f64_value);
  llvm::Value* half_from_f32(llvm::Value* f32_value);
  llvm::Value* bfloat_from_f32(llvm::Value* f32_value);
  llvm::Value* f32_from_byte(llvm::Value* bits, DType from);
  llvm::Value* byte_from_f32(llvm::Value* f32_value, DType to);
  llvm::Value* f32_from_half(llvm::Value* bits);
  bool has_bytes_of(DType from, DType to) const;
  llvm::Value* pair_of_bytes(llvm::Value* upper, llvm::Value* lower, DType to);
  llvm::Value* bytes_of(llvm::Value* f32_value, DType to);

  // emit_call.cpp
  llvm::Value* intrinsic_call(std::string_view name, const std::vector<llvm::Value*>& arguments,
                              DType result);
  llvm::CallInst* inline_assembly(llvm::StringRef text, const std::string& constraints, llvm::Type* result,
                                  const std::vector<llvm::Value*>& operands, bool has_effects);
  llvm::Value* assembly_call(std::string_view text, const std::vector<llvm::Value*>& arguments,
                             const std::vector<DType>& operands, DType result);
  llvm::Value* library_call(std::string_view name, const std::vector<llvm::Value*>& arguments, DType result);
  llvm::Value* arrival(const ir::Call& e);
  llvm::Value* any_of_some(llvm::Value* number, std::int64_t threads);
  llvm::Value* expanded_call(const ir::Call& e, const std::vector<llvm::Value*>& arguments);

  // Types. A value of vector type has one element a lane.
  llvm::Type* storage_type(DType dtype) const;
  llvm::Type* value_type(DType dtype) const;
  llvm::Type* like(llvm::Type* scalar, llvm::Value* shape) const;  ///< a vector where `shape` is one
  llvm::Value* spread(llvm::Value* scalar);                        ///< to all lanes; vectors unchanged
  void match(llvm::Value*& a, llvm::Value*& b);
  llvm::Constant* same_integer(llvm::Value* shape, std::uint64_t number) const;
  static bool is_vector(const llvm::Value* v) { return v->getType()->isVectorTy(); }
  unsigned global_space() const { return capabilities_.gpu ? 1 : 0; }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ThreadProgram& thread_program_;
  const ir::Program& program_;
  Capabilities capabilities_;
  llvm::IRBuilder<> builder_;
  llvm::IntegerType* index_type_;
  Frame frame_;
  std::map<const ir::Buffer*, Storage> shared_;
  /// By the array and the place in it. Whoever takes another address of an array makes it forgotten.
  std::map<const llvm::Value*, std::map<std::uint64_t, KnownElement>> known_elements_;
  std::optional<Lanes> lanes_;
  ir::Substitution known_;
  ir::Ranges ranges_;
  /// How many times the code being written is written out.
  std::int64_t copies_ = 1;
  std::int64_t serial_loops_ = 0;  ///< serial loops of the program
  std::int64_t branches_ = 0;      ///< emitted so far, where loops of constant extents count as written out
  /// Values of shared nodes while the meaning of an instruction is expanded, else null.
  std::map<const ir::ExprNode*, llvm::Value*>* expansion_ = nullptr;
  Emitted emitted_;
  SumCoder coder_;
  std::map<const ir::EntryTable*, TableArrays> tables_;  ///< those of products that are loops
  const PiecedProgram* pieced_ = nullptr;                ///< whose pieces are called
  bool in_piece_ = false;
  bool streams_results_ = false;  ///< an output's stores stream
  int names_ = 0;
};

}  // namespace weft::llvm_backend
