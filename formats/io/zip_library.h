// The functions of libzip that reading needs. They are linked where the library is there when weft is built;
// a portable build, which carries no shared library along, looks for it when the first archive is opened.
#pragma once

#include <zip.h>

namespace weft::io {

struct ZipLibrary {
  decltype(&::zip_discard) discard;
  decltype(&::zip_error_fini) error_fini;
  decltype(&::zip_error_init) error_init;
  decltype(&::zip_error_strerror) error_strerror;
  decltype(&::zip_fclose) fclose;
  decltype(&::zip_file_get_error) file_get_error;
  decltype(&::zip_fopen_index) fopen_index;
  decltype(&::zip_fread) fread;
  decltype(&::zip_get_error) get_error;
  decltype(&::zip_get_num_entries) get_num_entries;
  decltype(&::zip_open_from_source) open_from_source;
  decltype(&::zip_source_buffer_create) source_buffer_create;
  decltype(&::zip_source_free) source_free;
  decltype(&::zip_stat_index) stat_index;
  decltype(&::zip_stat_init) stat_init;
};

/// RuntimeError when the library has to be found and is not there.
const ZipLibrary& zip_library();

}  // namespace weft::io
