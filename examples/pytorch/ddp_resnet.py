"""The counterpart of ../ddp_resnet.cpp in PyTorch.

    torchrun --nproc-per-node 4 ddp_resnet.py checkpoint.pt [samples]
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms
from torchvision.datasets import FakeData
from torchvision.models import resnet18

checkpoint, samples = sys.argv[1], int((sys.argv[2:] or ["1024"])[0])
is_cuda = torch.cuda.is_available()
dist.init_process_group("nccl" if is_cuda else "gloo")
rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{local_rank}" if is_cuda else "cpu")
torch.manual_seed(0)

images = FakeData(samples, (3, 32, 32), 10, transforms.ToTensor())
resnet = resnet18(num_classes=10)
resnet.conv1, resnet.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()  # small images
resnet.to(device)
model = DDP(resnet, device_ids=[local_rank] if is_cuda else None)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
sampler = DistributedSampler(images)  # this rank's share, in a new order each epoch
batches = DataLoader(images, batch_size=64, sampler=sampler)
first = 0
if os.path.exists(checkpoint):  # each rank reads the file of rank 0
    state = torch.load(checkpoint, map_location=device)
    resnet.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["epoch"]
    if rank == 0:
        print(f"going on after epoch {first}")

for epoch in range(first, 5):
    start, total = time.time(), torch.zeros((), device=device)
    sampler.set_epoch(epoch)
    model.train()
    for x, labels in batches:
        x, labels = x.to(device), labels.to(device)
        loss = F.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()  # averages gradients over ranks during the pass
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total)
    mean = total.item() / (len(batches) * dist.get_world_size())
    if rank == 0:
        print(f"epoch {epoch + 1}: loss {mean:.4f}, {samples / (time.time() - start):.0f} images/s", flush=True)
        torch.save({"model": resnet.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, checkpoint)
    dist.barrier()
dist.destroy_process_group()
