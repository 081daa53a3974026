# The public interface: one shared library, `kawara::kawara`, whose only headers are include/kawara.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/*.cpp)
add_library(kawara_api SHARED ${api_sources})
add_library(kawara::kawara ALIAS kawara_api)
target_include_directories(
  kawara_api PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(kawara_api PUBLIC cxx_std_20)
target_link_libraries(kawara_api PRIVATE kawara_tune)
kawara_own_llvm(kawara_api)
# What the folders of the line define stays inside.
target_link_options(kawara_api PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(kawara_api PROPERTIES EXPORT_NAME kawara OUTPUT_NAME kawara
                                            VERSION ${PROJECT_VERSION} SOVERSION 0)

install(TARGETS kawara_api EXPORT kawara-targets COMPONENT kawara)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/kawara DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT kawara)
set(kawara_package ${CMAKE_INSTALL_LIBDIR}/cmake/kawara)
install(EXPORT kawara-targets NAMESPACE kawara:: FILE kawara-config.cmake
        DESTINATION ${kawara_package} COMPONENT kawara)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/kawara-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/kawara-config-version.cmake DESTINATION ${kawara_package}
        COMPONENT kawara)
