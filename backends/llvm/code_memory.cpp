#include <llvm/Support/Memory.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/backends/llvm/code_memory.h>
#include <weft/backends/runtime/process.h>

#include <cstdio>
#include <mutex>

namespace weft::llvm_backend {
namespace {

using llvm::sys::Memory;

/// Puts a file's pages, which were never writable here, in place of the block's.
bool map_from_file(const llvm::sys::MemoryBlock& block) {
  const int file = memfd_create("weft", MFD_CLOEXEC);
  if (file < 0) return false;
  const bool mapped = write_all(file, {static_cast<const char*>(block.base()), block.allocatedSize()}) == 0 &&
                      mmap(block.base(), block.allocatedSize(), PROT_READ | PROT_EXEC,
                           MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
  close(file);
  if (mapped) Memory::InvalidateInstructionCache(block.base(), block.allocatedSize());
  return mapped;
}

void say_once() {
  static std::once_flag said;
  std::call_once(said, [] {
    std::fputs(
        "weft: this system lets no memory become executable; code of kernels is mapped from a file without a "
        "name\n",
        stderr);
  });
}

}  // namespace

llvm::sys::MemoryBlock CodeMemory::allocateMappedMemory(
    llvm::SectionMemoryManager::AllocationPurpose /*of code or of data*/, std::size_t bytes,
    const llvm::sys::MemoryBlock* near, unsigned flags, std::error_code& error) {
  return Memory::allocateMappedMemory(bytes, near, flags, error);
}

std::error_code CodeMemory::protectMappedMemory(const llvm::sys::MemoryBlock& block, unsigned flags) {
  const std::error_code error = Memory::protectMappedMemory(block, flags);
  if (!error || (flags & Memory::MF_EXEC) == 0) return error;
  if (!map_from_file(block)) {
    refused_ = true;
    return error;
  }
  say_once();
  return {};
}

std::error_code CodeMemory::releaseMappedMemory(llvm::sys::MemoryBlock& block) {
  return Memory::releaseMappedMemory(block);
}

}  // namespace weft::llvm_backend
