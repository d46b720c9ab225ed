// Random steps, recipes and options of compiling.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/scheduler/program/schedule.h>

#include <memory>
#include <string>

#include "random_calls/dice.h"

namespace weft::test {

/// Every kind of step; loops and tensors of the program, numbers that often fit, and one in five with
/// something in it that does not.
Step random_step(const Schedule& schedule, Dice& dice);

/// A recipe that a user may call, with random knobs, most of them left to it. `text` says which.
Schedule random_recipe(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, Dice& dice, std::string& text);

KernelOptions random_options(Dice& dice, std::string& text);

}  // namespace weft::test
