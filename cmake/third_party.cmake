# KAWARA_STATIC: programs that need nothing but the C library, to be carried to other machines.
option(KAWARA_STATIC "Link everything but the C library statically" OFF)
if(KAWARA_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

# fmt: text. Debian has no libfmt.a, hence the headers where no shared library may be used.
add_library(kawara_fmt INTERFACE)
find_package(fmt REQUIRED)
if(KAWARA_STATIC)
  target_link_libraries(kawara_fmt INTERFACE fmt::fmt-header-only)
else()
  target_link_libraries(kawara_fmt INTERFACE fmt::fmt)
endif()

# isl: sets, relations, loop generation. Headers reach poly/, schedule/ and kernel/from_schedule/from_schedule* only.
add_library(kawara_isl INTERFACE)
find_library(ISL_LIBRARY isl REQUIRED)
target_link_libraries(kawara_isl INTERFACE ${ISL_LIBRARY})
if(KAWARA_STATIC)
  find_library(GMP_LIBRARY gmp REQUIRED)
  target_link_libraries(kawara_isl INTERFACE ${GMP_LIBRARY})
else()
  # libLLVM.so exports the copy of isl inside Polly, another version than the headers are of. The
  # library that comes first on the link line and in the program's list of libraries wins.
  add_link_options(-Wl,--push-state,--no-as-needed,${ISL_LIBRARY},--pop-state)
endif()

# LLVM: any version from 17 on. Headers reach emit/llvm/ and run/cpu/ only.
add_library(kawara_llvm INTERFACE)
if(NOT LLVM_DIR)
  foreach(version 19 20 18 17)
    if(EXISTS /usr/lib/llvm-${version}/lib/cmake/llvm/LLVMConfig.cmake)
      set(LLVM_DIR /usr/lib/llvm-${version}/lib/cmake/llvm)
      break()
    endif()
  endforeach()
endif()
if(KAWARA_STATIC AND NOT TARGET zstd::libzstd_shared)
  # LLVM's exported libraries name this target, whichever library it stands for.
  find_library(ZSTD_LIBRARY zstd REQUIRED)
  add_library(zstd::libzstd_shared INTERFACE IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES INTERFACE_LINK_LIBRARIES ${ZSTD_LIBRARY})
endif()
find_package(LLVM REQUIRED CONFIG)
target_include_directories(kawara_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(KAWARA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(kawara_llvm INTERFACE ${KAWARA_LLVM_DEFINITIONS})
if(TARGET LLVM AND TARGET LLVMOrcJIT AND NOT KAWARA_STATIC AND NOT KAWARA_SANITIZE)
  # Loading the shared library takes 40 MB of memory, most of it for what is never used. Programs for users
  # (kawara_own_llvm) contain what they need; tests, of which there are many, share the library.
  llvm_map_components_to_libnames(KAWARA_OWN_LLVM_LIBS orcjit AArch64 X86 passes asmparser)
  set(own "$<BOOL:$<TARGET_PROPERTY:KAWARA_OWN_LLVM>>")
  target_link_libraries(kawara_llvm INTERFACE "$<IF:${own},${KAWARA_OWN_LLVM_LIBS},LLVM>")
  target_compile_definitions(kawara_llvm INTERFACE KAWARA_LLVM_HAS_ALL_TARGETS)
elseif(TARGET LLVM AND NOT KAWARA_STATIC)
  target_link_libraries(kawara_llvm INTERFACE LLVM)
  # The shared library has all processors: assembly for others than this one can be looked at.
  target_compile_definitions(kawara_llvm INTERFACE KAWARA_LLVM_HAS_ALL_TARGETS)
else()
  # `native` of an LLVM for another architecture is that of this machine.
  if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(KAWARA_LLVM_TARGET X86)
  else()
    set(KAWARA_LLVM_TARGET native)
  endif()
  llvm_map_components_to_libnames(KAWARA_LLVM_LIBS orcjit ${KAWARA_LLVM_TARGET} passes asmparser)
  target_link_libraries(kawara_llvm INTERFACE ${KAWARA_LLVM_LIBS})
endif()

# Gives a program or shared library its own copy of LLVM's code where that is possible.
include(CheckLinkerFlag)
set(options_together -Wl,-T,${CMAKE_CURRENT_LIST_DIR}/options_together.ld)
check_linker_flag(CXX "${options_together}" KAWARA_HAS_OPTIONS_TOGETHER)
function(kawara_own_llvm target)
  if(NOT KAWARA_OWN_LLVM_LIBS)
    return()
  endif()
  set_target_properties(${target} PROPERTIES KAWARA_OWN_LLVM ON)
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
  if(KAWARA_HAS_OPTIONS_TOGETHER)
    target_link_options(${target} PRIVATE ${options_together})
  endif()
endfunction()

# zlib: deflated members of .npz files. Header reaches run/npz.cpp only.
find_package(ZLIB REQUIRED)

# SQLite: the tuning database. Header reaches tune/database/sqlite.cpp only.
add_library(kawara_sqlite INTERFACE)
find_library(SQLITE_LIBRARY sqlite3 REQUIRED)
target_link_libraries(kawara_sqlite INTERFACE ${SQLITE_LIBRARY} ${CMAKE_DL_LIBS} m)

# ONNX: the format's own schema, compiled here for the small run time of protobuf. Headers reach
# graph/onnx/ only.
find_program(PROTOC protoc REQUIRED)
find_path(ONNX_INCLUDE_DIR onnx/onnx.proto REQUIRED)
find_path(PROTOBUF_INCLUDE_DIR google/protobuf/message_lite.h REQUIRED)
find_library(PROTOBUF_LITE_LIBRARY protobuf-lite REQUIRED)
set(KAWARA_ONNX_DIR ${CMAKE_BINARY_DIR}/onnx_schema)
add_custom_command(
  OUTPUT ${KAWARA_ONNX_DIR}/onnx/onnx.pb.cc ${KAWARA_ONNX_DIR}/onnx/onnx.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${KAWARA_ONNX_DIR}
  COMMAND ${PROTOC} --proto_path=${ONNX_INCLUDE_DIR} --cpp_out=${KAWARA_ONNX_DIR} onnx/onnx.proto
  DEPENDS ${ONNX_INCLUDE_DIR}/onnx/onnx.proto)
add_library(kawara_onnx STATIC ${KAWARA_ONNX_DIR}/onnx/onnx.pb.cc ${KAWARA_ONNX_DIR}/onnx/onnx.pb.h)
target_include_directories(kawara_onnx SYSTEM PUBLIC ${KAWARA_ONNX_DIR} ${PROTOBUF_INCLUDE_DIR})
target_link_libraries(kawara_onnx PUBLIC ${PROTOBUF_LITE_LIBRARY} Threads::Threads)
target_compile_options(kawara_onnx PRIVATE -w)
