# Runs a port as vcpkg does, for tests without vcpkg:
#
#   cmake -DPORT_DIR=FOLDER -DDOWNLOADS=FOLDER -DCURRENT_PACKAGES_DIR=FOLDER -DCURRENT_BUILDTREES_DIR=FOLDER
#     -DFEATURES=LIST -P build_port.cmake
#
# These functions take the arguments that portfile.cmake gives vcpkg's, refuse others, and do the same to the files.
cmake_minimum_required(VERSION 3.18)
set(PORT locus)

# must(COMMAND...): runs a command; the script ends if it fails.
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(status)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\n${said}")
  endif()
endfunction()

# parse(ARGUMENTS ONE_VALUE MANY_VALUES): the arguments of a function as arg_NAME; every one is needed, no other known.
macro(parse arguments one_value many_values)
  cmake_parse_arguments(arg "" "${one_value}" "${many_values}" ${arguments})
  foreach(name IN ITEMS ${one_value} ${many_values})
    if(NOT arg_${name})
      message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: ${name} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

# Downloads nothing: the archive is in DOWNLOADS, where vcpkg takes it, too, if the checksum is right.
function(vcpkg_download_distfile out)
  parse("${ARGN}" "FILENAME;SHA512" "URLS")
  file(SHA512 "${DOWNLOADS}/${arg_FILENAME}" sum)
  if(NOT sum STREQUAL arg_SHA512)
    message(FATAL_ERROR "${arg_FILENAME} has the SHA512 ${sum}, expected ${arg_SHA512}")
  endif()
  set(${out} "${DOWNLOADS}/${arg_FILENAME}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
  parse("${ARGN}" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${CURRENT_BUILDTREES_DIR}/src")
  file(GLOB top "${CURRENT_BUILDTREES_DIR}/src/*")  # one folder, which vcpkg leaves out
  set(${out} "${top}" PARENT_SCOPE)
endfunction()

function(vcpkg_configure_meson)
  parse("${ARGN}" "SOURCE_PATH" "OPTIONS")
  if(NOT VCPKG_BUILD_TYPE STREQUAL "release")
    message(FATAL_ERROR "the port of headers is built once, not for debug and release")
  endif()
  # As vcpkg, with compiler options in the compiler's command, and none of Meson's.
  file(WRITE "${CURRENT_BUILDTREES_DIR}/native.txt" "[binaries]\ncpp = ['c++', '-O3', '-DNDEBUG']\n")
  must(meson setup ${arg_OPTIONS} --wrap-mode nodownload -Doptimization=plain --native-file "${CURRENT_BUILDTREES_DIR}/native.txt" --libdir lib
    --prefix "${CURRENT_PACKAGES_DIR}" "${CURRENT_BUILDTREES_DIR}/rel" "${arg_SOURCE_PATH}")
endfunction()

function(vcpkg_install_meson)
  must(meson install -C "${CURRENT_BUILDTREES_DIR}/rel" --quiet)
endfunction()

# The prefix becomes relative to the file.
function(vcpkg_fixup_pkgconfig)
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/pkgconfig/*.pc" "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  foreach(path IN LISTS files)
    file(READ "${path}" text)
    string(REGEX REPLACE "(^|\n)prefix=[^\n]*" "\\1prefix=\${pcfiledir}/../.." text "${text}")
    file(WRITE "${path}" "${text}")
  endforeach()
endfunction()

function(vcpkg_cmake_config_fixup)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/locus-config.cmake")
    message(FATAL_ERROR "share/${PORT} has no locus-config.cmake")
  endif()
endfunction()

function(vcpkg_install_copyright)
  parse("${ARGN}" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  file(RENAME "${CURRENT_PACKAGES_DIR}/share/${PORT}/LICENSE" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORT_DIR}/portfile.cmake")
