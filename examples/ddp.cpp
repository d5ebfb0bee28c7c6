// Trains one model on several ranks; each rank visits its share of the samples. Follows PyTorch's tutorial on
// DistributedDataParallel part by part. Comments quote its Python code.
//
//     ddp --ranks 4 --device cpu --epochs 8 --save-every 4     threads of one process
//     mpirun -n 4 ddp --device cuda                            processes, with a GPU of their machine each
//     mpirun -n 16 --hostfile hosts ddp --device cuda          the same on several machines

#include "support/arguments.hpp"

#include <locus/distributed/distributed.hpp>
#include <locus/io/safetensors.hpp>
#include <locus/locus.hpp>

#include <cstdio>

using namespace locus;

/// "class MyTrainDataset": rows of 20 numbers with one target each, equal on all ranks.
data::TensorDataset<float, float> samples_of(std::int64_t count, std::uint64_t seed) {
  Generator<Cpu> numbers{seed};
  const Tensor x = randn({count, 20}, numbers);
  return data::TensorDataset{x, mean(x, 1, true) * 3.f + 0.5f};
}

template <Device D>
class Trainer {  // "class Trainer"
 public:
  Trainer(const dist::Communicator<D>& comm, const nn::Linear<float, D>& model, optim::Sgd<float, D> optimizer,
          int save_every, std::string path)
      : comm_(comm),
        model_(dist::distributed(model, comm)),  // "DDP(model, device_ids=[gpu_id])": copies the model of rank 0
        optimizer_(std::move(optimizer)),
        save_every_(save_every),
        path_(std::move(path)) {}

  template <class Loader>
  void train(int epochs, Loader& batches) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
      run_epoch(epoch, batches);
      if (epoch % save_every_ == 0) save();
    }
  }
  template <class S>
  [[nodiscard]] double loss_on(const S& dataset) const {  // each rank evaluates its share, every sample once
    const data::DistributedSampler share{dataset, comm_, {.remainder = data::Remainder::keep}};
    return evaluate(model_, nn::MSELoss{}, data::loader(dataset, share, {}, comm_.device())).loss;
  }

 private:
  template <class Loader>
  void run_epoch(int epoch, Loader& batches) {
    std::printf("[rank %d] epoch %d | batch size %d | steps %d\n", comm_.rank(), epoch,
                static_cast<int>(batches.batch_size()), static_cast<int>(batches.size()));
    for (const auto& [x, y] : batches) {  // "sampler.set_epoch(epoch)": the loader counts epochs
      optimizer_.zero_grad();
      nn::mse_loss(model_(trace(x)), y).backward();  // averages gradients over ranks during the pass
      optimizer_.step();
    }
  }
  void save() const {  // "if self.gpu_id == 0: self._save_checkpoint(epoch)"
    dist::on_rank_zero(comm_, [&] { io::save(path_, nn::state_dict(model_.module())); });
  }

  dist::Communicator<D> comm_;
  dist::Distributed<nn::Linear<float, D>> model_;
  optim::Sgd<float, D> optimizer_;
  int save_every_;
  std::string path_;
};

int main(int argc, char** argv) try {
  const Arguments given(argc, argv, {"--device", "--ranks", "--epochs", "--save-every", "--checkpoint"});
  const int ranks = given.number("--ranks", "0", 0), epochs = given.number("--epochs", "8", 1),
            save_every = given.number("--save-every", "4", 1);
  with_device(device_from(argc, argv), [&]<Device D>(D) {
    // "mp.spawn(main, args, nprocs=world_size)" and "init_process_group": f on each rank, as a thread or a process
    dist::launch<D>(ranks, [&](const dist::Communicator<D>& comm) {
      const auto train_set = samples_of(2048, 1), test_set = samples_of(500, 2);
      const nn::Linear<float, D> model{20, 1, true, comm.device()};
      auto batches =
          data::loader(train_set, data::DistributedSampler{train_set, comm}, {.batch_size = 32}, comm.device());
      Trainer<D> trainer{comm, model, optim::Sgd{model.parameters(), {.lr = 0.05}}, save_every,
                         given.text("--checkpoint", "checkpoint.safetensors")};
      trainer.train(epochs, batches);
      const double loss = trainer.loss_on(test_set);
      if (comm.rank() == 0) std::printf("%d ranks: mean squared error %.5f\n", comm.size(), loss);
      if (loss > 0.01) fail<NumericError>({"nothing was learned"});
    });  // "destroy_process_group()": in the destructor of the last copy of comm
  });
} catch (const Error& error) {
  std::fprintf(stderr, "ddp: %s\n", error.what());
  return 1;
}
