# Compiles SOURCE with COMPILER, without output, and compares what happens with what the file states.
cmake_minimum_required(VERSION 3.25)

# A notice, because the text of a FATAL_ERROR is broken into lines anew.
function(complain text)
  message(NOTICE "${text}")
  message(FATAL_ERROR "failed")
endfunction()

file(STRINGS ${SOURCE} expected REGEX "^// expect: ")
file(STRINGS ${SOURCE} legal REGEX "^// legal$")
list(LENGTH expected count)
if(NOT (legal AND count EQUAL 0) AND NOT (NOT legal AND count EQUAL 1))
  complain("${SOURCE} states neither `// legal` nor one `// expect: PHRASE`")
endif()

string(REPLACE "|" ";" directories "${INCLUDES}")
list(TRANSFORM directories PREPEND "-I")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${directories} ${SOURCE}
                RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_VARIABLE text)

if(legal)
  if(NOT result EQUAL 0)
    complain("${SOURCE} is legal but does not compile:\n${text}")
  endif()
  return()
endif()

if(result EQUAL 0)
  complain("${SOURCE} is refused by nobody")
endif()
string(REGEX REPLACE "^// expect: " "" phrase "${expected}")
# A bracket or a semicolon in the text would change how CMake splits it into lines.
string(REGEX REPLACE "[][;]" " " lines "${text}")
string(REGEX MATCHALL "[^\n]* error: [^\n]*" errors "${lines}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
  complain("${SOURCE} gets ${count} errors, not one:\n${text}")
endif()
string(FIND "${errors}" "${phrase}" place)
if(place EQUAL -1)
  complain("The compiler does not say\n  ${phrase}\nabout ${SOURCE}, it says\n${text}")
endif()
