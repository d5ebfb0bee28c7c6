"""The counterpart of ../transfer.cpp in PyTorch.

    python3 transfer.py resnet18.safetensors folder/of/torchvision's/data [images]
"""

import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, transforms
from torchvision.models import resnet18

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
weights, folder, images = load_file(sys.argv[1]), sys.argv[2], int((sys.argv[3:] or ["50000"])[0])
small = weights["conv1.weight"].shape[-1] == 3  # the stem for images of 32 x 32
as_trained = transforms.Compose([transforms.Resize(32 if small else 224), transforms.ToTensor(),
                                 transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
train_set = datasets.CIFAR10(folder, train=True, transform=as_trained, download=True)
test_set = datasets.CIFAR10(folder, train=False, transform=as_trained)
train_loader = DataLoader(Subset(train_set, range(images)), batch_size=64, shuffle=True)
test_loader = DataLoader(Subset(test_set, range(images // 5)), batch_size=250)

model = resnet18(num_classes=len(weights["fc.bias"]))
if small:
    model.conv1, model.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
model.load_state_dict(weights)
for parameter in model.parameters():
    parameter.requires_grad = False  # no gradient for these parameters
model.fc = nn.Linear(model.fc.in_features, 10)  # a new layer is trained
model.to(device)
optimizer = torch.optim.Adam(model.fc.parameters(), lr=0.01)


def evaluate():
    model.eval()
    loss, hits, count = 0.0, 0, 0
    with torch.no_grad():
        for x, labels in test_loader:
            x, labels = x.to(device), labels.to(device)
            out = model(x)
            loss += F.cross_entropy(out, labels, reduction="sum").item()
            hits += (out.argmax(1) == labels).sum().item()
            count += len(labels)
    return f"loss {loss / count:.4f}, accuracy {100 * hits / count:.2f} %"


print(f"before training: {evaluate()}")
for epoch in range(1, 6):
    model.eval()  # batch norm as it was trained, while the last layer learns
    for x, labels in train_loader:
        x, labels = x.to(device), labels.to(device)
        optimizer.zero_grad()
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()
    print(f"epoch {epoch}: {evaluate()}", flush=True)
