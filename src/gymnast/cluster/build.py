"""From a config to actors: where they run, what they are given, and what they cannot do."""

from __future__ import annotations

from typing import Any

from gymnast.cluster.settings import ClusterConfig
from gymnast.cluster.versions import check_versions
from gymnast.config.schema import Config
from gymnast.envs.backends.restarts import Restarts
from gymnast.envs.backends.workers import registration
from gymnast.envs.build import env_seeds, why_not_backend
from gymnast.envs.contract import Envs, close_env
from gymnast.envs.measure.cache import usable_cores
from gymnast.envs.single import episode_values, make_env, reward_parts
from gymnast.errors import GymnastError
from gymnast.parts.table import value_heads
from gymnast.policies.build import choose_engine
from gymnast.policies.layout import build_layout
from gymnast.policies.policy import Policy
from gymnast.rollout.remote import ActorEnvs, RemoteCollector
from gymnast.rollout.remote_crew import Crew
from gymnast.rollout.remote_fleet import Fleet
from gymnast.spaces.plain import plain_action_space, plain_space


def build_remote_envs(config: Config) -> ActorEnvs:
    """The envs of all actors. Nothing runs before they are reset."""
    cluster, env = config.cluster, config.env
    refuse_unsupported(config)
    backend = "sync" if env.backend == "auto" else env.backend
    actors = None if cluster.actors == "auto" else min(cluster.actors, env.copies)
    share = -(-env.copies // actors) if actors else 1
    if (reason := why_not_backend(env, share, backend)) is not None:
        raise GymnastError(f"env.backend {backend} cannot step '{env.id}' in an actor: {reason}")
    probe = make_env(env, training=True)
    try:
        spaces = plain_space(probe.observation_space), plain_action_space(probe.action_space)
        names = reward_parts(probe), episode_values(probe)
    finally:
        close_env(probe)
    layout = build_layout(config.policy, *spaces, value_heads(config))
    same_bits = cluster.same_bits if cluster.same_bits is not None else layout.encoder is None
    order: dict[str, Any] = {
        "env": env.model_copy(update={"groups": 1}).model_dump(mode="json"),
        "registered": registration(env),
        "backend": backend,
        "policy": config.policy.model_dump(mode="json"),
        "engine": choose_engine(config.engine, layout, config.device),
        "precision": config.precision,
        "value_heads": list(value_heads(config)),
        "n_envs": env.copies,
        "n_steps": config.algo.steps,
        "lag": config.lag,
        "same_bits": same_bits,
        "keep_final_obs": False,
    }
    crew = Crew(
        build_fleet(cluster, env.copies),
        order,
        env_seeds(config.seed, env.copies),
        actors,
        Restarts(env.restarts, "another actor takes over"),
        cluster.timeout,
        check_versions if cluster.on == "ray" else lambda theirs, where: None,
    )
    return ActorEnvs(crew, backend, spaces, *names)


def build_fleet(cluster: ClusterConfig, n_envs: int) -> Fleet:
    """Where actors run; GymnastError, with nothing started, if they cannot."""
    if cluster.on == "ray":
        from gymnast.cluster.ray_fleet import RayFleet

        return RayFleet(cluster)
    from gymnast.cluster.local_fleet import LocalFleet

    return LocalFleet(usable_cores() if cluster.actors == "auto" else min(cluster.actors, n_envs))


def build_remote_source(
    config: Config, envs: Envs, policy: Policy, acting: Policy, *, keep_final_obs: bool
) -> RemoteCollector:
    assert isinstance(envs, ActorEnvs)
    envs.crew.order["keep_final_obs"] = keep_final_obs
    weigh = getattr(config.algo, "advantage", "gae") == "vtrace"
    return RemoteCollector(
        envs, policy, acting, config.algo.steps, lag=config.lag, weigh=weigh, keep_final_obs=keep_final_obs
    )


def refuse_unsupported(config: Config) -> None:
    """Raise GymnastError for what actors cannot do."""
    if config.env.mix is not None:
        raise GymnastError("env.mix: the tasks of a mix cannot be shared among actors; use cluster.on: none")
    if config.policy.memory != "none":
        raise GymnastError(
            f"policy.memory {config.policy.memory}: a policy with a memory cannot act in actors;"
            " use cluster.mode: steps, or cluster.on: none"
        )


__all__ = ["build_fleet", "build_remote_envs", "build_remote_source"]
