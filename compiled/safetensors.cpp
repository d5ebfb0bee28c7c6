// Reading and writing safetensors files, for programs that define LOCUS_COMPILED.

#include <locus/io/safetensors.hpp>

#ifdef LOCUS_COMPILED
#error "the compiled library is compiled without -DLOCUS_COMPILED"
#endif

namespace locus { inline namespace LOCUS_ABI {

template nn::StateDict<Cpu> io::detail::read_safetensors(const std::string&);
template void io::detail::write_safetensors(const char*, const std::string&, const nn::StateDict<Cpu>&,
                                            const std::string&);
template std::string io::detail::read_run<Cpu>(const std::string&);

}}  // namespace locus::LOCUS_ABI
