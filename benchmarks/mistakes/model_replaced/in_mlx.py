"""An optimizer keeps the parameters of a model that was replaced."""
import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from verdict import MISTAKE, passed, verdict

model = nn.Linear(1, 1)
optimizer = optim.SGD(0.5)
optimizer.init(model.trainable_parameters())
if MISTAKE:
    model = nn.Linear(1, 1)
passed()
before = model.weight.item()
grads = nn.value_and_grad(model, lambda x: model(x).sum())(mx.ones((1, 1)))[1]
optimizer.update(model, grads)
verdict(model.weight.item() != before)
