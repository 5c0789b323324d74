# Run at build time: writes SOURCE, a C++ file whose function `scavenger::FUNCTION` returns the text of TEXT.
file(READ ${TEXT} content)
file(WRITE ${SOURCE} "#include \"${HEADER}\"

namespace scavenger {

const char* ${FUNCTION}() {
  return R\"embedded(${content})embedded\";
}

}  // namespace scavenger
")
