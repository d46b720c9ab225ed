# The texts of templates/ as a source of weft, and the one of them that weft itself calls.
file(GLOB weft_template_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/templates/*)
set(weft_template_entries "")
foreach(file IN LISTS weft_template_files)
  get_filename_component(name ${file} NAME)
  string(REGEX REPLACE "\\.in$" "" name ${name})
  file(READ ${file} text)
  string(APPEND weft_template_entries "    {\"${name}\", R\"weft_text(${text})weft_text\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endforeach()
set(weft_export_folder ${CMAKE_CURRENT_BINARY_DIR}/export)
file(CONFIGURE OUTPUT ${weft_export_folder}/template_texts.cpp @ONLY CONTENT
[==[// Made from backends/export/templates.
#include <weft/backends/export/print.h>

namespace weft::exporting {
namespace {
constexpr Template texts[] = {
@weft_template_entries@};
}  // namespace

std::span<const Template> templates() {
  return texts;
}
}  // namespace weft::exporting
]==])
set(NAME weft)
set(SPDX Apache-2.0)
configure_file(${CMAKE_CURRENT_LIST_DIR}/templates/sha256.c.in ${weft_export_folder}/sha256.cpp @ONLY)
unset(NAME)
unset(SPDX)
set(weft_export_sources ${weft_export_folder}/template_texts.cpp ${weft_export_folder}/sha256.cpp)
