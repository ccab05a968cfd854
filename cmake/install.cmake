# Installs the library as a CMake package (find_package(ringrpc), target ringrpc::ringrpc) and for
# pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ringrpc)

install(TARGETS ringrpc EXPORT ringrpc_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/engine/include/ringrpc
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT ringrpc_targets NAMESPACE ringrpc:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ringrpc-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/ringrpc-config.cmake INSTALL_DESTINATION ${package_dir})
# 0.x: each minor version may break the last.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/ringrpc-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/ringrpc-config.cmake
  ${PROJECT_BINARY_DIR}/cmake/ringrpc-config-version.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pkgconfig
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(${CMAKE_CURRENT_LIST_DIR}/ringrpc.pc.in ${PROJECT_BINARY_DIR}/cmake/ringrpc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/ringrpc.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(program ringrpcd ringcall ringload ringtop)
  if(TARGET ${program})
    # tools/run builds no more than it needs; what was not built is not installed.
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
      COMPONENT programs OPTIONAL)
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
