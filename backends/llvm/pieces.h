// Long straight-line programs in pieces that can be compiled each on its own.
#pragma once

#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::llvm_backend {

/// What all threads of some blocks run, and what it has to be given: a function.
struct Piece {
  std::string name;
  ir::Stmt body;
  std::int64_t size = 0;                ///< as emitted_size says
  bool in_step = false;                 ///< the threads of a warp take every branch in it together
  std::vector<ir::BufferRef> buffers;   ///< that it reads or writes, but for its own local arrays
  std::vector<ir::Variable> variables;  ///< that it uses, bound outside of it
  std::vector<ir::Let> around;  ///< what binds variables outside of it, without bodies, outermost first
};

struct PieceLimits {
  /// Programs of fewer nodes (emitted_size) are assembled as one: that takes a second, and calls cost time.
  std::int64_t smallest_program = 150'000;
  std::int64_t smallest_piece = 4'000;  ///< choices among statements of fewer nodes stay in one piece
};

/// A program and the pieces in it: statements of its body, each in one place.
struct PiecedProgram {
  ThreadProgram whole;
  std::vector<Piece> pieces;

  /// The piece that the statement is, or nullptr.
  const Piece* find(const ir::Stmt& stmt) const;

 private:
  friend std::optional<PiecedProgram> cut_into_pieces(const ThreadProgram&, const PieceLimits&);
  std::map<const ir::StmtNode*, std::size_t> by_statement_;
};

/// Cuts where conditions on the number of a block choose among statements, as bake_values leaves them, so
/// that the code of a block stays in one place. Registers around such a choice move into each of the pieces,
/// with what is done to them before and after it. Nothing where the program is too short to be worth it, has
/// no such choice, or where something of a piece cannot be told apart from the rest.
std::optional<PiecedProgram> cut_into_pieces(const ThreadProgram& program, const PieceLimits& limits = {});

}  // namespace weft::llvm_backend
