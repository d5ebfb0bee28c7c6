#pragma once
// Checks that all ranks hold the same model: compares a description of each rank's model with rank 0's.

#include <locus/core/printable.hpp>
#include <locus/distributed/communicator/communicator.hpp>
#include <locus/distributed/model/reducer.hpp>
#include <locus/nn/state_dict.hpp>

#include <cstring>

namespace locus { inline namespace LOCUS_ABI { namespace dist::detail {

[[nodiscard]] inline std::string text_of(const DistributedOptions& options) {
  return join(".bucket_bytes = ", options.bucket_bytes, ", .first_bucket_bytes = ", options.first_bucket_bytes,
              ", .broadcast_buffers = ", options.broadcast_buffers, ", .weigh_by_samples = ", options.weigh_by_samples,
              ", .static_graph = ", options.static_graph,
              ", .reduce_in = ReduceIn::", options.reduce_in == ReduceIn::bfloat16 ? "bfloat16" : "type_of_gradients");
}
/// One line for each parameter and buffer: name, type, shape and whether it is trained; and one for the options.
template <class M>
[[nodiscard]] std::vector<std::string> description(const M& model, const std::string& options) {
  std::vector<std::string> lines;
  for (const auto& member : nn::detail::state_members(model))
    lines.push_back(join(locus::detail::printable(member.name), "\t", dtype_name(member.type()), "\t", member.shape(),
                         "\t",
                         member.is_buffer()                 ? "kept"
                         : member.parameter.requires_grad() ? "trained"
                                                            : "frozen"));
  lines.push_back("options\t{" + options + "}");
  return lines;
}
[[nodiscard]] LOCUS_OUT_OF_LINE inline std::string field_of(const std::string& line, int which) {
  std::size_t begin = 0;
  for (; which > 0 && begin != std::string::npos; --which) begin = line.find('\t', begin) + 1;
  return line.substr(begin, line.find('\t', begin) - begin);
}

/// An error in the model of a rank. Of fixed size, so that all ranks' complaints can be gathered.
struct Complaint {
  enum Kind : unsigned char { none, argument, shape, device };
  static constexpr std::size_t most = 511;
  Kind kind = none;
  char text[most] = {};

