# Install and export: find_package(meshwright) gives meshwright::meshwright.
include(CMakePackageConfigHelpers)
get_property(folders GLOBAL PROPERTY MESHWRIGHT_FOLDERS)
install(TARGETS ${folders} meshwright_library EXPORT meshwright-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(DIRECTORY include/meshwright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT meshwright-targets NAMESPACE meshwright:: COMPONENT library
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/meshwright)
configure_package_config_file(cmake/meshwright-config.cmake.in ${PROJECT_BINARY_DIR}/meshwright-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/meshwright)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/meshwright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/meshwright-config.cmake ${PROJECT_BINARY_DIR}/meshwright-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/meshwright COMPONENT library)
