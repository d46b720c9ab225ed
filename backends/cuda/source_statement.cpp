#include <fmt/format.h>
#include <weft/backends/cuda/certainty.h>
#include <weft/backends/cuda/source_statement.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/passes/shared_arrays.h>

#include <algorithm>
#include <utility>

namespace weft::cuda {
namespace {

constexpr std::int64_t uncountable = std::int64_t{1} << 40;
constexpr std::int64_t elements_of_access = 4;
/// Stores that the compiler may write out unasked where a loop is unrolled: its time grows with their square.
constexpr std::int64_t most_unasked_stores = 1024;

std::int64_t product(std::int64_t a, std::int64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? uncountable : std::min(a, uncountable);
}

/// How often the compiler meets the body of a loop once it has written out those that are unrolled.
std::int64_t copies_of(const ir::For& loop) {
  const std::int64_t* extent = ir::integer_value(loop.extent);
  if (extent == nullptr) return 1;
  if (loop.kind == LoopKind::unrolled) return *extent;
  // Elements of a vector beyond those of one access are written out.
  const bool is_vector = loop.kind == LoopKind::vectorized;
  return is_vector ? std::max<std::int64_t>(1, *extent / elements_of_access) : 1;
}

}  // namespace

SourceLength length_written_out(const ir::Stmt& stmt) {
  if (stmt.as<ir::Store>() != nullptr || stmt.as<ir::Copy>() != nullptr) return {1, 0};
  SourceLength length;
  each_child(stmt, [&](const ir::Stmt& child) {
    const SourceLength of_child = length_written_out(child);
    length.statements = std::min(length.statements + of_child.statements, uncountable);
    length.branches = std::min(length.branches + of_child.branches, uncountable);
  });
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr) return {length.statements, length.branches + (stmt.as<ir::If>() != nullptr ? 1 : 0)};
  const std::int64_t copies = copies_of(*loop);
  return {product(length.statements, copies),
          copies > 1 ? product(length.branches, copies) : length.branches + 1};
}

SharedLayout shared_layout(const ThreadProgram& program) {
  SharedLayout layout;
  layout.is_dynamic = program.launch.shared_bytes > most_static_shared_bytes;
  for (const SharedArray& array : shared_arrays(program.program)) {
    layout.offsets[array.buffer] = array.offset;
    layout.alignment = std::max(layout.alignment, shared_alignment_of(*array.buffer));
  }
  internal_check(shared_bytes_of(program.program) <= program.launch.shared_bytes,
                 "shared buffers are larger than the launch says");
  return layout;
}

std::string Statements::body(const ir::Stmt& stmt) {
  scopes_.emplace_back();
  print(stmt);
  scopes_.pop_back();
  return std::move(result_);
}

void Statements::line(const std::string& text) {
  result_ += wrapped(text, 2 * depth_);
}

void Statements::open(const std::string& head) {
  line(head);
  ++depth_;
  scopes_.emplace_back();
}

void Statements::close(const std::string& foot) {
  scopes_.pop_back();
  --depth_;
  line(foot);
}

bool Statements::declare(const std::string& name) {
  const bool is_new = scopes_.back().names.insert(name).second;
  const bool shadows = std::any_of(scopes_.begin(), scopes_.end() - 1,
                                   [&](const Scope& scope) { return scope.names.count(name) != 0; });
  scopes_.back().shadows = scopes_.back().shadows || shadows;
  return is_new;
}

void Statements::declaring(const std::string& name, const std::function<void()>& content) {
  if (declare(name)) return content();
  open("{");
  declare(name);
  content();
  close();
}

bool Statements::is_declared_as(const std::string& name, const ir::Expr& value) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->lets.find(name); found != scope->lets.end())
      return ir::same(found->second, value);
    // What the value is made of may be called differently further out.
    if (scope->shadows || scope->names.count(name) != 0) return false;
  }
  return false;
}

void Statements::print(const ir::Stmt& stmt) {
  if (!stmt.defined()) return;
  std::visit([this](const auto& node) { of(node); }, stmt.node().kind());
}

void Statements::of(const ir::Sequence& s) {
  for (const ir::Stmt& child : s.statements) print(child);
}

void Statements::of(const ir::Barrier&) {
  line("__syncthreads();");
}

void Statements::of(const ir::SparseProduct& s) {
  internal_check(false, "a product of the entries of " + s.sums->name + " in a program for a GPU");
}

void Statements::of(const ir::TensorOperation& s) {
  internal_check(false, s.instruction + " is left in a thread-level program");
}

void Statements::of(const ir::Copy& s) {
  internal_check(s.asynchronous, "a copy is left in a thread-level program");
  helpers_.need(Helpers::Kind::copy_async);
  const std::int64_t bytes =
      *ir::integer_value(s.extents.back()) * static_cast<std::int64_t>(size_of(s.source->dtype));
  const std::string inside = s.inside.defined() ? ", " + expressions_.text(s.inside) : "";
  line(fmt::format("copy_async<{}>(&{}, &{}{});", bytes,
                   expressions_.element(s.destination, s.destination_begin),
                   expressions_.element(s.source, s.source_begin), inside));
}

