"""The network of a config, and the policy of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnast.api.run import Run, read_checkpoint
from gymnast.errors import GymnastError
from gymnast.policies.describe import Node as NetworkNode

if TYPE_CHECKING:
    import gymnasium as gym

    from gymnast.config.schema import Config
    from gymnast.envs.mix.task_policy import TaskPolicy
    from gymnast.policies.policy import Policy

    Spaces = tuple[gym.Space[Any], gym.Space[Any]]

__all__ = ["Network", "NetworkNode", "describe_network", "load_policy", "load_task_policy"]


@dataclass(frozen=True, slots=True)
class Network:
    """The layers that a config makes and the engine that computes them, or why they are not known."""

    tree: NetworkNode | None
    engine: str | None
    problem: str | None = None  # an env or a library that is not there, or settings that do not fit

    def to_json(self) -> dict[str, Any]:
        if self.tree is None:
            return {"problem": self.problem}
        return {"engine": self.engine, **self.tree.as_data()}


def describe_network(config: Config, spaces: Spaces | None = None) -> Network:
    """The network of a config; `spaces` are those of its observations and actions, if they are known."""
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.policies.build import choose_engine
    from gymnast.policies.describe import describe_policy
    from gymnast.policies.layout import build_layout

    try:
        layout = build_layout(config.policy, *(spaces or policy_spaces(config.env)))
        return Network(describe_policy(layout), choose_engine(config.engine, layout, config.device))
    except GymnastError as error:
        return Network(None, None, str(error))


def load_policy(run: str | Run = "@last", *, runs_dir: str | Path | None = None) -> Policy:
    """The policy of a checkpoint; `policy.predict(obs)` gives the actions for observations [N, …].

    One with a memory wants `state = policy.start(N)`, `predict(obs, state=state)` and `state.reset(done)`;
    one without takes the same calls. Of a mix it is the policy of all tasks: `load_task_policy` gives
    that of one.
    """
    from gymnast.envs.contract import close_env
    from gymnast.envs.mix.build import policy_spaces
    from gymnast.envs.single import make_env
    from gymnast.policies.load import load_policy as rebuild_policy

    arrays, _, config = read_checkpoint(run, runs_dir)
    if config.env.mix is not None:
        return rebuild_policy(config, *policy_spaces(config.env, training=False), arrays)
    env = make_env(config.env, training=False)
    try:
        return rebuild_policy(config, env.observation_space, env.action_space, arrays)
    finally:
        close_env(env.close, config.env.id)


def load_task_policy(
    run: str | Run = "@last", *, task: str, runs_dir: str | Path | None = None
) -> TaskPolicy:
    """The policy of a mix (`env.mix`) for one of its tasks: that task's own observations in, its own
    actions out, whatever the policy of all tasks observes and chooses from."""
    from gymnast.envs.mix.build import mix_form
    from gymnast.envs.mix.task_policy import TaskPolicy
    from gymnast.policies.load import load_policy as rebuild_policy

    arrays, checkpoint, config = read_checkpoint(run, runs_dir)
    if config.env.mix is None:
        raise GymnastError(f"run {checkpoint.run.id} has no tasks (env.mix); use load_policy")
    form = mix_form(config.env, training=False)
    policy = rebuild_policy(config, form.observation_space, form.action_space, arrays)
    return TaskPolicy(policy, form, task)
