# What makes a fresh build quick on few cores. Behind a compiler cache (WEFT_CCACHE) every file is compiled by itself: the
# cache keeps whole objects, and files that forget a header are found there.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

# GCC looks for memory to use again whenever what it holds has grown much. From half a gigabyte on, five files took 8 % less
# time, and the largest file takes 1.3 GB in place of 1.2.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()

set(weft_standard_headers
  <algorithm> <array> <bit> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string>
  <string_view> <tuple> <utility> <variant> <vector>)

# weft_precompile(<target> KIND <kind> [HEADERS <headers>]): headers from outside weft, and those of weft that most files of
# the room include, are read once. The first target of a kind precompiles them; the others of that kind, which are compiled
# with the same options, take them from it.
function(weft_precompile target)
  cmake_parse_arguments(GIVEN "" "KIND" "HEADERS" ${ARGN})
  if(target IN_LIST WEFT_OPTIMIZED)
    target_compile_options(${target} PRIVATE -O1)
    string(APPEND GIVEN_KIND _optimized)
  endif()
  get_property(first GLOBAL PROPERTY WEFT_PRECOMPILED_${GIVEN_KIND})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${weft_standard_headers} ${GIVEN_HEADERS})
    set_property(GLOBAL PROPERTY WEFT_PRECOMPILED_${GIVEN_KIND} ${target})
  endif()
endfunction()

# weft_compile_together(<target> FILES <number> [ALONE <folders>]): so many files of a folder at a time are one for the
# compiler; files made in the build's folder go with those of the folder that they stand for.
function(weft_compile_together target)
  cmake_parse_arguments(GIVEN "" "FILES" "ALONE" ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT WEFT_TOGETHER)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    string(REPLACE ${CMAKE_CURRENT_BINARY_DIR}/ "" folder ${file})
    string(REPLACE ${CMAKE_CURRENT_SOURCE_DIR}/ "" folder ${folder})
    get_filename_component(folder ${folder} DIRECTORY)
    if(NOT folder IN_LIST GIVEN_ALONE)
      string(MAKE_C_IDENTIFIER "in_${folder}" folder)
      list(APPEND before_${folder} ${file})
      list(LENGTH before_${folder} number)
      math(EXPR batch "(${number} - 1) / ${GIVEN_FILES}")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${folder}_${batch})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# For targets whose own code does little: what has to be fast is in formats, the simulator, the reference and what weft
# compiles itself. It takes a quarter to a third off the time of the compiler. Not less than that: of an inline function that
# a program compiles too, the linker takes the program's, and libraries would be as slow as a test.
function(weft_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# For tests, which are many programs: linked by gold where it is there, which takes a third of the time of ld.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold weft_has_gold)
function(weft_build_quickly target)
  weft_optimize_little(${target})
  if(weft_has_gold)
    target_link_options(${target} PRIVATE $<$<CONFIG:Release>:-fuse-ld=gold>)
  endif()
endfunction()
