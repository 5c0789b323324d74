// A plug-in of long ago.
extern "C" const char* scavenger_plugin_version() {
  return "interface 0, LibTorch 1.0.0, GCC ABI 1002-0";
}
