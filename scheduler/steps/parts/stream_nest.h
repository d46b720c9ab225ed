// The nest that goes through a stream for lanes (formats/lane_streams.h), group by group and step by step,
// which tensorize gives to an instruction.
#pragma once

#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/steps/parts/loops.h>

#include <variant>

namespace weft::steps {

struct StreamNest {
  TensorNest tile;        ///< one step's
  ir::For groups, steps;  ///< the loops around it, bodies unset
};

/// Whether the weights lie in such streams.
bool are_streams(const SparseTensor* weights);
/// The loops over the groups of a stream, and those inside.
Stmt loops_of_stream(const Stmt& nest);
/// The nest that these loops are, or why they are none.
std::variant<StreamNest, Reason> stream_nest_of(const ir::Chain& chain, const ir::Store& store,
                                                const StepContext& context);

/// The same where rows of the dense tile begin half a line apart, so that lanes of two of them meet in no
/// bank.
Stmt with_rows_apart(const Stmt& body, const ir::BufferRef& tile);

}  // namespace weft::steps
