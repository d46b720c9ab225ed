#include <weft/backends/simulator/machine/operand_counts.h>

#include <unordered_map>

namespace weft::simulator {

std::size_t least_operands(std::string_view opcode) {
  static const std::unordered_map<std::string_view, std::size_t> table{
      {"abs", 2},   {"neg", 2},  {"not", 2},  {"cnot", 2},     {"popc", 2}, {"clz", 2},   {"bfind", 2},
      {"brev", 2},  {"cvt", 2},  {"mov", 2},  {"cvta", 2},     {"rcp", 2},  {"sqrt", 2},  {"rsqrt", 2},
      {"ex2", 2},   {"lg2", 2},  {"sin", 2},  {"cos", 2},      {"tanh", 2}, {"testp", 2}, {"isspacep", 2},
      {"add", 3},   {"sub", 3},  {"mul", 3},  {"mul24", 3},    {"div", 3},  {"rem", 3},   {"min", 3},
      {"max", 3},   {"and", 3},  {"or", 3},   {"xor", 3},      {"shl", 3},  {"shr", 3},   {"setp", 3},
      {"set", 3},   {"addc", 3}, {"subc", 3}, {"copysign", 3}, {"bmsk", 3}, {"szext", 3}, {"mad", 4},
      {"mad24", 4}, {"fma", 4},  {"madc", 4}, {"sad", 4},      {"selp", 4}, {"slct", 4},  {"bfe", 4},
      {"shf", 4},   {"prmt", 4}, {"dp4a", 4}, {"dp2a", 4},     {"fns", 4},  {"bfi", 5},   {"lop3", 5},
  };
  const auto found = table.find(opcode);
  return found == table.end() ? 0 : found->second;
}

}  // namespace weft::simulator
