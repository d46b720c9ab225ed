// Thread-level programs as PTX, without any toolkit.
#pragma once

#include <weft/backends/llvm/pieces.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/passes/lower.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace weft::llvm_backend {

/// Told at the end of each stage of emit_ptx which one it was: "emit", "optimize", "generate".
using StageObserver = std::function<void(std::string_view stage)>;

/// PTX with an entry, called as the program, and one for each kernel that copies an operand. Parameters are
/// the buffers, workspaces, scalars and extents in the program's order; extents and integers are index_bits
/// wide, addresses must be multiples of 16. The text depends on nothing but the arguments. UserError when the
/// target is no GPU or lacks an instruction that the program calls.
std::string emit_ptx(const ThreadProgram& program, const Target& target, const StageObserver& observer = {});

/// The same kernel as several modules that are to be linked: the entry, which calls the pieces, and any share
/// of the pieces. May be called from several threads at a time.
std::string emit_entry_ptx(const PiecedProgram& pieced, const Target& target);
std::string emit_pieces_ptx(const PiecedProgram& pieced, std::span<const Piece> pieces, const Target& target);

/// Modules as one text: `pieces` in front of `entry`, which may call them. For whoever does not link, as the
/// simulator and drivers.
std::string join_ptx(const std::string& entry, std::span<const std::string> pieces);

}  // namespace weft::llvm_backend
