# Compiles programs as check_compile.cmake and check_fixes.cmake need it: by COMPILER, with the folders INCLUDES, without
# output. What weft's headers say stands compiled in the folder HEADERS.

# header_of(<source> <result>): the one of these headers that has all that the program includes of weft.
function(header_of source result)
  file(STRINGS ${source} included REGEX "^#include <weft/")
  list(FILTER included EXCLUDE REGEX "<weft/dsl/")
  set(${result} ${HEADERS}/language.h PARENT_SCOPE)
  if(included)
    set(${result} ${HEADERS}/everything.h PARENT_SCOPE)
  endif()
endfunction()

# compile(<source> <header> [flags...]): sets `result` and `text`, what the compiler says.
function(compile source header)
  set(compiled_headers)
  if(NOT ARGN)  # with the flags of a program they would not fit
    set(compiled_headers -include ${header})
  endif()
  string(REPLACE "|" ";" directories "${INCLUDES}")
  list(TRANSFORM directories PREPEND "-I")
  execute_process(COMMAND ${COMPILER} -std=c++20 ${ARGN} -fsyntax-only ${directories} ${compiled_headers} ${source}
                  RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_VARIABLE text)
  set(result "${result}" PARENT_SCOPE)
  set(text "${text}" PARENT_SCOPE)
endfunction()

# Compiles what `source` is with its fix.
function(check_fix source)
  read_program(${source})
  header_of(${source} header)
  cmake_path(GET source FILENAME file)
  file(WRITE ${FIXED}/${file} "${fixed}")
  compile(${FIXED}/${file} ${header} ${fixed_flags})
  if(NOT result EQUAL 0)
    complain("With its fix ${source} does not compile:\n${text}")
  endif()
endfunction()
