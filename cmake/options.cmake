# The flags of this project's own builds. They live on two INTERFACE targets, which consumers of the
# installed library never see:
#   ringrpc_options    everything that is compiled here links it
#   ringrpc_allocator  the programs link it; empty where the allocator is libc's

add_library(ringrpc_options INTERFACE)
target_include_directories(ringrpc_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ringrpc_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${RINGRPC_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It sees overlaps in std::string that are not there (GCC bug 105651).
  target_compile_options(ringrpc_options INTERFACE -Wno-restrict)
endif()
target_compile_definitions(ringrpc_options INTERFACE
  $<$<BOOL:${RINGRPC_DEBUG_CHECKS}>:RINGRPC_DEBUG_CHECKS>)

if(RINGRPC_SANITIZE)
  # One list for compiling and linking. Undefined behaviour ends the program, so tests see it.
  # Not vptr: the engine has no RTTI for it to read.
  set(flags -fsanitize=${RINGRPC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(RINGRPC_SANITIZE MATCHES undefined)
    list(APPEND flags -fno-sanitize=vptr)
  endif()
  target_compile_options(ringrpc_options INTERFACE ${flags})
  target_link_options(ringrpc_options INTERFACE ${flags})
endif()

if(RINGRPC_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RINGRPC_FUZZ needs clang++ (libFuzzer); try: cmake --preset fuzz")
  endif()
  target_compile_options(ringrpc_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(RINGRPC_LTO)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "RINGRPC_LTO is for g++; its fat objects serve consumers of every compiler")
  endif()
  # Fat: the archive holds machine code beside g++'s own representation, so that clang links it.
  target_compile_options(ringrpc_options INTERFACE -flto=auto -ffat-lto-objects)
  target_link_options(ringrpc_options INTERFACE -flto=auto)
  set(CMAKE_AR ${CMAKE_CXX_COMPILER_AR})
  set(CMAKE_RANLIB ${CMAKE_CXX_COMPILER_RANLIB})
endif()

add_library(ringrpc_allocator INTERFACE)
if(RINGRPC_MIMALLOC AND NOT RINGRPC_SANITIZE)
  find_library(RINGRPC_MIMALLOC_LIBRARY mimalloc REQUIRED)
  # Nothing refers to it by name, so a linker that drops unneeded libraries would drop it.
  target_link_libraries(ringrpc_allocator INTERFACE
    -Wl,--push-state,--no-as-needed,${RINGRPC_MIMALLOC_LIBRARY},--pop-state)
endif()

# A fuzzer: one file with LLVMFuzzerTestOneInput, and its corpus in tests/fuzz/corpus/<name>/.
# In the fuzz preset it becomes bin/fuzz/<name>; everywhere else a test that replays the corpus, so
# that each input that was ever found is run by the sanitizer suites too.
function(ringrpc_add_fuzzer name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ringrpc ringrpc_options)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
  if(RINGRPC_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.cpp)
    add_test(NAME "${name} replays its corpus"
      COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  endif()
endfunction()
