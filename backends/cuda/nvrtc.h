// NVIDIA's run-time compiler, found when the program runs. For files of this folder; users call compile.
#pragma once

#include <weft/backends/runtime/shared_library.h>

#include <filesystem>
#include <string>
#include <vector>

namespace weft::cuda {

class Nvrtc {
 public:
  /// Looks for the library once.
  static const Nvrtc& instance();

  bool found() const { return found_; }
  const std::filesystem::path& path() const { return library_.path(); }
  const std::string& version() const { return version_; }  ///< "13.0"
  const std::string& reason() const { return reason_; }    ///< why it was not found

  struct Result {
    bool succeeded = false;
    std::string image;
    std::string log;
  };
  /// Compiles to machine code, or to PTX, in a copy of this process: there are sources for which NVRTC 13.0
  /// ends by a signal. A refused source is a result, not an error; RuntimeError when the compiler itself
  /// fails, or takes longer.
  Result compile(const std::string& source, const std::string& file_name,
                 const std::vector<std::string>& options, bool to_ptx, double limit_seconds) const;

  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;

 private:
  using Program = struct _nvrtcProgram*;
  using Status = int;
  using SizeOf = Status(Program program, std::size_t* bytes);
  using Copy = Status(Program program, char* target);

  Nvrtc();
  Result compile_here(const std::string& source, const std::string& file_name,
                      const std::vector<std::string>& options, bool to_ptx) const;
  std::string text_of(Program program, SizeOf* size_of, Copy* copy, const std::string& what) const;
  void check(Status status, const std::string& doing) const;

  SharedLibrary library_;
  bool found_ = false;
  std::string version_;
  std::string reason_;
  struct EntryPoints : LibraryFunctions {
    Imported<Status(int* major, int* minor)> get_version{*this, "nvrtcVersion"};
    Imported<const char*(Status status)> error_text{*this, "nvrtcGetErrorString"};
    Imported<Status(Program* program, const char* source, const char* name, int count,
                    const char* const* headers, const char* const* names)>
        create{*this, "nvrtcCreateProgram"};
    Imported<Status(Program* program)> destroy{*this, "nvrtcDestroyProgram"};
    Imported<Status(Program program, int count, const char* const* options)> compile{*this,
                                                                                     "nvrtcCompileProgram"};
    Imported<SizeOf> log_size{*this, "nvrtcGetProgramLogSize"};
    Imported<Copy> log{*this, "nvrtcGetProgramLog"};
    Imported<SizeOf> ptx_size{*this, "nvrtcGetPTXSize"};
    Imported<Copy> ptx{*this, "nvrtcGetPTX"};
    Imported<SizeOf> cubin_size{*this, "nvrtcGetCUBINSize"};
    Imported<Copy> cubin{*this, "nvrtcGetCUBIN"};
  } api_;
};

}  // namespace weft::cuda
