"""The counterpart of ../logistic.cpp in PyTorch.

    python3 logistic.py folder/of/torchvision's/data
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
folder, to_tensor = sys.argv[1], transforms.ToTensor()
dataset = datasets.MNIST(folder, train=True, transform=to_tensor, download=True)
test_set = datasets.MNIST(folder, train=False, transform=to_tensor)
train_set, valid_set = random_split(dataset, [50000, 10000])
train_loader = DataLoader(train_set, batch_size=128, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=256)
test_loader = DataLoader(test_set, batch_size=256)


def evaluate(model, loader):
    model.eval()
    loss, hits, count = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            out = model(images)
            loss += F.cross_entropy(out, labels, reduction="sum").item()
            hits += (out.argmax(1) == labels).sum().item()
            count += len(labels)
    return {"loss": loss / count, "accuracy": hits / count}


def fit(epochs, model, optimizer):
    history = []
    for epoch in range(1, epochs + 1):
        model.train()
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
        history.append(evaluate(model, valid_loader))
        print(f"{epoch:5d} {history[-1]['loss']:12.4f} {100 * history[-1]['accuracy']:10.2f} %")
    return history


model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).to(device)
print("before training:", evaluate(model, valid_loader))
fit(20, model, torch.optim.SGD(model.parameters(), lr=0.001))
print("test images:", evaluate(model, test_loader))
