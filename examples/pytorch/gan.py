"""The counterpart of ../gan.cpp in PyTorch.

    python3 gan.py folder/of/torchvision's/data folder/of/results [width]
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.utils import save_image

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
folder, results, width, latent = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["64"])[0]), 64
digits = datasets.MNIST(folder, train=True, transform=transforms.ToTensor(), download=True)
batches = DataLoader(digits, batch_size=64, shuffle=True, drop_last=True)

g = nn.Sequential(
    nn.ConvTranspose2d(latent, 2 * width, 7, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
    nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
    nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Tanh()).to(device)
d = nn.Sequential(
    nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2),
    nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
    nn.Conv2d(2 * width, 1, 7), nn.Flatten()).to(device)
for model in g, d:  # DCGAN's weights
    for parameter in model.parameters():
        if parameter.dim() == 4:
            nn.init.normal_(parameter, 0, 0.02)
g_optimizer = torch.optim.Adam(g.parameters(), lr=0.0002, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(d.parameters(), lr=0.0002, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
real, fake = torch.ones(64, 1, device=device), torch.zeros(64, 1, device=device)
fixed = torch.randn(64, latent, 1, 1, device=device)  # the same points for each picture

for epoch in range(1, 11):
    g.train(), d.train()
    d_loss = g_loss = 0.0
    for images, _ in batches:
        images = images.to(device) * 2 - 1
        drawn = g(torch.randn(64, latent, 1, 1, device=device))
        d_optimizer.zero_grad()
        of_d = criterion(d(images), real) + criterion(d(drawn.detach()), fake)
        of_d.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        of_g = criterion(d(drawn), real)
        of_g.backward()
        g_optimizer.step()
        d_loss += of_d.item()
        g_loss += of_g.item()
    print(f"epoch {epoch}: loss of the discriminator {d_loss / len(batches):.4f}, of the generator {g_loss / len(batches):.4f}",
          flush=True)
    g.eval()
    with torch.no_grad():
        save_image(g(fixed), f"{results}/epoch{epoch}.png", nrow=8, padding=0, normalize=True, value_range=(-1, 1))
