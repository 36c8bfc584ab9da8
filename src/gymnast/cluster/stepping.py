"""`cluster.mode: steps`: envs stepped by actors (env.backend remote) that this run starts, here or by Ray."""

from __future__ import annotations

from gymnast.config.schema import Config
from gymnast.envs.backends.remote_settings import ActorsConfig
from gymnast.envs.backends.remote_start import ActorStarter, LocalActors, actors_started_by
from gymnast.envs.build import build_training_envs
from gymnast.envs.contract import Envs
from gymnast.envs.measure.cache import usable_cores


def build_stepping_envs(config: Config) -> Envs:
    """The envs to learn from, in actors that only step."""
    cluster, env = config.cluster, config.env
    listen = env.actors.listen
    if cluster.on == "ray":
        from gymnast.cluster.ray_stepping import RayStarter

        ray_starter = RayStarter(cluster)
        starter: ActorStarter = ray_starter
        room = ray_starter.places
        if listen == ActorsConfig().listen:  # others must be able to reach it
            listen = f"{ray_starter.host}:0"
    else:
        starter, room = LocalActors(), usable_cores()
    count = room if cluster.actors == "auto" else cluster.actors
    actors = env.actors.model_copy(update={"count": max(1, min(count, env.copies)), "listen": listen})
    stepping = env.model_copy(update={"backend": "remote", "actors": actors})
    try:
        with actors_started_by(starter):
            return build_training_envs(stepping, seed=config.seed)
    except BaseException:
        starter.close()
        raise
