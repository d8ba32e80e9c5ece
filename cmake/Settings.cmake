# Compiler settings shared by every target: C++20, warnings (errors in the development presets), ccache, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  if(DEFINED SKBUILD)  # pip: objects are found again in another clone; scripts set this by their environment
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  endif()
endif()

add_library(meshwright_settings INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(meshwright_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
  if(MESHWRIGHT_WERROR)
    target_compile_options(meshwright_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Werror>)
  endif()
  # GCC 12 at -O3 sees overlapping copies in `"text" + std::string` that are not there (GCC bug 105651).
  target_compile_options(meshwright_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endif()
if(MESHWRIGHT_SANITIZE)
  # GCC 12 takes variables for uninitialized where a sanitizer's checks come between (GCC bug 105562).
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=${MESHWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MESHWRIGHT_SANITIZE})
endif()
if(MESHWRIGHT_TIDY)
  find_program(CLANG_TIDY NAMES clang-tidy REQUIRED)
  # Clang doesn't know GCC's -Wno-restrict.
  set(CMAKE_CXX_CLANG_TIDY ${CLANG_TIDY} --extra-arg=-Wno-unknown-warning-option)
endif()
