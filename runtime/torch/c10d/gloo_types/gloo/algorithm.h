// LibTorch contains Gloo, but not its headers. This folder declares the types that
// ProcessGroupGloo.hpp uses; none of their functions is ever called.
#pragma once
