# What weft needs from the distribution. Included by the build and, installed, by weftConfig.cmake, so that both find the
# same things. It never stops by itself: what was not found stands in weft_missing, as names of Debian packages, and
# whoever included it says so. The packages are explained in cmake/packages.txt.
#
# Read before: WEFT_STATIC, WEFT_WITH_Z3_LIBRARY (whether Z3 is wanted).

set(weft_missing "")
macro(weft_need found package)
  if(NOT ${found})
    list(APPEND weft_missing ${package})
  endif()
endmacro()

find_package(Threads QUIET)
weft_need(Threads_FOUND libc6-dev)
find_package(nlohmann_json QUIET)
weft_need(nlohmann_json_FOUND nlohmann-json3-dev)
find_package(Boost 1.74 QUIET)
weft_need(Boost_FOUND libboost-dev)
find_package(CLI11 QUIET)
weft_need(CLI11_FOUND libcli11-dev)

# The distribution has no static {fmt}, so what travels takes its headers.
if(WEFT_STATIC)
  find_path(weft_fmt_include fmt/format.h)
  mark_as_advanced(weft_fmt_include)
  weft_need(weft_fmt_include libfmt-dev)
  if(weft_fmt_include AND NOT TARGET fmt::fmt)
    add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
    set_target_properties(fmt::fmt PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${weft_fmt_include}"
                                              INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
  endif()
else()
  find_package(fmt QUIET)
  weft_need(fmt_FOUND libfmt-dev)
endif()

# Its functions are in the header.
find_path(weft_xxhash_include xxhash.h)
mark_as_advanced(weft_xxhash_include)
weft_need(weft_xxhash_include libxxhash-dev)

# Not find_package(libzip): its configuration stops where the programs of libzip are not installed beside the library.
# What travels opens the library by name when a .npz file is read, since the distribution has no static one.
find_path(weft_zip_include zip.h)
find_library(weft_zip_library zip)
mark_as_advanced(weft_zip_include weft_zip_library)
weft_need(weft_zip_include libzip-dev)
if(weft_zip_include AND weft_zip_library AND NOT TARGET libzip::zip)
  add_library(libzip::zip INTERFACE IMPORTED GLOBAL)
  set_target_properties(libzip::zip PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${weft_zip_include}")
  if(NOT WEFT_STATIC)
    set_target_properties(libzip::zip PROPERTIES INTERFACE_LINK_LIBRARIES "${weft_zip_library}")
  endif()
endif()

# weft_need_library(<target> <header> <library> <package> [<folders of the header>]): the target, where both are found.
macro(weft_need_library target header library package)
  find_path(weft_${target}_include ${header} PATH_SUFFIXES ${ARGN})
  find_library(weft_${target}_file ${library})
  mark_as_advanced(weft_${target}_include weft_${target}_file)
  if(NOT weft_${target}_include OR NOT weft_${target}_file)
    list(APPEND weft_missing ${package})
  elseif(NOT TARGET weft::${target})
    add_library(weft::${target} INTERFACE IMPORTED GLOBAL)
    set_target_properties(weft::${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${weft_${target}_include}"
                                                     INTERFACE_LINK_LIBRARIES "${weft_${target}_file}")
  endif()
endmacro()

# Files of ONNX are messages of protobuf. What travels takes the static library.
if(WEFT_STATIC)
  weft_need_library(protobuf google/protobuf/io/coded_stream.h libprotobuf-lite.a libprotobuf-dev)
else()
  weft_need_library(protobuf google/protobuf/io/coded_stream.h protobuf-lite libprotobuf-dev)
endif()
if(WEFT_WITH_Z3_LIBRARY)
  weft_need_library(z3_library z3++.h z3 libz3-dev z3)
endif()

# LLVM's version file knows only major.minor requests; its configuration needs the languages C and CXX.
if(WEFT_STATIC)
  set(ZLIB_USE_STATIC_LIBS ON)
endif()
find_package(LLVM 19.1 QUIET CONFIG)
weft_need(LLVM_FOUND llvm-19-dev)
if(LLVM_FOUND AND NOT TARGET weft::llvm_library)
  add_library(weft::llvm_library INTERFACE IMPORTED GLOBAL)
  set_target_properties(weft::llvm_library PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${LLVM_INCLUDE_DIRS}")
  if(WEFT_STATIC)
    # As packaged, the static library names shared zstd and Z3; nothing that weft uses of it calls Z3.
    set_target_properties(LLVMSupport PROPERTIES
      INTERFACE_LINK_LIBRARIES "rt;dl;m;ZLIB::ZLIB;zstd::libzstd_static;LLVMDemangle")
    # An LLVM that was built without one of the processors does for all others.
    set(weft_llvm_components orcjit passes NVPTX)
    foreach(weft_llvm_target X86 AArch64)
      if(weft_llvm_target IN_LIST LLVM_TARGETS_TO_BUILD)
        list(APPEND weft_llvm_components ${weft_llvm_target})
      endif()
    endforeach()
    llvm_map_components_to_libnames(weft_llvm_components ${weft_llvm_components})
    set_target_properties(weft::llvm_library PROPERTIES INTERFACE_LINK_LIBRARIES "${weft_llvm_components}")
  else()
    set_target_properties(weft::llvm_library PROPERTIES INTERFACE_LINK_LIBRARIES LLVM)
  endif()
endif()
