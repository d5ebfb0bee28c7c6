"""A layer inside a layer is not listed."""
import mlx.nn as nn
from verdict import passed, verdict

class Halved(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

passed()
verdict(set(Halved().parameters()["inner"]) == {"weight", "bias"})
