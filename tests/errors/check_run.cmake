# Runs the illegal program NAME of PROGRAM, compares its message with what its SOURCE states, and runs it as the SOURCE's
# fix makes it, in FIXED.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/read_program.cmake)

read_program(${SOURCE})
if(NOT expected OR NOT here)
  complain("${SOURCE} needs a line `// expect: PHRASE` and one line that ends in `// here`")
endif()
if(NOT fixes)
  complain("${SOURCE} states no fix: it needs a line `// fix: TEXT`, the line that replaces the one with `// here`")
endif()

execute_process(COMMAND ${PROGRAM} ${NAME} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT result EQUAL 1)
  complain("${NAME} ended with ${result}, not with a UserError:\n${text}")
endif()
foreach(phrase IN LISTS expected ITEMS "found:" "accepted:" ${here})
  require_phrase("${text}" "${phrase}" "The message" ${NAME})
endforeach()

execute_process(COMMAND ${FIXED} ${NAME} RESULT_VARIABLE result OUTPUT_VARIABLE fixed_text ERROR_VARIABLE fixed_text)
if(NOT result EQUAL 0)
  complain("With its fix ${NAME} ended with ${result}:\n${fixed_text}\nWithout it is told\n${text}")
endif()
