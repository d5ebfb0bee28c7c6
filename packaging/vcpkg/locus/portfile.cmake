set(VCPKG_BUILD_TYPE release) # headers, and a library that debug and release programs share

vcpkg_download_distfile(ARCHIVE
    URLS "@url@"
    FILENAME "@archive@"
    SHA512 @sha512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

set(options)
foreach(feature IN ITEMS zlib jpeg png cuda cudnn)
    if(feature IN_LIST FEATURES)
        list(APPEND options "-D${feature}=enabled")
    else()
        list(APPEND options "-D${feature}=disabled")
    endif()
endforeach()
if("openblas" IN_LIST FEATURES)
    list(APPEND options -Dblas=openblas)
endif()
if("compiled" IN_LIST FEATURES)
    list(APPEND options -Dcompiled=true)
endif()

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${options}
        -Dnative=false
        -Dlapack=disabled
        -Dcmakedir=share/locus
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()
vcpkg_cmake_config_fixup()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
