# weft as other projects see it: each entry configures, builds and runs the project of this folder.
set(weft_package_work ${CMAKE_CURRENT_BINARY_DIR}/package)

foreach(way find_package add_subdirectory)
  add_test(NAME package_${way}
    COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DWORK=${weft_package_work}/${way}
            -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DC_COMPILER=${CMAKE_C_COMPILER}
            -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -DSANITIZE=${WEFT_SANITIZE}
            -P ${CMAKE_CURRENT_LIST_DIR}/run_package_test.cmake)
  set_tests_properties(package_${way} PROPERTIES LABELS package TIMEOUT 900)
endforeach()