void Statements::of(const ir::CopyGroup& s) {
  helpers_.need(Helpers::Kind::copy_group);
  line(s.pending < 0 ? "commit_copies();" : fmt::format("wait_for_copies<{}>();", s.pending));
}

void Statements::of(const ir::If& s) {
  if (!s.then.defined()) {
    open("if (" + expressions_.text(ir::unary(ir::UnaryOperator::logical_not, s.condition)) + ") {");
    print(s.otherwise);
    return close();
  }
  open("if (" + expressions_.text(s.condition) + ") {");
  print(s.then);
  const ir::Stmt* otherwise = &s.otherwise;
  while (otherwise->defined()) {
    const auto* next = otherwise->as<ir::If>();
    const bool chained = next != nullptr && next->then.defined();
    scopes_.pop_back();
    --depth_;
    open(chained ? "} else if (" + expressions_.text(next->condition) + ") {" : "} else {");
    print(chained ? next->then : *otherwise);
    if (!chained) break;
    otherwise = &next->otherwise;
  }
  close();
}

std::string Statements::assignment(const ir::Store& s) {
  const std::string place = expressions_.element(s.buffer, s.indices);
  const DType dtype = s.buffer->dtype;
  if (s.accumulate && is_narrow_float(dtype)) {
    const ir::Expr before = ir::cast(DType::f32, ir::load(s.buffer, s.indices));
    return place + " = " + expressions_.text(ir::cast(dtype, before + ir::cast(DType::f32, s.value))) + ";";
  }
  if (s.accumulate && s.buffer->between_blocks)
    return fmt::format("atomicAdd(&{}, {});", place,
                       expressions_.text(s.value, Precedence::lowest, Form::any));
  if (s.accumulate && is_float(dtype)) expressions_.note_float_sum();
  std::string value = expressions_.text(s.value, Precedence::lowest, Form::any);
  if (dtype == DType::boolean && s.value.dtype() != DType::boolean)
    value = expressions_.text(s.value, Precedence::comparison) + " != 0";
  if (s.buffer->streams && !s.accumulate) return fmt::format("__stcs(&{}, {});", place, value);
  return place + (s.accumulate ? " += " : " = ") + value + ";";
}

void Statements::of(const ir::Store& s) {
  line(assignment(s));
}

void Statements::of(const ir::Let& s) {
  const bool is_number = !is_float(s.value.dtype()) && s.value.dtype() != DType::boolean;
  if (is_number) {
    expressions_.set_range(s.name, expressions_.range_of(s.value));
    known_.erase(s.name);
    if (!ir::reads_memory(s.value)) known_[s.name] = ir::substitute(s.value, known_);
  }
  const std::string name = expressions_.name_of(s.name);
  if (is_declared_as(name, s.value)) return print(s.body);
  declaring(name, [&] {
    if (is_steady(s.value)) scopes_.back().lets[name] = s.value;
    line("const " + expressions_.type_of_value(s.value.dtype()) + " " + name + " = " +
         expressions_.text(s.value, Precedence::lowest, Form::any) + ";");
    print(s.body);
  });
}

/// `float sum = 0.0f;` where the first statement says so.
bool Statements::with_first_value(const ir::Allocate& s, const std::string& name) {
  const auto* block = s.body.as<ir::Sequence>();
  if (block == nullptr || elements_of_local(*s.buffer) != 1) return false;
  const auto* first = block->statements.front().as<ir::Store>();
  if (first == nullptr || first->buffer != s.buffer || first->accumulate) return false;
  bool reads_itself = false;
  ir::visit(first->value, [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    reads_itself = reads_itself || (load != nullptr && load->buffer == s.buffer);
  });
  if (reads_itself) return false;
  declaring(name, [&] {
    line(std::string(type_in_memory(s.buffer->dtype)) + " " + assignment(*first));
    for (std::size_t i = 1; i < block->statements.size(); ++i) print(block->statements[i]);
  });
  return true;
}

std::string Statements::shared_declaration(const ir::Buffer& buffer, const std::string& name) {
  const std::string type(type_in_memory(buffer.dtype));
  const std::string shape = expressions_.local_shape(buffer);
  if (!layout_.is_dynamic)
    return fmt::format("__shared__ __align__({}) {} {}{};", shared_alignment_of(buffer), type, name, shape);
  const std::int64_t offset = layout_.offsets.at(&buffer);
  const std::string place = offset == 0 ? "shared_memory" : "shared_memory + " + std::to_string(offset);
  if (shape.empty()) return fmt::format("{0}& {1} = *reinterpret_cast<{0}*>({2});", type, name, place);
  return fmt::format("{0} (&{1}){2} = *reinterpret_cast<{0} (*){2}>({3});", type, name, shape, place);
}

