// ResNet-18 on random images by several ranks: a distributed sampler, averaged gradients, checkpoints of rank 0, from
// which a killed run goes on. The same in PyTorch: pytorch/ddp_resnet.py.
//
//     ddp_resnet --ranks 4 --device cpu                                       threads of one process
//     torchrun --nproc-per-node 4 --no-python ./ddp_resnet --device cuda      processes, with a GPU each
//     mpirun -n 4 ddp_resnet --device cuda                                    the same by MPI

#include "support/arguments.hpp"

#include <locus/distributed/distributed.hpp>
#include <locus/io/training.hpp>
#include <locus/locus.hpp>
#include <locus/models/resnet.hpp>

#include <cstdio>

using namespace locus;

struct Options {
  int epochs, batch, samples, width;
  std::string checkpoint;
};

template <Device D>
void train(const dist::Communicator<D>& comm, const Options& options) {
  const data::FakeData images{{.size = options.samples, .shape = {3, 32, 32}, .classes = 10}};
  const auto resnet =
      models::resnet18<float>({.classes = 10, .small_images = true, .width = options.width}, comm.device());
  const auto model = dist::distributed(resnet, comm);  // "DDP(model)": the weights of rank 0 on all ranks
  optim::Sgd optimizer{model.parameters(), {.lr = 0.01, .momentum = 0.9}};
  const data::DistributedSampler sampler{images, comm};  // this rank's share, in a new order each epoch
  auto batches = data::loader(images, sampler, {.batch_size = options.batch}, comm.device());
  dist::on_all_ranks(comm, [&] {  // each rank reads the file of rank 0
    if (io::resume_training(options.checkpoint, resnet, optimizer, batches) && comm.rank() == 0)
      std::printf("going on after epoch %d\n", static_cast<int>(batches.position().epoch));
  });

  for (int epoch = static_cast<int>(batches.position().epoch); epoch < options.epochs; ++epoch) {
    const Stopwatch watch;
    const Tensor sum = zeros({}, comm.device());
    batches.set_epoch(static_cast<std::uint64_t>(epoch));  // "sampler.set_epoch(epoch)"; the loader counts by itself
    for (const auto& [x, labels] : batches) {
      auto loss = nn::cross_entropy(model(trace(x)), labels);
      optimizer.zero_grad();
      loss.backward();  // averages gradients over ranks during the pass
      optimizer.step();
      sum.copy_(sum + loss.value());
    }
    comm.all_reduce(sum);
    const double steps = static_cast<double>(batches.size()) * comm.size(), loss = static_cast<double>(sum.item());
    if (comm.rank() == 0) {
      std::printf("epoch %d: loss %.4f, %.0f images/s\n", epoch + 1, loss / steps,
                  static_cast<double>(options.samples) / watch.seconds());
      std::fflush(stdout);
    }
    dist::on_rank_zero(comm, [&] { io::save_training(options.checkpoint, resnet, optimizer, batches); });
  }
}

int main(int argc, char** argv) try {
  const Arguments given(argc, argv,
                        {"--device", "--ranks", "--epochs", "--batch", "--samples", "--width", "--checkpoint"});
  const int ranks = given.number("--ranks", "0", 0);
  const Options options{given.number("--epochs", "5", 1), given.number("--batch", "64", 1),
                        given.number("--samples", "1024", 1), given.number("--width", "64", 1),
                        given.text("--checkpoint", "ddp_resnet.safetensors")};
  manual_seed(0);
  with_device(device_from(argc, argv), [&]<Device D>(D) {
    dist::launch<D>(ranks, [&](const dist::Communicator<D>& comm) { train(comm, options); });
  });
} catch (const Error& error) {
  std::fprintf(stderr, "ddp_resnet: %s\n", error.what());
  return 1;
}
