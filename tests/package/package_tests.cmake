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

# Exported packages. The first entry writes what the others build.
add_executable(export_packages ${CMAKE_CURRENT_LIST_DIR}/export_packages.cpp)
target_link_libraries(export_packages PRIVATE weft::weft)
weft_warnings(export_packages)
set(ways write gcc clang nvcc)
if(WEFT_SIMULATOR)
  add_library(simulated_driver SHARED ${CMAKE_CURRENT_LIST_DIR}/simulated_driver.cpp)
  target_link_libraries(simulated_driver PRIVATE weft::simulator)
  set_target_properties(simulated_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 CXX_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/simulated_driver)
  weft_warnings(simulated_driver)
  if(NOT WEFT_SANITIZE)  # with one, the driver would bring it into programs that lack it
    list(APPEND ways simulated)
  endif()
endif()
foreach(way IN LISTS ways)
  add_test(NAME export_${way}
    COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DWORK=${weft_package_work}/export -DEXPORTER=$<TARGET_FILE:export_packages>
            -DWEFT=$<TARGET_FILE:weft_command> -DSIMULATED=${CMAKE_BINARY_DIR}/simulated_driver
            -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DC_COMPILER=${CMAKE_C_COMPILER}
            -DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER} -P ${CMAKE_CURRENT_LIST_DIR}/run_export_test.cmake)
  set_tests_properties(export_${way} PROPERTIES LABELS package TIMEOUT 300 SKIP_REGULAR_EXPRESSION "\\[SKIP\\]")
  if(NOT way STREQUAL write)
    set_tests_properties(export_${way} PROPERTIES FIXTURES_REQUIRED exported_packages)
  endif()
endforeach()
set_tests_properties(export_write PROPERTIES FIXTURES_SETUP exported_packages)

# The wheel for Python, with small programs in the place of the command and of cmake.
find_program(WEFT_PYTHON python3)
if(WEFT_PYTHON)
  add_test(NAME wheel_test COMMAND ${WEFT_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/wheel_test.py ${PROJECT_VERSION})
else()
  add_test(NAME wheel_test COMMAND ${CMAKE_COMMAND} -E echo "[SKIP] there is no python3")
endif()
set_tests_properties(wheel_test PROPERTIES LABELS unit TIMEOUT 60 SKIP_REGULAR_EXPRESSION "\\[SKIP\\]")
