// libzip for a command that is carried to other machines: the functions that zip_archive.cpp calls, each of
// which opens the library by name when it is first needed. The distribution has no static libzip, and a
// command that was linked with the shared one would not start where it is missing, although few weights are
// .npz files.
#include <dlfcn.h>
#include <weft/dsl/errors.h>
#include <zip.h>

namespace {

void* library() {
  static void* const handle = [] {
    for (const char* name : {"libzip.so.4", "libzip.so.5"}) {
      if (void* found = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
    }
    throw weft::RuntimeError(
        "reading .npz needs libzip (package libzip4), which is not on this machine; `unzip` the file instead "
        "and "
        "give the .npy file in it");
  }();
  return handle;
}

template <class Function>
Function find(Function, const char* name) {
  void* const address = dlsym(library(), name);
  if (address == nullptr) throw weft::RuntimeError(std::string("this machine's libzip lacks ") + name);
  return reinterpret_cast<Function>(address);
}

}  // namespace

// The declaration in zip.h gives each its type; the body is one forwarded call.
#define WEFT_FORWARD(result, name, parameters, arguments) \
  result name parameters {                                \
    static const auto function = find(&name, #name);      \
    return function arguments;                            \
  }

extern "C" {
WEFT_FORWARD(void, zip_discard, (zip_t * archive), (archive))
WEFT_FORWARD(void, zip_error_init, (zip_error_t * error), (error))
WEFT_FORWARD(void, zip_error_fini, (zip_error_t * error), (error))
WEFT_FORWARD(const char*, zip_error_strerror, (zip_error_t * error), (error))
WEFT_FORWARD(int, zip_fclose, (zip_file_t * file), (file))
WEFT_FORWARD(zip_error_t*, zip_file_get_error, (zip_file_t * file), (file))
WEFT_FORWARD(zip_file_t*, zip_fopen_index, (zip_t * archive, zip_uint64_t index, zip_flags_t flags),
             (archive, index, flags))
WEFT_FORWARD(zip_int64_t, zip_fread, (zip_file_t * file, void* bytes, zip_uint64_t count),
             (file, bytes, count))
WEFT_FORWARD(zip_error_t*, zip_get_error, (zip_t * archive), (archive))
WEFT_FORWARD(zip_int64_t, zip_get_num_entries, (zip_t * archive, zip_flags_t flags), (archive, flags))
WEFT_FORWARD(zip_t*, zip_open_from_source, (zip_source_t * source, int flags, zip_error_t* error),
             (source, flags, error))
WEFT_FORWARD(zip_source_t*, zip_source_buffer_create,
             (const void* bytes, zip_uint64_t count, int freed, zip_error_t* error),
             (bytes, count, freed, error))
WEFT_FORWARD(void, zip_source_free, (zip_source_t * source), (source))
WEFT_FORWARD(int, zip_stat_index,
             (zip_t * archive, zip_uint64_t index, zip_flags_t flags, zip_stat_t* status),
             (archive, index, flags, status))
WEFT_FORWARD(void, zip_stat_init, (zip_stat_t * status), (status))
}
