"""An axis does not exist."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.ones((2, 3))
if MISTAKE:
    y = x.sum(2)
else:
    y = x.sum(1)
passed()
verdict(y.size == 2)
