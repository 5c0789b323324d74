// LibTorch contains Gloo but not its headers. What ProcessGroupGloo.hpp names of them is declared
// in this folder; nothing of it is ever called.
#pragma once
