#include <fmt/format.h>
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/memory.h>
#include <weft/backends/simulator/machine/operation.h>
#include <weft/backends/simulator/machine/warp.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace weft::simulator {
namespace {

using ptx::Operand;

/// The rows of the families that know an opcode.
std::span<const Opcode* const> rows_of(std::string_view opcode) {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const Opcode*>> made;
    for (const auto family :
         {integer_opcodes, bit_opcodes, carry_opcodes, floating_opcodes, selection_opcodes,
          comparison_opcodes, conversion_opcodes, move_opcodes, special_opcodes, memory_opcodes,
          control_opcodes, warp_opcodes, asynchronous_opcodes, barrier_opcodes, matrix_opcodes,
          warpgroup_opcodes, extension_opcodes}) {
      for (const Opcode& row : family()) made[row.name].push_back(&row);
    }
    return made;
  }();
  const auto found = table.find(opcode);
  return found == table.end() ? std::span<const Opcode* const>() : found->second;
}

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return ceil_divide(value, multiple) * multiple;
}

/// One function being expanded: its registers' rows, its variables' addresses.
struct Frame {
  const ptx::Function* function = nullptr;
  std::vector<Row> rows;                           ///< by register; no_row until used
  std::map<std::string, std::uint64_t> variables;  ///< addresses of its own variables and parameters
  std::vector<std::int32_t> operation_of;          ///< by instruction
  std::int32_t depth = 0;
};

}  // namespace

/// Turns the instructions of a function, and of those that it calls, into operations.
class Decoder {
 public:
  Decoder(const ptx::Module& module, const std::map<std::string, std::uint64_t>& addresses)
      : module_(module), addresses_(addresses) {}

  Code decode(const ptx::Function& function) {
    code_.module = &module_;
    code_.function = &function;
    lay_out_shared(function);
    Frame frame = frame_of(function, 0);
    for (const ptx::Variable& parameter : function.parameters) {
      code_.parameter_bytes = round_up(code_.parameter_bytes, std::max<std::size_t>(parameter.alignment, 1));
      frame.variables[parameter.name] = window::parameter + code_.parameter_bytes;
      code_.parameters.push_back({parameter.name, code_.parameter_bytes, parameter.bytes});
      code_.parameter_bytes += parameter.bytes;
    }
    expand(frame);
    find_reconvergence(code_);
    return std::move(code_);
  }

 private:
  [[noreturn]] void refuse(const Instruction& at, const std::string& found,
                           const std::string& accepted) const {
    throw UserError("the simulator cannot run this PTX", fmt::format("line {}", at.line), found, accepted);
  }

  void lay_out_shared(const ptx::Function& function) {
    std::size_t dynamic_alignment = 16;
    std::vector<const ptx::Variable*> dynamic;
    const auto place = [&](const ptx::Variable& variable) {
      if (variable.space != ptx::Space::shared) return;
      if (variable.bytes == 0) {
        dynamic.push_back(&variable);
        dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
        return;
      }
      code_.shared_bytes = round_up(code_.shared_bytes, std::max<std::size_t>(variable.alignment, 1));
      shared_[variable.name] = window::shared + code_.shared_bytes;
      code_.shared_variables.push_back({variable.name, code_.shared_bytes, variable.bytes});
      code_.shared_bytes += variable.bytes;
    };
    for (const ptx::Variable& variable : module_.variables) place(variable);
    for (const ptx::Function& each : module_.functions) {
      if (&each == &function || !each.is_entry) std::ranges::for_each(each.variables, place);
    }
    if (dynamic.empty()) return;
    code_.shared_bytes = round_up(code_.shared_bytes, dynamic_alignment);
    for (const ptx::Variable* variable : dynamic)
      shared_[variable->name] = window::shared + code_.shared_bytes;
  }

