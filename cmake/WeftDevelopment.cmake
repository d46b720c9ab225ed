# Targets for whoever changes weft: format, lint, coverage_report. Each exists where its tool does.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# One major version, so that everybody's output is the same.
find_program(WEFT_CLANG_FORMAT clang-format-19)
find_program(WEFT_CLANG_TIDY clang-tidy-19)
find_program(WEFT_GCOVR gcovr)
mark_as_advanced(WEFT_CLANG_FORMAT WEFT_CLANG_TIDY WEFT_GCOVR)

if(WEFT_CLANG_FORMAT)
  add_custom_target(format
    COMMAND ${CMAKE_COMMAND} -E env CLANG_FORMAT=${WEFT_CLANG_FORMAT} ${PROJECT_SOURCE_DIR}/cmake/format --write
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(WEFT_CLANG_TIDY)
  add_custom_target(lint
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/lint ${WEFT_CLANG_TIDY} ${PROJECT_BINARY_DIR}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
if(WEFT_GCOVR AND WEFT_COVERAGE)
  add_custom_target(coverage_report
    COMMAND ${WEFT_GCOVR} --root ${PROJECT_SOURCE_DIR} --object-directory ${PROJECT_BINARY_DIR}
            --exclude tests/ --exclude examples/ --print-summary --html-details coverage.html
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR} USES_TERMINAL VERBATIM)
endif()