  Complaint() = default;
  Complaint(Kind its_kind, const std::string& its_text) : kind(its_kind) {
    std::memcpy(text, its_text.data(), its_text.size() < most ? its_text.size() : most - 1);
  }
};
static_assert(sizeof(Complaint) == Complaint::most + 1);

/// The first difference between the lines of a rank and of rank 0.
[[nodiscard]] LOCUS_OUT_OF_LINE inline Complaint difference(const char* who, int rank,
                                                            const std::vector<std::string>& mine,
                                                            const std::vector<std::string>& first) {
  constexpr const char* remedy = "; build the same model on all ranks";
  for (std::size_t i = 0; i < mine.size() || i < first.size(); ++i) {
    if (i < mine.size() && i < first.size() && mine[i] == first[i]) continue;
    const bool mine_ends = i + 1 >= mine.size(), first_ends = i + 1 >= first.size();  // with the options
    if (mine_ends && first_ends)
      return {Complaint::argument, join(who, ": the options of rank ", rank, " are ", field_of(mine[i], 1),
                                        ", those of rank 0 ", field_of(first[i], 1), "; pass the same on all ranks")};
    if (mine_ends || first_ends)
      return {Complaint::argument,
              join(who, ": the model of rank ", rank, mine_ends ? " lacks '" : " has '",
                   field_of(mine_ends ? first[i] : mine[i], 0),
                   mine_ends ? "', which that of rank 0 has" : "', which that of rank 0 lacks", remedy)};
    const std::string name = field_of(mine[i], 0), other = field_of(first[i], 0);
    if (name != other)
      return {Complaint::argument, join(who, ": the model of rank ", rank, " has '", name,
                                        "' where that of rank 0 has '", other, "'", remedy)};
    const bool same_type = field_of(mine[i], 1) == field_of(first[i], 1);
    if (same_type && field_of(mine[i], 2) == field_of(first[i], 2))
      return {Complaint::argument,
              join(who, ": '", name, "' is ", field_of(mine[i], 3), " on rank ", rank, ", and ", field_of(first[i], 3),
                   " on rank 0; freeze the same parameters on all ranks, with requires_grad_(false)")};
    return {same_type ? Complaint::shape : Complaint::argument,
            join(who, ": '", name, "' is ", field_of(mine[i], 1), " of shape ", field_of(mine[i], 2), " on rank ", rank,
                 ", and ", field_of(first[i], 1), " of shape ", field_of(first[i], 2), " on rank 0", remedy)};
  }
  return {};
}

/// An error in the options of this rank.
template <class M>
[[nodiscard]] Complaint complaint_of(const DistributedOptions& options, int rank) {
  if (options.reduce_in == ReduceIn::bfloat16 && std::is_same_v<value_of<M>, half>)
    return {Complaint::argument, join("distributed: .reduce_in = ReduceIn::bfloat16 for gradients of float16 on rank ",
                                      rank, ", which have as many bytes and more digits; leave it out")};
  if (options.bucket_bytes < 1 || options.first_bucket_bytes < 1)
    return {Complaint::argument, join("distributed: buckets of ", options.first_bucket_bytes, " and ",
                                      options.bucket_bytes, " bytes on rank ", rank, "; expected 1 or more")};
  return {};
}

/// An error of this rank alone, whatever others have.
template <class M, class D>
[[nodiscard]] Complaint own_complaint(const char* who, const M& model, const Communicator<D>& comm) {
  const auto elsewhere = [&](const std::string& name, D device) -> Complaint {
    if (device == comm.device()) return {};
    return {Complaint::device, join(who, ": '", locus::detail::printable(name), "' is on ", to_string(device),
                                    ", the communicator of rank ", comm.rank(), " on ", to_string(comm.device()),
                                    "; move the model first, std::move(model).to(comm.device())")};
  };
  for (const auto& [name, buffer] : model.named_buffers())
    if (const auto complaint = elsewhere(name, buffer.device()); complaint.kind) return complaint;
  const auto parameters = model.named_parameters();
  for (const auto& [name, parameter] : parameters) {
    if (const auto complaint = elsewhere(name, parameter.device()); complaint.kind) return complaint;
    if (parameter.gradient_hold() && parameter.gradient_hold()->is_in_use)
      return {Complaint::argument, join(who, ": '", locus::detail::printable(name), "' of rank ", comm.rank(),
                                        " is part of a distributed model already; each rank needs a model of its own, "
                                        "and makes one distributed model of it")};
  }
  for (const auto& [name, parameter] : parameters)
    if (parameter.is_lent())
      return {Complaint::argument, join(who, ": '", locus::detail::printable(name), "' of rank ", comm.rank(),
                                        " is part of a sharded model already; take that model")};
  if (parameters.empty())
    return {Complaint::argument, join(who, ": the model of rank ", comm.rank(), " has no parameters")};
  return {};
}

/// Copies bytes of the host to the communicator's device.
template <class D>
[[nodiscard]] Tensor<std::uint8_t, D> bytes_on(const Communicator<D>& comm, const void* data, std::size_t size) {
  const Tensor<std::uint8_t, Cpu> bytes({static_cast<std::int64_t>(size)});
  std::memcpy(bytes.data(), data, size);
  return bytes.template to<D>(comm.device());
}

/// Broadcasts a text of rank 0.
template <class D>
[[nodiscard]] std::string text_of_first(const Communicator<D>& comm, std::string text) {
  std::int64_t size = static_cast<std::int64_t>(text.size());
  const auto length = bytes_on(comm, &size, sizeof size);
  comm.broadcast(length);
  std::memcpy(&size, length.template to<Cpu>().data(), sizeof size);
  text.resize(static_cast<std::size_t>(size));
  const auto bytes = bytes_on(comm, text.data(), text.size());
  comm.broadcast(bytes);
  std::memcpy(text.data(), bytes.template to<Cpu>().data(), text.size());
  return text;
}

/// All ranks throw the same error: the one of the first rank that has any. complaint: about the options of this rank
template <class M, class D>
void require_same_model(const char* who, const M& model, const Communicator<D>& comm, const std::string& options,
                        Complaint complaint) {
  const std::vector<std::string> mine = description(model, options);
  std::string text;
  for (const auto& line : mine) text += line + "\n";
  text = text_of_first(comm, std::move(text));
  std::vector<std::string> first;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    first.push_back(text.substr(begin, end - begin));

  if (!complaint.kind) complaint = own_complaint(who, model, comm);
  if (!complaint.kind) complaint = difference(who, comm.rank(), mine, first);
  const auto all = comm.all_gather(bytes_on(comm, &complaint, sizeof complaint)).template to<Cpu>();
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::memcpy(&complaint, all.select(0, rank).data(), sizeof complaint);
    switch (complaint.kind) {
      case Complaint::none: break;
      case Complaint::shape: fail<ShapeError>({static_cast<const char*>(complaint.text)});
      case Complaint::device: fail<DeviceError>({static_cast<const char*>(complaint.text)});
      default: fail<ArgumentError>({static_cast<const char*>(complaint.text)});
    }
  }
}

}}}  // namespace locus::LOCUS_ABI::dist::detail
