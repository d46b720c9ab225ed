// A contestant that computes by the definition, and may then tell something else.
#pragma once

#include <weft/search/measure/contestants.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace weft {

using WeightsOf = std::function<const WeightMatrix&(const Workload&)>;

inline const WeightMatrix& own_matrix(const Workload& workload) {
  return workload.matrix;
}

/// Computes the workload with the weights that `of` chooses, changes the result and writes it into the shared
/// output of the processor.
inline Variant by_definition(const std::function<void(Array&)>& change = {},
                             const WeightsOf& of = own_matrix) {
  return {"way", {}, [change, of](std::shared_ptr<const Operands> operands) {
            const Workload& workload = operands->workload();
            const SparseTensor weights = pack(of(workload), formats::csr());
            Array b = *workload.b;
            Array c = workload.empty_output();
            Arguments arguments;
            arguments.tensors = {{"B", &b}, {"C", &c}};
            auto result = std::make_shared<Array>(
                reference(workload.algorithm, &weights, arguments).value.converted(workload.dtype));
            if (change) change(*result);
            Run run;
            run.poison = [operands] { operands->poison_c(); };
            run.output = [operands] { return operands->download_c(); };
            run.launch = [operands, result](StreamHandle) {
              std::copy_n(result->data(), result->bytes(), reinterpret_cast<std::byte*>(operands->c()));
            };
            return run;
          }};
}

}  // namespace weft
