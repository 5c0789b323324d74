// Catch2 3 under the name that version 2 has: see test/CMakeLists.txt.
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;
