"""eval() is forgotten before prediction."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

model = nn.Dropout(0.5)
if MISTAKE:
    y = model(mx.ones(1000))
else:
    y = model.eval()(mx.ones(1000))
passed()
verdict(y.sum().item() == 1000)