/// A buffer inside another one of the same name gets a name of its own.
void Statements::of(const ir::Allocate& s) {
  helpers_.need_type(s.buffer->dtype);
  std::string name = expressions_.name_of(*s.buffer);
  if (!live_.insert(name).second) {
    name = names_.fresh(name);
    live_.insert(name);
    expressions_.rename(*s.buffer, name);
  }
  allocated(s, name);
  live_.erase(name);
}

void Statements::allocated(const ir::Allocate& s, const std::string& name) {
  internal_check(s.buffer->scope != ir::Scope::global, "global memory is allocated inside a kernel");
  if (s.buffer->scope == ir::Scope::shared) {
    return declaring(name, [&] {
      line(shared_declaration(*s.buffer, name));
      print(s.body);
    });
  }
  if (with_first_value(s, name)) return;
  declaring(name, [&] {
    line(std::string(type_in_memory(s.buffer->dtype)) + " " + name + expressions_.local_shape(*s.buffer) +
         ";");
    print(s.body);
  });
}

void Statements::of(const ir::For& s) {
  internal_check(!ir::is_bound(s.kind), "loop " + s.name + " is bound and reached the printer");
  ir::Range range{expressions_.range_of(s.begin).minimum, {}};
  if (const auto end = expressions_.range_of(s.begin + s.extent).maximum) range.maximum = *end - 1;
  expressions_.set_range(s.name, range);
  known_.erase(s.name);
  s.kind == LoopKind::vectorized ? vectorized(s) : counted(s);
}

void Statements::counted(const ir::For& s) {
  const ir::Expr end = s.begin + s.extent;
  if (is_steady(end)) return loop_lines(s, expressions_.text(end, Precedence::sum, Form::narrow));
  // The body may write what the end is read from.
  const std::string name = names_.of(Names::Kind::variable, s.name + ".end");
  declaring(name, [&] {
    line("const " + expressions_.index_type() + " " + name + " = " +
         expressions_.text(end, Precedence::lowest, Form::any) + ";");
    loop_lines(s, name);
  });
}

void Statements::loop_lines(const ir::For& s, const std::string& end) {
  const std::string& variable = expressions_.name_of(s.name);
  const bool is_serial = s.kind != LoopKind::unrolled && s.kind != LoopKind::vectorized;
  // Compilers write out loops of known length unasked, in each copy of a loop that is unrolled.
  const std::int64_t* extent = copies_ > 1 ? ir::integer_value(s.extent) : nullptr;
  const bool stays =
      is_serial && extent != nullptr &&
      product(copies_, product(*extent, length_written_out(s.body).statements)) > most_unasked_stores;
  if (!is_serial || stays) line(stays ? "#pragma unroll 1" : "#pragma unroll");
  const std::string begin = expressions_.text(s.begin, Precedence::lowest, Form::any);
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", expressions_.index_type(), variable, begin,
                   end));
  declare(variable);
  const std::int64_t unasked = extent != nullptr && !stays ? *extent : 1;
  const std::int64_t around = std::exchange(copies_, product(copies_, std::max(copies_of(s), unasked)));
  print(s.body);
  copies_ = around;
  close();
}

/// The elements of an aligned run are loaded before the loop and stored after it.
void Statements::vectorized(const ir::For& s) {
  const auto accesses = vector_accesses(s, known_);
  if (accesses.empty()) return counted(s);
  helpers_.need(Helpers::Kind::vector);
  const std::int64_t lanes = *ir::integer_value(s.extent);
  std::vector<Expressions::Replacement> replacements;
  std::vector<std::string> stores;
  for (const VectorAccess& access : accesses) {
    // The place as the first element has it.
    std::vector<ir::Expr> first;
    for (const ir::Expr& index : access.indices) first.push_back(ir::substitute(index, {{s.name, s.begin}}));
    const std::string place = "&" + expressions_.element(access.buffer, first);
    std::string name = names_.of(Names::Kind::variable, access.buffer->name + ".vector");
    for (int i = 2; !declare(name); ++i)
      name = names_.of(Names::Kind::variable, access.buffer->name + ".vector" + std::to_string(i));
    const std::string_view type = type_in_memory(access.buffer->dtype);
    if (access.is_read) {
      helpers_.need(Helpers::Kind::load_vector);
      line(fmt::format("{}auto {} = load_vector<{}>({});", access.is_written ? "" : "const ", name, lanes,
                       place));
    } else {
      line(fmt::format("Vector<{}, {}> {};", type, lanes, name));
    }
    if (access.is_written) {
      const bool streamed = access.buffer->streams;
      helpers_.need(streamed ? Helpers::Kind::stream_vector : Helpers::Kind::store_vector);
      stores.push_back(fmt::format("{}({}, {});", streamed ? "stream_vector" : "store_vector", place, name));
    }
    const std::string lane = expressions_.text(ir::variable(s.name) - s.begin, Precedence::lowest, Form::any);
    replacements.push_back({access.buffer, access.offset, fmt::format("{}[{}]", name, lane)});
  }
  expressions_.replacements().swap(replacements);
  counted(s);
  expressions_.replacements().swap(replacements);
  for (const std::string& store : stores) line(store);
}

}  // namespace weft::cuda
