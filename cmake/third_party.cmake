# isl: sets, relations, loop generation. Headers reach poly/, schedule/ and kernel/from_schedule* only.
add_library(kawara_isl INTERFACE)
find_library(ISL_LIBRARY isl REQUIRED)
target_link_libraries(kawara_isl INTERFACE ${ISL_LIBRARY})

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
find_package(LLVM REQUIRED CONFIG)
target_include_directories(kawara_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(KAWARA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(kawara_llvm INTERFACE ${KAWARA_LLVM_DEFINITIONS})
if(TARGET LLVM)
  target_link_libraries(kawara_llvm INTERFACE LLVM)
else()
  llvm_map_components_to_libnames(KAWARA_LLVM_LIBS orcjit native passes)
  target_link_libraries(kawara_llvm INTERFACE ${KAWARA_LLVM_LIBS})
endif()

# zlib: deflated members of .npz files. Header reaches run/npz.cpp only.
find_package(ZLIB REQUIRED)
