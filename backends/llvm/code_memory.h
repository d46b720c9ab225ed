// Memory for code that is made in this process: no page is ever writable and executable at once. Only .cpp
// files of this folder include this header, because it brings LLVM's.
#pragma once

#include <llvm/ExecutionEngine/SectionMemoryManager.h>

#include <memory>

namespace weft::llvm_backend {

/// Pages that are written first and become executable afterwards. Where the system refuses that (a policy
/// against writable memory that becomes executable, as systemd's MemoryDenyWriteExecute), their bytes are
/// written to a file without a name and mapped from there, and a line on stderr says so once.
class CodeMemory : public llvm::SectionMemoryManager::MemoryMapper {
 public:
  llvm::sys::MemoryBlock allocateMappedMemory(llvm::SectionMemoryManager::AllocationPurpose purpose,
                                              std::size_t bytes, const llvm::sys::MemoryBlock* near,
                                              unsigned flags, std::error_code& error) override;
  std::error_code protectMappedMemory(const llvm::sys::MemoryBlock& block, unsigned flags) override;
  std::error_code releaseMappedMemory(llvm::sys::MemoryBlock& block) override;

  /// Whether the system refused both ways.
  bool is_refused() const { return refused_; }

 private:
  bool refused_ = false;
};

}  // namespace weft::llvm_backend
