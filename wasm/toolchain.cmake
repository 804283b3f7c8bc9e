# Uses the Emscripten on the path: Debian's package or a current emsdk.
find_program(PROBUST_EMXX em++ REQUIRED)
file(REAL_PATH ${PROBUST_EMXX} _emxx)
get_filename_component(EMSCRIPTEN_ROOT_PATH ${_emxx} DIRECTORY)
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)

# Debian's Emscripten finds its JavaScript tools only through this variable, so every later call of the linker sets it, too.
if(EXISTS /usr/share/nodejs)
  if(NOT DEFINED ENV{NODE_PATH})
    set(ENV{NODE_PATH} /usr/share/nodejs)
  endif()
  set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=$ENV{NODE_PATH})
endif()
