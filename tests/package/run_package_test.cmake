# cmake -DWAY=find_package|add_subdirectory -DWORK= -DSOURCE= -DBUILD= ... -P run_package_test.cmake

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# An older result must not stand in for this one.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

if(WAY STREQUAL find_package)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  # Moved, so that a path of the build or of the first place would show.
  file(RENAME ${WORK}/prefix ${WORK}/moved)
  set(how -DCMAKE_PREFIX_PATH=${WORK}/moved)
  set(programs pack multiply use_layer)
else()
  set(how -DWEFT_SOURCE=${SOURCE})
  set(programs pack)
endif()

# Libraries with a sanitizer in them link only into programs that have it too.
if(SANITIZE)
  list(APPEND how -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE} -DCMAKE_EXE_LINKER_FLAGS=-fsanitize=${SANITIZE})
endif()

# Without optimization: what is tested is that it builds, not its speed.
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build ${how} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${WORK}/build --target ${programs})
foreach(program ${programs})
  run(${WORK}/build/${program} ${WORK})
endforeach()
if(WAY STREQUAL find_package)
  run(${WORK}/moved/bin/weft --help)
  foreach(page share/doc/weft/docs/command.md share/man/man1/weft.1)
    if(NOT EXISTS ${WORK}/moved/${page})
      message(FATAL_ERROR "${page} is not installed")
    endif()
  endforeach()
  # As a shell completes it.
  execute_process(COMMAND bash -c "source ${WORK}/moved/share/bash-completion/completions/weft
      tried() { COMP_WORDS=(${WORK}/moved/bin/weft \"$@\"); COMP_CWORD=$#; _weft; echo \${COMPREPLY[@]}; }
      tried tu; tried model ex; tried run --rec; tried model tune --bud"
    OUTPUT_VARIABLE completed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT completed STREQUAL "tune\nexport\n--recipe\n--budget\n")
    message(FATAL_ERROR "words were completed to: ${completed}")
  endif()
  # Building the target searches.
  run(${CMAKE_COMMAND} --build ${WORK}/build --target rows)
  file(READ ${WORK}/build/rows.weft.json best)
  file(STRINGS ${WORK}/build/rows.trials.jsonl trials REGEX "\"config\"")
  list(LENGTH trials count)
  if(NOT best MATCHES "\"split\"" OR NOT count EQUAL 2)
    message(FATAL_ERROR "a search of a schedule made ${count} trials, and wrote ${best}")
  endif()
endif()
