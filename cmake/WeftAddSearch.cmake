# weft_add_search(<name> FROM <program.cpp> [DEVICE cpu | cuda | sim:sm_90a …] [TARGET sm_90a …] [TRIALS <number>]
#                 [DEPENDS <files>])
#
# Compiles a program of the user's that calls weft::search_program (weft/search/trials/tune_schedule.h). Building the
# target <name> runs it: values for the knobs of its schedule are tried on the device, which is the CPU where none is
# named, and the fastest schedule is the file that the property WEFT_BEST of the target names, for weft run --schedule.
# The trials are the file WEFT_TRIALS: what was measured is not measured again. The program runs again when it, weft, or a
# file of DEPENDS changes.
function(weft_add_search name)
  cmake_parse_arguments(SEARCH "" "FROM;DEVICE;TARGET;TRIALS" "DEPENDS" ${ARGN})
  if(NOT SEARCH_FROM)
    message(FATAL_ERROR "weft_add_search(${name} …) needs FROM <program.cpp>")
  endif()
  if(SEARCH_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "weft_add_search(${name} …) does not know ${SEARCH_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${name}_search ${SEARCH_FROM})
  target_link_libraries(${name}_search PRIVATE weft::weft)
  set(best ${CMAKE_CURRENT_BINARY_DIR}/${name}.weft.json)
  set(trials ${CMAKE_CURRENT_BINARY_DIR}/${name}.trials.jsonl)
  set(words --out ${best} --db ${trials})
  foreach(option DEVICE TARGET TRIALS)
    if(SEARCH_${option})
      string(TOLOWER ${option} flag)
      list(APPEND words --${flag} ${SEARCH_${option}})
    endif()
  endforeach()
  add_custom_command(OUTPUT ${best} COMMAND ${name}_search ${words} DEPENDS ${name}_search ${SEARCH_DEPENDS}
                     COMMENT "Searching the schedule ${name}" VERBATIM)
  add_custom_target(${name} DEPENDS ${best})
  set_target_properties(${name} PROPERTIES WEFT_BEST ${best} WEFT_TRIALS ${trials})
endfunction()
