"""The name of an option is misspelled."""
import mlx.optimizers as optim
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    optimizer = optim.SGD(0.1, momentm=0.5)
else:
    optimizer = optim.SGD(0.1, momentum=0.5)
passed()
verdict(optimizer.momentum == 0.5)
