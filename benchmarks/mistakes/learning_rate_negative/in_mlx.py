"""The learning rate is negative."""
import mlx.core as mx
import mlx.optimizers as optim
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    optimizer = optim.SGD(-0.1)
else:
    optimizer = optim.SGD(0.1)
passed()
w = optimizer.apply_gradients({"w": mx.array(2.0)}, {"w": mx.array(1.0)})["w"]
verdict(w.item() < 1)
