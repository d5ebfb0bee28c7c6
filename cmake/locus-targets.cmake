# Defines locus::locus and, where the CUDA toolkit is found, locus::cuda. Included by CMakeLists.txt and by the installed
# locus-config.cmake, which set these variables:
#
#   locus_include_dirs  the folders of the headers
#   locus_threads       1 or 0: whether operations on Cpu use several threads
#   locus_definitions   macros of every program
#   locus_libraries     libraries of every program
#   locus_cudnn         1 or 0: whether cuDNN computes convolutions on Cuda
#   locus_scope         GLOBAL for targets that the whole project sees; nothing for the folder at hand
#
# The targets are imported, so that compilers take the headers for those of a system and do not warn about them.

if(NOT TARGET locus::locus)
  add_library(locus::locus INTERFACE IMPORTED ${locus_scope})
  target_include_directories(locus::locus INTERFACE ${locus_include_dirs})
  target_compile_features(locus::locus INTERFACE cxx_std_20)
  target_compile_definitions(locus::locus INTERFACE ${locus_definitions})
  target_link_libraries(locus::locus INTERFACE ${locus_libraries})
  if(locus_threads)
    # Not Threads::Threads, which omits -pthread if the C library has the functions. The headers test a macro that it
    # defines.
    target_compile_options(locus::locus INTERFACE
      "$<IF:$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>,-Xcompiler=-pthread,-pthread>")
    target_link_options(locus::locus INTERFACE "$<HOST_LINK:-pthread>")
  endif()
endif()

set(locus_no_cuda "no CUDA toolkit 12.4 or newer was found; name its folder with -DCUDAToolkit_ROOT=FOLDER.")
if(NOT TARGET locus::cuda)
  find_package(CUDAToolkit 12.4 QUIET)
  set(locus_has_cuda OFF)
  if(CUDAToolkit_FOUND AND TARGET CUDA::cublasLt)
    set(locus_has_cuda ON)
  endif()
  if(locus_has_cuda AND locus_cudnn)
    find_library(LOCUS_CUDNN_LIBRARY cudnn HINTS "${CUDAToolkit_LIBRARY_DIR}")
    if(NOT LOCUS_CUDNN_LIBRARY)
      set(locus_has_cuda OFF)
      set(locus_no_cuda "Locus is to compute convolutions by cuDNN, which was not found; name it with -DLOCUS_CUDNN_LIBRARY=FILE.")
    endif()
  endif()
  if(locus_has_cuda)
    add_library(locus::cuda INTERFACE IMPORTED ${locus_scope})
    if(CMAKE_VERSION VERSION_LESS 3.26)  # an older CMake does not know nvcc's C++20
      target_compile_options(locus::cuda INTERFACE "$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-std=c++20>")
    else()
      target_compile_features(locus::cuda INTERFACE cuda_std_20)
    endif()
    target_compile_definitions(locus::cuda INTERFACE LOCUS_CUDA=1)
    # The runtime that CMake links for the language CUDA; another one would put two runtimes into a program.
    set(locus_cuda_libraries CUDA::cublasLt
      "$<IF:$<STREQUAL:$<LOWER_CASE:$<TARGET_PROPERTY:CUDA_RUNTIME_LIBRARY>>,shared>,CUDA::cudart,CUDA::cudart_static>")
    if(locus_cudnn)
      target_compile_definitions(locus::cuda INTERFACE LOCUS_CUDNN=1)
      list(APPEND locus_cuda_libraries "${LOCUS_CUDNN_LIBRARY}")
    endif()
    target_link_libraries(locus::cuda INTERFACE locus::locus ${locus_cuda_libraries})
    # Selects the library of locus::compiled for a program.
    set_target_properties(locus::cuda PROPERTIES INTERFACE_LOCUS_CUDA ON COMPATIBLE_INTERFACE_BOOL LOCUS_CUDA)
  endif()
endif()
