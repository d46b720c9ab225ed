#include <weft/backends/llvm/replace_all.h>
#include <weft/backends/llvm/symbols.h>

#include <string>
#include <string_view>

namespace weft::llvm_backend {

void name_symbols(llvm::Module& module, const AssemblySymbols& symbols) {
  constexpr std::string_view of_sums = "weft_sum_";
  for (llvm::Function& function : module) {
    const std::string name = function.getName().str();
    if (function.isIntrinsic()) continue;
    const bool is_entry = name == "weft_entry", is_loop = name == "weft_parallel_for";
    if (is_entry || is_loop) {
      function.setName(is_entry ? symbols.entry : symbols.parallel_loop);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    } else if (name.starts_with(of_sums)) {
      function.setName(symbols.entry + "_" + name);
      function.setDSOLocal(true);
    } else if (function.hasLocalLinkage()) {
      function.setName(symbols.entry + "_" + name);
    }
  }
  for (llvm::GlobalVariable& array : module.globals())
    if (array.hasInternalLinkage()) array.setName(symbols.entry + "_" + array.getName().str());
  std::string sums = module.getModuleInlineAsm();
  replace_all(sums, of_sums, symbols.entry + "_" + std::string(of_sums));
  module.setModuleInlineAsm(sums);
}

}  // namespace weft::llvm_backend
