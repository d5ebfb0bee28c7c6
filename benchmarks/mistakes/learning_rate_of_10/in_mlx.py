"""The learning rate is a hundred times too large."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

w = mx.array(1.0)
if MISTAKE:
    lr = 10
else:
    lr = 0.1
for _ in range(100):
    w -= lr * mx.grad(lambda w: w**2)(w)
passed()
verdict(abs(w.item()) < 1)
