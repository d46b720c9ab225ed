#include <weft/formats/io/zip_library.h>

#ifdef WEFT_ZIP_BY_NAME
#include <dlfcn.h>
#include <weft/dsl/errors.h>

#include <string>
#endif

namespace weft::io {

#ifdef WEFT_ZIP_BY_NAME

namespace {

class Loader {
 public:
  Loader() {
    for (const char* name : {"libzip.so.5", "libzip.so.4", "libzip.so"}) {
      if (handle_ == nullptr) handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle_ == nullptr)
      throw RuntimeError("reading .npz needs libzip, which is not on this machine: " + error() +
                         "; unzip the file instead and give the .npy in it");
  }

  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr) throw RuntimeError("libzip has no function that reading .npz needs: " + error());
  }

 private:
  static std::string error() {
    const char* text = ::dlerror();
    return text == nullptr ? "no reason given" : text;
  }

  void* handle_ = nullptr;
};

ZipLibrary load() {
  const Loader loader;
  ZipLibrary library{};
  loader.find(library.discard, "zip_discard");
  loader.find(library.error_fini, "zip_error_fini");
  loader.find(library.error_init, "zip_error_init");
  loader.find(library.error_strerror, "zip_error_strerror");
  loader.find(library.fclose, "zip_fclose");
  loader.find(library.file_get_error, "zip_file_get_error");
  loader.find(library.fopen_index, "zip_fopen_index");
  loader.find(library.fread, "zip_fread");
  loader.find(library.get_error, "zip_get_error");
  loader.find(library.get_num_entries, "zip_get_num_entries");
  loader.find(library.open_from_source, "zip_open_from_source");
  loader.find(library.source_buffer_create, "zip_source_buffer_create");
  loader.find(library.source_free, "zip_source_free");
  loader.find(library.stat_index, "zip_stat_index");
  loader.find(library.stat_init, "zip_stat_init");
  return library;
}

}  // namespace

const ZipLibrary& zip_library() {
  static const ZipLibrary library = load();
  return library;
}

#else

const ZipLibrary& zip_library() {
  static const ZipLibrary library{
      &::zip_discard,     &::zip_error_fini,      &::zip_error_init,       &::zip_error_strerror,
      &::zip_fclose,      &::zip_file_get_error,  &::zip_fopen_index,      &::zip_fread,
      &::zip_get_error,   &::zip_get_num_entries, &::zip_open_from_source, &::zip_source_buffer_create,
      &::zip_source_free, &::zip_stat_index,      &::zip_stat_init};
  return library;
}

#endif

}  // namespace weft::io
