"""A sum goes along the wrong axis."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
if MISTAKE:
    columns = x.sum(1)
else:
    columns = x.sum(0)
passed()
verdict(columns[0] == 4)
