# scavenger_library(name SOURCES ... [PUBLIC ...] [PRIVATE ...]): one static library per folder, named after it.
# scavenger_test(name SOURCES ... LINK ...): one Catch2 executable, registered with CTest as "name".
# scavenger_program(name SOURCES ... LINK ...): one executable of apps/, built into bin/ and installed.
# scavenger_python_test(name SCRIPT ... [ARGS ...]): a test in Python, run with the project's .venv where there is one.

# What decides, reads and reports spends its time waiting, and a quarter less time to compile with -O1 than with -O2.
# A folder of such code says `add_compile_options(${SCAVENGER_CONTROL_PLANE_FLAGS})`.
set(SCAVENGER_CONTROL_PLANE_FLAGS $<$<CONFIG:Release>:-Og>)

add_library(scavenger_flags INTERFACE)
target_compile_options(scavenger_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# g++ 12 warns that a coroutine frame which Asio allocates by aligned_alloc is not freed by free; it is.
target_compile_options(scavenger_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
# g++ collects garbage less often: an eighth less processor time to compile, for a third more memory (1.4 GB at most).
target_compile_options(scavenger_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1500000>)
# A path in a message begins at the project's root. So all clones make the same objects, and share the compiler's cache.
target_compile_options(scavenger_flags INTERFACE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Results must not depend on the instruction set: no fused multiply-add unless it is written out.
target_compile_options(scavenger_flags INTERFACE -ffp-contract=off)
if(SCAVENGER_UNITY)  # there, what stands in an unnamed namespace comes from an included file
  target_compile_options(scavenger_flags INTERFACE -Wno-subobject-linkage)
endif()
if(SCAVENGER_WERROR)
  target_compile_options(scavenger_flags INTERFACE -Werror)
endif()
if(SCAVENGER_SANITIZE)
  target_compile_options(scavenger_flags INTERFACE
    -fsanitize=${SCAVENGER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)  # g++ 12 warns falsely of <regex> with sanitizers (GCC bug 105562)
  target_link_options(scavenger_flags INTERFACE -fsanitize=${SCAVENGER_SANITIZE})
  if(SCAVENGER_SANITIZE MATCHES thread)
    target_compile_options(scavenger_flags INTERFACE -Wno-tsan)  # Asio uses fences
  endif()
endif()

function(scavenger_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(scavenger_${name} STATIC ${arg_SOURCES})
  add_library(scavenger::${name} ALIAS scavenger_${name})
  target_include_directories(scavenger_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(scavenger_${name} PUBLIC ${arg_PUBLIC} PRIVATE scavenger_flags ${arg_PRIVATE})
  set_target_properties(scavenger_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    UNITY_BUILD ${SCAVENGER_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# Refuses a second test of one name. CTest would run both, and each report would be of one of them.
function(scavenger_test_name name)
  get_property(names GLOBAL PROPERTY SCAVENGER_TEST_NAMES)
  if(name IN_LIST names)
    message(FATAL_ERROR "two tests have the name ${name}: give the one of ${CMAKE_CURRENT_SOURCE_DIR} another name")
  endif()
  set_property(GLOBAL APPEND PROPERTY SCAVENGER_TEST_NAMES ${name})
endfunction()

function(scavenger_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} scavenger_catch_main scavenger_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test
    UNITY_BUILD ${SCAVENGER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  scavenger_test_name(${name})
  add_test(NAME ${name} COMMAND ${name})
  # Under a sanitizer, and not optimized, what fits numbers takes many times as long.
  set(limit_seconds 300)
  if(SCAVENGER_SANITIZE)
    set(limit_seconds 1800)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit_seconds} SKIP_RETURN_CODE 77 LABELS unit)
  set_property(GLOBAL APPEND PROPERTY SCAVENGER_UNIT_TESTS ${name})
endfunction()

# An executable of bin/, in the build folder and where it is installed, where it finds its libraries in ../lib from
# wherever the folder is moved to. The old kind of run path (RPATH), because it also holds for what a library needs.
# CMAKE_INSTALL_RPATH adds further folders (scripts/gpu_bundle.sh).
function(scavenger_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} scavenger_flags)
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;${CMAKE_INSTALL_RPATH}"
    UNITY_BUILD ${SCAVENGER_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  install(TARGETS ${name} RUNTIME_DEPENDENCY_SET scavenger_libraries RUNTIME DESTINATION bin)
  if(NOT TARGET programs)
    add_custom_target(programs)  # all of them, and nothing of the tests
  endif()
  add_dependencies(programs ${name})
endfunction()

# A test in Python: exit code 0 passed, 77 skipped (it says why). ARGS follow the script's name.
function(scavenger_python_test name)
  cmake_parse_arguments(arg "" "SCRIPT" "ARGS" ${ARGN})
  scavenger_test_name(${name})
  add_test(NAME ${name} COMMAND ${SCAVENGER_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()
