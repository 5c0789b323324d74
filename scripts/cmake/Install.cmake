# `cmake --install build/release --prefix DIR`: a folder that can be moved, with bin/, lib/ and share/scavenger/configs/.
# lib/ gets what the programs are linked to and another machine may lack: LibTorch, fmt, spdlog. What every system of the
# kind has (C and C++ run-time, OpenSSL, zlib, SQLite) and drivers stay the system's, so that its updates reach us.
set(system_libraries "^(ld-linux.*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\\+\\+|libssl|libcrypto|libz|libsqlite3|libcuda|libnvidia-.*)\\.so.*")
set(library_folders "")
if(TORCH_INSTALL_PREFIX)
  set(library_folders DIRECTORIES ${TORCH_INSTALL_PREFIX}/lib)
endif()
if(EXISTS ${CMAKE_SOURCE_DIR}/apps/CMakeLists.txt)
  install(RUNTIME_DEPENDENCY_SET scavenger_libraries PRE_EXCLUDE_REGEXES ${system_libraries}
    ${library_folders} LIBRARY DESTINATION lib)
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/configs/ DESTINATION share/scavenger/configs)

# What users call from a checkout's scripts/, where it finds configs/ and data/ beside it as there.
install(PROGRAMS ${CMAKE_SOURCE_DIR}/scripts/fetch_data.sh DESTINATION share/scavenger/scripts)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/scripts/loggers/ DESTINATION share/scavenger/loggers
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)

# Completion and man pages: each program writes its own (apps/command_text.h).
foreach(program scavenger-train scavenger-ctl scavenger-plan scavenger-report scavenger-export scavenger-predict scavenger-md scavenger-campaign)
  if(TARGET ${program})
    foreach(text
        "--generate-completion;bash;share/bash-completion/completions/${program}"
        "--generate-completion;zsh;share/zsh/site-functions/_${program}"
        "--generate-completion;fish;share/fish/vendor_completions.d/${program}.fish"
        "--generate-man;;share/man/man1/${program}.1")
      list(GET text 0 option)
      list(GET text 1 shell)
      list(GET text 2 file)
      install(CODE "
        set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${file}\")
        get_filename_component(folder \"\${file}\" DIRECTORY)
        file(MAKE_DIRECTORY \"\${folder}\")
        execute_process(COMMAND \"$<TARGET_FILE:${program}>\" ${option} ${shell}
          OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)")
    endforeach()
  endif()
endforeach()
