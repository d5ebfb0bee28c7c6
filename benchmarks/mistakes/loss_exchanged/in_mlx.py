"""Scores and labels of a loss are exchanged."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

scores, labels = mx.ones((2, 3)), mx.array([0, 2])
if MISTAKE:
    loss = nn.losses.cross_entropy(labels, scores).mean()
else:
    loss = nn.losses.cross_entropy(scores, labels).mean()
passed()
verdict(abs(loss.item() - 1.0986) < 1e-3)
