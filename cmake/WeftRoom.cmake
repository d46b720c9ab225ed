# A room is one top-level folder and one static library. It may use the rooms that it names after USES, which
# stand to its left in dsl <- formats <- scheduler <- backends <- search; the build knows no other way.

# <weft/dsl/tensor.h> is dsl/tensor.h: each room is linked into the include tree of the build.
set(WEFT_INCLUDE_DIR ${CMAKE_CURRENT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${WEFT_INCLUDE_DIR}/weft)

# weft_room(<name> SOURCES <files> USES <rooms and libraries> PRIVATELY <libraries> [PRECOMPILE <headers>]
#           [ALONE <folders>])
# Beside the packages of the distribution, PRIVATELY may name weft::llvm_library (backends/llvm only), weft::z3_library
# (scheduler only, where WEFT_Z3 is on), libzip::zip and weft::protobuf. The files of a folder are compiled together, except in
# the folders ALONE: there each file is written to the same pattern, with the same names.
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;PRIVATELY;PRECOMPILE;ALONE" ${ARGN})
  add_library(weft_${name} STATIC ${ROOM_SOURCES})
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${WEFT_INCLUDE_DIR}>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(weft_${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_PRIVATELY})
  weft_warnings(weft_${name})
  weft_compile_together(weft_${name} FILES 16 ALONE ${ROOM_ALONE})
  if(ROOM_PRECOMPILE)
    weft_precompile(weft_${name} KIND ${name} HEADERS ${ROOM_PRECOMPILE})
  elseif(fmt::fmt IN_LIST ROOM_PRIVATELY)
    weft_precompile(weft_${name} KIND room HEADERS <fmt/format.h>)
  else()
    weft_precompile(weft_${name} KIND room_without_fmt)
  endif()
  set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS weft_${name})
endfunction()

# weft_link_headers(<top-level folder>): makes <weft/folder/...> resolve to it.
function(weft_link_headers folder)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${WEFT_INCLUDE_DIR}/weft/${folder} SYMBOLIC)
endfunction()

function(weft_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # g++ is the compiler that has to be quiet. clang counts signs into -Wconversion, and its use of libstdc++ 12's
    # stable_sort as a use of what that deprecates.
    target_compile_options(${target} PRIVATE -Wno-sign-conversion -Wno-deprecated-declarations)
    if(WEFT_TOGETHER)
      # Of files that are compiled together it also counts the names of the others.
      target_compile_options(${target} PRIVATE -Wno-shadow)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Once it inlines std::string, g++ 12 sees overlaps and overruns there that are none (its bug 105651); the address
    # sanitizer finds the real ones.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                             $<$<CONFIG:Release>:-Wno-stringop-overread>
                                             $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
  endif()
  if(WEFT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
