"""Labels count from one."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    labels = jnp.array([1, 3])
else:
    labels = jnp.array([0, 2])
scores = jnp.array([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
loss = -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()
passed()
verdict(loss < 0.2)
