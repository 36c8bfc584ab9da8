"""The `env` section: which environment, how many copies, and what is wrapped around it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from gymnast.config.values import PositiveCount, Section
from gymnast.envs.atari.settings import AtariConfig
from gymnast.envs.restarts import RestartConfig

Backend = Literal["auto", "sync", "workers", "native", "envpool"]


class WrapperConfig(Section):
    """One wrapper by name (or import path `package.module:Class`), with its arguments beside it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = Field(description="A name from `gymnast wrappers`, or `package.module:Class`.")

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class SpecConfig(Section):
    """What is known of an env beyond its spaces; whatever is unset is read from Gymnasium."""

    action_labels: tuple[str, ...] | None = Field(None, description="One label per action.")
    observation_names: tuple[str, ...] | None = Field(None, description="One per component.")
    reward_range: tuple[float, float] | None = Field(None, description="Least and greatest reward of a step.")
    solved_at: float | None = Field(None, description="Mean evaluation return that counts as solved.")
    description: str | None = Field(None, description="One line for `gymnast envs`.")


class EnvConfig(Section):
    """Which environment to build and how."""

    id: str = Field(description="A Gymnasium id, or `package.module:EnvClass`.")
    n_envs: PositiveCount = Field(8, description="Copies stepped together.")
    backend: Backend = Field("auto", description="How copies are stepped; auto measures once per machine.")
    workers: PositiveCount | None = Field(
        None, description="Worker processes for `workers`; one a core if unset."
    )
    restarts: RestartConfig = Field(
        default_factory=RestartConfig, description="Worker processes that die or hang."
    )
    kwargs: dict[str, Any] = Field(default_factory=dict, description="Arguments of the env itself.")
    max_episode_steps: PositiveCount | None = Field(None, description="Time limit instead of the env's own.")
    actions: tuple[str, ...] | None = Field(
        None, description="Labels of the actions to keep, in this order; buttons held together as `RIGHT+B`."
    )
    wrappers: tuple[WrapperConfig, ...] = Field((), description="Applied in order, innermost first.")
    action_masks: bool = Field(
        False, description="Never do what info['action_mask'] forbids; see docs/action-spaces.md."
    )
    atari: AtariConfig = Field(default_factory=AtariConfig, description="Atari games; see docs/atari.md.")
    spec: SpecConfig = Field(default_factory=SpecConfig, description="Labels, names, range, threshold.")
