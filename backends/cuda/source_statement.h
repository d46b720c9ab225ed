// Statements of a program as lines of CUDA C++. For files of this folder.
#pragma once

#include <weft/backends/cuda/print_source.h>
#include <weft/backends/cuda/source_expression.h>
#include <weft/backends/cuda/source_vectors.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::cuda {

/// Where shared buffers lie: declared one by one, or all in one dynamic array.
struct SharedLayout {
  bool is_dynamic = false;
  std::int64_t alignment = 16;                        ///< alignment of the dynamic array
  std::map<const ir::Buffer*, std::int64_t> offsets;  ///< bytes from the begin of the dynamic array
};
SharedLayout shared_layout(const ThreadProgram& program);

/// A statement as the compiler meets it once it has written out the loops that are unrolled.
SourceLength length_written_out(const ir::Stmt& stmt);

class Statements {
 public:
  Statements(Names& names, Helpers& helpers, Expressions& expressions, const SharedLayout& layout)
      : names_(names), helpers_(helpers), expressions_(expressions), layout_(layout) {}

  /// The lines of the kernel's body.
  std::string body(const ir::Stmt& stmt);

 private:
  /// A pair of braces: what is declared directly inside.
  struct Scope {
    std::set<std::string> names;
    std::map<std::string, ir::Expr> lets;  ///< values that hold as long as the names are visible
    bool shadows = false;                  ///< a name means something else further out
  };

  void print(const ir::Stmt& stmt);
  void of(const ir::For& s);
  void of(const ir::Store& s);
  void of(const ir::Sequence& s);
  void of(const ir::If& s);
  void of(const ir::Allocate& s);
  void of(const ir::Let& s);
  void of(const ir::Copy& s);
  void of(const ir::CopyGroup& s);
  void of(const ir::Barrier& s);
  void of(const ir::TensorOperation& s);
  void of(const ir::Execute& s);
  void of(const ir::SparseProduct& s);
  std::string address(const ir::Load& place);

  void line(const std::string& text);
  void open(const std::string& head);
  void close(const std::string& foot = "}");
  /// Adds a name to the innermost scope; false if it was there.
  bool declare(const std::string& name);
  /// Whether the name is visible and stands for that value.
  bool is_declared_as(const std::string& name, const ir::Expr& value) const;
  /// Runs `content` where `name` can be declared: in braces of its own if the scope has that name already.
  void declaring(const std::string& name, const std::function<void()>& content);
  std::string assignment(const ir::Store& s);
  void vectorized(const ir::For& s);
  void counted(const ir::For& s);
  void loop_lines(const ir::For& s, const std::string& end);
  void allocated(const ir::Allocate& s, const std::string& name);
  bool with_first_value(const ir::Allocate& s, const std::string& name);
  std::string shared_declaration(const ir::Buffer& buffer, const std::string& name);

  Names& names_;
  Helpers& helpers_;
  Expressions& expressions_;
  const SharedLayout& layout_;
  ir::Substitution known_;
  std::vector<Scope> scopes_;
  std::set<std::string> live_;  ///< names of the buffers that are allocated around
  std::size_t depth_ = 1;
  std::int64_t copies_ = 1;  ///< how often unrolled loops around repeat what is printed
  std::string result_;
};

}  // namespace weft::cuda
