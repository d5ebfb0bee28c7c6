"""A sum over ranks is made twice."""
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P
from verdict import MISTAKE, passed, verdict

mesh = Mesh(jax.devices(), ("data",))
once = lambda x: jax.lax.psum(x.sum(), "data")
if MISTAKE:
    total = jax.shard_map(lambda x: jax.lax.psum(once(x), "data"), mesh=mesh, in_specs=P("data"), out_specs=P())(jnp.ones(2))
else:
    total = jax.shard_map(once, mesh=mesh, in_specs=P("data"), out_specs=P())(jnp.ones(2))
passed()
verdict(total == 2)
