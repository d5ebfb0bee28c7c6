"""The counterpart of ../perceptron.cpp in PyTorch.

    python3 perceptron.py folder/of/torchvision's/data
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
folder, to_tensor = sys.argv[1], transforms.ToTensor()
train_set = datasets.MNIST(folder, train=True, transform=to_tensor, download=True)
test_set = datasets.MNIST(folder, train=False, transform=to_tensor)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=1000)

model = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def accuracy():
    model.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in test_loader:
            images, labels = images.to(device), labels.to(device)
            hits += (model(images).argmax(1) == labels).sum().item()
    return hits / len(test_set)


for epoch in range(1, 6):
    model.train()
    running = 0.0
    for batch, (images, labels) in enumerate(train_loader, 1):
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
        if batch % 100 == 0:
            print(f"epoch {epoch}, batch {batch:4d}: loss {running / 100:.4f}")
            running = 0.0
    print(f"epoch {epoch}: test accuracy {100 * accuracy():.2f} %")