  Frame frame_of(const ptx::Function& function, std::int32_t depth) {
    Frame frame;
    frame.function = &function;
    frame.depth = depth;
    frame.rows.assign(function.registers.size(), no_row);
    // Scopes of a function that each declare one of the same name share its bytes, which are those of the
    // largest.
    std::map<std::string, ptx::Variable> largest;
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space == ptx::Space::shared) continue;
      ptx::Variable& kept = largest.try_emplace(variable.name, variable).first->second;
      kept.bytes = std::max(kept.bytes, variable.bytes);
      kept.alignment = std::max(kept.alignment, variable.alignment);
    }
    for (const auto& [name, variable] : largest) frame.variables[name] = local_variable(variable);
    return frame;
  }

  std::uint64_t local_variable(const ptx::Variable& variable) {
    code_.local_bytes = round_up(code_.local_bytes, std::max<std::size_t>(variable.alignment, 1));
    const std::uint64_t address = window::local + code_.local_bytes;
    code_.local_bytes += variable.bytes;
    return address;
  }

  void expand(Frame& frame) {
    const ptx::Function& function = *frame.function;
    std::vector<std::pair<std::size_t, std::int32_t>> branches;  ///< operation, target instruction
    std::vector<std::pair<std::size_t, const ptx::Function::BranchTable*>> tables;
    frame.operation_of.assign(function.instructions.size() + 1, 0);
    for (std::size_t i = 0; i < function.instructions.size(); ++i) {
      const Instruction& instruction = function.instructions[i];
      frame.operation_of[i] = next_operation();
      if (instruction.opcode == "bra") {
        branches.emplace_back(branch(frame, instruction), instruction.operands.at(0).index);
      } else if (instruction.opcode == "brx") {
        tables.emplace_back(branch(frame, instruction, true), find_table(function, instruction));
      } else if (instruction.opcode == "ret" && frame.depth > 0) {
        branches.emplace_back(branch(frame, instruction),
                              static_cast<std::int32_t>(function.instructions.size()));
      } else if (instruction.opcode == "call") {
        call(frame, instruction);
      } else {
        add(frame, instruction);
      }
    }
    frame.operation_of.back() = next_operation();
    // A kernel ends at its end, with or without ret; a function goes on after its call.
    if (frame.depth == 0) {
      static const Instruction end = [] {
        Instruction ret;
        ret.opcode = "ret";
        return ret;
      }();
      add(frame, end);
    }
    for (const auto& [operation, target] : branches)
      code_.operations[operation].immediate = frame.operation_of.at(static_cast<std::size_t>(target));
    for (const auto& [operation, table] : tables) {
      std::vector<std::int32_t> targets;
      for (const int target : table->targets)
        targets.push_back(frame.operation_of.at(static_cast<std::size_t>(target)));
      code_.operations[operation].variant = static_cast<std::uint16_t>(code_.branch_tables.size());
      code_.branch_tables.push_back(std::move(targets));
    }
  }

  std::int32_t next_operation() const { return static_cast<std::int32_t>(code_.operations.size()); }

  const ptx::Function::BranchTable* find_table(const ptx::Function& function, const Instruction& at) const {
    const std::string& name = at.operands.size() == 2 ? at.operands[1].name : std::string();
    for (const auto& table : function.branch_tables) {
      if (table.name == name) return &table;
    }
    refuse(at, "the branch table '" + name + "'", "a table of .branchtargets");
  }

  /// The index into a table is operand 0 of the instruction.
  std::size_t branch(Frame& frame, const Instruction& instruction, bool has_table = false) {
    Operation operation = started(frame, instruction);
    if (has_table) add_operand(frame, instruction, operation, instruction.operands.at(0));
    operation.execute = has_table ? run_branch_table : run_branch;
    operation.pipe = Pipe::control;
    return finish(operation, instruction);
  }

  /// Parameters of a call are variables of the caller, which the callee knows under its own names.
  void call(Frame& frame, const Instruction& instruction) {
    constexpr std::int32_t deepest = 32;
    std::vector<const Operand*> names;
    const ptx::Function* callee = nullptr;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind == Operand::Kind::symbol && callee == nullptr) callee = module_.find(operand.name);
    }
    if (callee == nullptr || callee->is_declared_only)
      refuse(instruction, instruction.text() + " of a function without a body", "a function of the module");
    if (frame.depth >= deepest || instruction.guard >= 0)
      refuse(instruction, "a call that cannot be expanded in place",
             "calls without recursion and without guard");
    Frame inner = frame_of(*callee, frame.depth + 1);
    const auto pass = [&](const Operand& list, const std::vector<ptx::Variable>& formal) {
      if (list.elements.size() != formal.size())
        refuse(instruction, fmt::format("{} values", list.elements.size()),
               fmt::format("the {} of '{}'", formal.size(), callee->name));
      for (std::size_t i = 0; i < formal.size(); ++i)
        bind(frame, inner, list.elements[i], formal[i], instruction);
    };
    bool before_name = true;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind == Operand::Kind::vector)
        pass(operand, before_name ? callee->results : callee->parameters);
      before_name = before_name && operand.kind != Operand::Kind::symbol;
    }
    expand(inner);
  }

  void bind(Frame& frame, Frame& inner, const Operand& given, const ptx::Variable& formal,
            const Instruction& at) {
    if (given.kind == Operand::Kind::symbol) {
      inner.variables[formal.name] = address_of(frame, given.name, at);
      return;
    }
    const auto& registers = inner.function->registers;
    const auto found = std::ranges::find(registers, formal.name, &ptx::Register::name);
    if (given.kind != Operand::Kind::reg || found == registers.end())
      refuse(at, "a call's operand of this kind", "registers and .param variables");
    inner.rows[found - registers.begin()] = row_of(frame, given.index);
  }

  std::uint64_t address_of(const Frame& frame, const std::string& name, const Instruction& at) const {
    if (const auto own = frame.variables.find(name); own != frame.variables.end()) return own->second;
    if (const auto shared = shared_.find(name); shared != shared_.end()) return shared->second;
    if (const auto given = addresses_.find(name); given != addresses_.end()) return given->second;
    refuse(at, "the name '" + name + "'", "a variable of the module or the function");
  }

  Row row_of(Frame& frame, int index) {
    Row& row = frame.rows[index];
    if (row == no_row) {
      const ptx::Register& reg = frame.function->registers[index];
      row = new_row(std::max<std::size_t>(ptx::size_of(reg.type), 4), reg.name);
    }
    return row;
  }

  Row new_row(std::size_t bytes, const std::string& name) {
    const Row row = code_.rows;
    code_.rows += static_cast<Row>(bytes / 4);
    code_.register_names.resize(code_.rows);
    code_.register_names[row] = name;
    return row;
  }

  Row constant(std::uint32_t narrow, std::uint64_t wide) {
    const auto [known, is_new] = constants_.try_emplace({narrow, wide}, Row{0});
    if (is_new) {
      known->second = constant_row | static_cast<Row>(code_.constants.size() / 32);
      code_.constants.insert(code_.constants.end(), 32, narrow);
      for (int lane = 0; lane < 32; ++lane) {
        code_.constants.push_back(static_cast<std::uint32_t>(wide));
        code_.constants.push_back(static_cast<std::uint32_t>(wide >> 32));
      }
    }
    return known->second;
  }

  Row literal(const Operand& operand) {
    if (operand.kind == Operand::Kind::integer)
      return constant(static_cast<std::uint32_t>(operand.bits), operand.bits);
    if (operand.is_single) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits));
      return constant(static_cast<std::uint32_t>(operand.bits), std::bit_cast<std::uint64_t>(double{value}));
    }
    const auto value = static_cast<float>(std::bit_cast<double>(operand.bits));
    return constant(std::bit_cast<std::uint32_t>(value), operand.bits);
  }

  void push(Operation& operation, Row row, std::size_t bytes) {
    code_.operands.push_back(row);
    code_.operand_bytes.push_back(static_cast<std::uint8_t>(bytes));
    code_.operand_offsets.push_back(0);
    ++operation.count;
  }

  void add_operand(Frame& frame, const Instruction& at, Operation& operation, const Operand& operand) {
    using enum Operand::Kind;
    switch (operand.kind) {
      case reg:
        push(operation, negated(frame, operand), ptx::size_of(frame.function->registers[operand.index].type));
        return;
      case integer:
      case real: return push(operation, literal(operand), 8);
      case special:
        return push(operation, specials_.at(&operand), special_bytes(special_register(operand.name)));
      case symbol: {
        const std::uint64_t value =
            address_of(frame, operand.name, at) + static_cast<std::uint64_t>(operand.offset);
        return push(operation, constant(static_cast<std::uint32_t>(value), value), 8);
      }
      case address:
        add_operand(frame, at, operation, operand.elements.at(0));
        code_.operand_offsets.back() = operand.offset;
        return;
      case vector:
      case tensor:
      case pair:
        for (const Operand& element : operand.elements) add_operand(frame, at, operation, element);
        return;
      case sink: return push(operation, no_row, 4);
      case label: refuse(at, "a label as a value", "a register, a constant or an address");
    }
  }

  /// The row of a register operand; of a copy where the text negates it.
  Row negated(Frame& frame, const Operand& operand) {
    const auto found = negations_.find(&operand);
    return found != negations_.end() ? found->second : row_of(frame, operand.index);
  }

  Operation started(Frame& frame, const Instruction& instruction) {
    Operation operation;
    operation.first = static_cast<std::uint32_t>(code_.operands.size());
    operation.instruction = static_cast<std::int32_t>(code_.instructions.size());
    operation.type = instruction.type();
    operation.source_type = operation.type;
    if (instruction.guard >= 0) {
      operation.guard = row_of(frame, instruction.guard);
      operation.guard_negated = instruction.guard_negated;
    }
    return operation;
  }

  std::size_t finish(const Operation& operation, const Instruction& instruction) {
    code_.operations.push_back(operation);
    code_.instructions.push_back(&instruction);
    return code_.operations.size() - 1;
  }

  static ptx::Space space_named(const Instruction& instruction) {
    for (const std::string& modifier : instruction.modifiers) {
      const std::string_view word(modifier.data(), std::min(modifier.find("::"), modifier.size()));
      if (word == "global") return ptx::Space::global;
      if (word == "shared") return ptx::Space::shared;
      if (word == "local") return ptx::Space::local;
      if (word == "const") return ptx::Space::constant;
      if (word == "param") return ptx::Space::parameter;
    }
    return ptx::Space::none;
  }

  void note_width(const Instruction& instruction, const Operation& operation) {
    if (!ptx::lists("ld ldu st atom red", instruction.opcode)) return;
    const std::size_t bytes = std::clamp<std::size_t>(ptx::size_of(operation.type), 1, 4);
    if (operation.space != ptx::Space::global && operation.space != ptx::Space::constant)
      code_.shared_granule = std::min(code_.shared_granule, bytes);
    if (operation.space != ptx::Space::shared) code_.global_granule = std::min(code_.global_granule, bytes);
  }

  /// Special registers may stand anywhere in PTX; each is first moved to a register of its own, and a negated
  /// predicate is inverted there.
  void add_helpers(Frame& frame, const Instruction& instruction, const Operand& operand) {
    for (const Operand& element : operand.elements) add_helpers(frame, instruction, element);
    if (operand.kind == Operand::Kind::special) {
      const int number = special_register(operand.name);
      if (number < 0)
        refuse(instruction, "the special register " + operand.name, "one that the simulator has");
      Operation read = started(frame, instruction);
      read.guard = no_row;
      const std::size_t bytes = special_bytes(number);
      const Row row = new_row(bytes, operand.name);
      push(read, row, bytes);
      read.results = 1;
      read.execute = read_special;
      read.variant = static_cast<std::uint16_t>(number);
      finish(read, instruction);
      specials_[&operand] = row;
    } else if (operand.kind == Operand::Kind::reg && operand.negated) {
      Operation invert = started(frame, instruction);
      invert.guard = no_row;
      const Row row = new_row(4, "!" + frame.function->registers[operand.index].name);
      push(invert, row, 1);
      push(invert, row_of(frame, operand.index), 1);
      invert.results = 1;
      invert.execute = [](Warp& warp, const Operation& operation) {
        warp.set_mask(operation, 0, ~warp.mask(operation, 1));
      };
      finish(invert, instruction);
      negations_[&operand] = row;
    }
  }

  void add(Frame& frame, const Instruction& instruction) {
    specials_.clear();
    negations_.clear();
    for (const Operand& operand : instruction.operands) add_helpers(frame, instruction, operand);
    Operation operation = started(frame, instruction);
    for (const Operand& operand : instruction.operands) add_operand(frame, instruction, operation, operand);
    operation.space = space_named(instruction);
    for (const std::string& modifier : instruction.modifiers) {
      if (modifier == "v2" || modifier == "v4" || modifier == "v8")
        operation.elements = static_cast<std::uint8_t>(modifier[1] - '0');
    }
    operation.results = operation.count > 0 ? 1 : 0;
    note_width(instruction, operation);
    const std::span<const Opcode* const> rows = rows_of(instruction.opcode);
    check_count(instruction, operation, rows);
    for (const Opcode* row : rows) {
      if (operation.execute != nullptr) break;
      if (!row->accepts(instruction)) continue;
      Operation tried = operation;
      tried.execute = row->choose(instruction, tried);
      if (tried.execute != nullptr) operation = tried;
    }
    if (operation.execute == nullptr)
      refuse(instruction, instruction.text(), "an instruction that the simulator knows");
    check_count(instruction, operation, rows);
    check_widths(instruction, operation);
    finish(operation, instruction);
  }

  void check_count(const Instruction& instruction, const Operation& operation,
                   std::span<const Opcode* const> rows) const {
    std::size_t least = operation.results;
    for (const Opcode* row : rows) least = std::max(least, row->operands);
    if (least <= operation.count) return;
    refuse(instruction, fmt::format("{} with {} operands", instruction.text(), operation.count),
           fmt::format("at least {}", least));
  }

  void check_widths(const Instruction& instruction, const Operation& operation) const {
    const std::size_t count = std::min<std::size_t>(operation.count, operation.lane_bytes.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t wanted = operation.lane_bytes[i];
      const std::size_t found = code_.operand_bytes[operation.first + i];
      const Row row = code_.operands[operation.first + i];
      if (wanted == 0 || wanted == found || row == no_row || (row & constant_row) != 0) continue;
      if (wanted == 4 && found < 4) continue;
      refuse(instruction,
             fmt::format("{} with a register of {} bytes as operand {}", instruction.text(), found, i + 1),
             wanted == 1 ? "a predicate" : fmt::format("one of {}", wanted));
    }
  }

  struct ConstantHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& key) const {
      return static_cast<std::size_t>((key.second ^ key.first) * 0x9E3779B97F4A7C15U >> 7);
    }
  };

  const ptx::Module& module_;
  const std::map<std::string, std::uint64_t>& addresses_;
  Code code_;
  std::map<std::string, std::uint64_t> shared_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, Row, ConstantHash> constants_;
  std::unordered_map<const Operand*, Row> specials_, negations_;
};

Code decode(const ptx::Module& module, const ptx::Function& function,
            const std::map<std::string, std::uint64_t>& addresses) {
  return Decoder(module, addresses).decode(function);
}

}  // namespace weft::simulator
