"""The name of an option is misspelled."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    y = jax.nn.softmax(jnp.ones((2, 3)), axes=0)
else:
    y = jax.nn.softmax(jnp.ones((2, 3)), axis=0)
passed()
verdict(y[0, 0] == 0.5)
