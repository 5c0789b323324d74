# Every third-party library, found once. scripts/setup.sh installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
if(NOT DEFINED BOOST_ROOT AND NOT DEFINED ENV{BOOST_ROOT} AND EXISTS ${CMAKE_SOURCE_DIR}/.deps/boost/boost/version.hpp)
  set(BOOST_ROOT ${CMAKE_SOURCE_DIR}/.deps/boost)  # fetched by scripts/setup.sh where the distribution's is too old
endif()
find_package(Boost 1.81 REQUIRED)  # header-only parts: Asio, Beast, Math

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(SCAVENGER_WITH_TORCH)
  include(FindLibTorch)
endif()
