# What `cmake --install` lays out: headers as <weft/dsl/...>, one library a room, the command, and the package that
# find_package(weft) reads.
include(CMakePackageConfigHelpers)

get_property(weft_rooms GLOBAL PROPERTY WEFT_ROOMS)
set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS ${weft_rooms} weft_umbrella EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder dsl formats scheduler backends search)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES search/weft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weft)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weft PATTERN data EXCLUDE PATTERN weft.1 EXCLUDE)
if(TARGET weft_command)
  install(TARGETS weft_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES search/tool/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
endif()

install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir})
configure_package_config_file(cmake/weftConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake
                              INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake
              cmake/WeftDependencies.cmake cmake/WeftAddKernel.cmake cmake/WeftAddSearch.cmake
        DESTINATION ${weft_package_dir})
