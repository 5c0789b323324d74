# Run at every build: writes the version and the commit, and touches the header only when they change.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --abbrev=12 --exclude=* --dirty=+
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(WRITE ${HEADER}.new "#define SCAVENGER_VERSION \"${VERSION}\"\n#define SCAVENGER_COMMIT \"${commit}\"\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${HEADER}.new ${HEADER})
