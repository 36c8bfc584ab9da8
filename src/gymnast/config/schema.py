"""The whole config: one frozen model composed of the sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union

from pydantic import BeforeValidator, Field, model_validator

from gymnast.algorithms.ppo import PPOConfig
from gymnast.algorithms.settings import AlgoSettings
from gymnast.algorithms.table import ALGORITHMS, DEFAULT_ALGO
from gymnast.cluster.settings import LONGEST_GAE_LAG, ClusterConfig
from gymnast.config.plugins import PluginConfig
from gymnast.config.schedules import Schedule, takes_schedule
from gymnast.config.values import MisfitError, Section
from gymnast.envs.settings import EnvConfig
from gymnast.errors import did_you_mean
from gymnast.metrics.settings import ObserveConfig
from gymnast.parts.bonus import BonusSettings, NoBonusConfig
from gymnast.parts.explore import ExploreConfig
from gymnast.play.settings import PlayConfig
from gymnast.policies.settings import PolicyConfig
from gymnast.rollout.settings import EvalConfig, memory_problems
from gymnast.training.settings import BudgetConfig, CheckpointConfig, InterventionConfig, StopConfig
from gymnast.video.settings import VideoConfig


def _named(algo: Any) -> Any:
    """A map without a name is of the default algorithm."""
    return {"name": DEFAULT_ALGO, **algo} if isinstance(algo, dict) else algo


if TYPE_CHECKING:
    AlgoConfig: TypeAlias = AlgoSettings
else:  # a type checker cannot read a union that is made from a table
    AlgoConfig = Annotated[
        Union[tuple(algorithm.Settings for algorithm in ALGORITHMS.values())],  # noqa: UP007
        Field(discriminator="name"),
        BeforeValidator(_named),
    ]


class Config(Section):
    """Everything a run needs; what a preset leaves out takes the default shown here."""

    seed: int = Field(0, ge=0, description="Seed of envs, weights, sampling and shuffling.")
    engine: Literal["auto", "numpy", "torch"] = Field(
        "auto", description="numpy: small MLPs on CPU, no torch needed; auto picks it whenever possible."
    )
    device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|cuda(:\d+)?)$",
        description="cpu, cuda, cuda:1 …; auto: a GPU for images and large networks, if there is one.",
    )
    precision: Literal["f32", "bf16"] = Field(
        "f32", description="bf16: image encoders compute in bfloat16, weights and losses stay float32."
    )
    env: EnvConfig = Field(description="The environment.")
    policy: PolicyConfig = Field(default_factory=PolicyConfig, description="The network.")
    algo: AlgoConfig = Field(default_factory=PPOConfig, description="The learner.")
    explore: ExploreConfig = Field(
        default_factory=NoBonusConfig, description="A bonus for exploring, beside the environment's reward."
    )
    cluster: ClusterConfig = Field(
        default_factory=ClusterConfig, description="Actors on other cores or machines."
    )
    budget: BudgetConfig = Field(default_factory=BudgetConfig, description="How long to train.")
    stop: StopConfig = Field(default_factory=StopConfig, description="Scores that end training.")
    eval: EvalConfig = Field(default_factory=EvalConfig, description="Scoring the policy.")
    checkpoint: CheckpointConfig = Field(default_factory=CheckpointConfig, description="What is kept.")
    video: VideoConfig = Field(default_factory=VideoConfig, description="Videos of evaluation episodes.")
    play: PlayConfig = Field(default_factory=PlayConfig, description="How a person plays.")
    observe: ObserveConfig = Field(default_factory=ObserveConfig, description="What else is measured.")
    interventions: tuple[InterventionConfig, ...] = Field(
        (), description="Rules that change hyperparameters when a metric stalls."
    )
    sweep: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict,
        description="Ranges that a sweep of this config searches, by dotted key, as `parameters` of a sweep"
        " file; null: not searched.",
    )
    hooks: tuple[PluginConfig, ...] = Field(
        (), description="Hooks of your own, `package.module:Class`, with their arguments."
    )
    sinks: tuple[PluginConfig, ...] = Field(
        (), description="Further places that metrics go to, by name or `package.module:Class`."
    )

    @property
    def collects_ahead(self) -> bool:
        """Whether the next rollout is collected while this one is learned from; only PPO can."""
        return isinstance(self.algo, PPOConfig) and self.algo.collect_ahead and not self.cluster.collects

    @property
    def lag(self) -> int:
        """How many updates the policy that collects is behind the one that learns."""
        ahead = int(isinstance(self.algo, PPOConfig) and self.algo.collect_ahead)
        return ahead if not self.cluster.collects or self.cluster.lag is None else self.cluster.lag

    @model_validator(mode="after")
    def _sections_fit_together(self) -> Config:
        problems: dict[str, str] = {}
        if self.env.groups > 1 and self.policy.memory != "none":
            problems["env.groups"] = "a policy with a memory acts for all envs at once; use 1"
        elif isinstance(self.env.n_envs, int) and isinstance(self.algo.n_steps, int):
            # `auto` is checked once it is a number
            problems |= self._misfitting_batch(self.env.n_envs)
        if self.collects_ahead and self.policy.memory != "none":
            problems["algo.collect_ahead"] = "a policy with a memory cannot act from older weights; use false"
        if self.policy.shared and self.policy.critic_hidden is not None:
            problems["policy.critic_hidden"] = (
                "a shared trunk has no critic widths of its own; drop one of the two"
            )
        if self.video.record == "every" and self.eval.background:
            problems["video.record"] = (
                "every records the weights as they are evaluated, which eval.background does in"
                " another process; use best"
            )
        if isinstance(self.explore, BonusSettings) and "gae_lambda" not in type(self.algo).model_fields:
            problems["explore.name"] = (
                f"{self.algo.name} has no GAE to add a bonus to; use ppo or a2c, or explore: none"
            )
        problems |= self._misfitting_rules() | self._misfitting_cluster()
        budget = self.budget
        if budget.wall_time is not None and budget.env_steps is None and budget.vec_steps is None:
            moving = [
                f"{section}.{name}"
                for section, settings in (("algo", self.algo), ("explore", self.explore))
                for name, value in settings
                if isinstance(value, Schedule) and value.kind != "constant"
            ]
            if moving:
                problems["budget.env_steps"] = (
                    f"must be given beside wall_time, because {moving[0]} follows the step budget"
                )
        if problems:
            raise MisfitError(problems)
        return self

    def _misfitting_cluster(self) -> dict[str, str]:
        """Data of older policies that the algorithm would take for its own."""
        problems: dict[str, str] = {}
        weighs = isinstance(self.algo, PPOConfig) and self.algo.advantage == "vtrace"
        if self.cluster.lag is not None and self.cluster.on != "none":
            if self.cluster.mode == "steps":
                problems["cluster.lag"] = "is of cluster.mode: rollouts; with steps set algo.collect_ahead"
            elif self.cluster.lag and not isinstance(self.algo, PPOConfig):
                problems["cluster.lag"] = f"{self.algo.name} learns from its own policy's data alone; use 0"
            elif self.cluster.lag > LONGEST_GAE_LAG and not weighs:
                problems["cluster.lag"] = (
                    f"a lag of {self.cluster.lag} updates needs algo.advantage: vtrace; use it, or at most"
                    f" {LONGEST_GAE_LAG}"
                )
        if weighs and isinstance(self.explore, BonusSettings):
            problems["algo.advantage"] = (
                "vtrace has one stream of rewards; use gae with a bonus for exploring"
            )
        return problems

    def fits(self, n_envs: int) -> bool:
        """Whether this number of envs fits the other settings."""
        fewest = self.env.groups * max(1, len(self.env.mix or ()))
        return n_envs >= fewest and not self._misfitting_batch(n_envs)

    def _misfitting_batch(self, n_envs: int) -> dict[str, str]:
        """Minibatches, or sequences, that do not divide a rollout of this many envs."""
        n_steps = self.algo.steps
        try:
            self.algo.minibatch_size(n_envs * n_steps)
        except ValueError as error:
            return {"algo.batch_size": f"{error} ({n_envs} envs × {n_steps} steps)"}
        return memory_problems(self.algo, n_envs) if self.policy.memory != "none" else {}

    def _misfitting_rules(self) -> dict[str, str]:
        """Interventions whose setting this algorithm cannot change while it runs."""
        fields = type(self.algo).model_fields
        numbers = {name: value for name, value in self.algo if takes_schedule(fields[name].annotation)}
        problems: dict[str, str] = {}
        for index, rule in enumerate(self.interventions):
            name, where = rule.setting, f"interventions.{index}.setting"
            if name is None:
                continue
            if name not in numbers:
                hint = did_you_mean(name, numbers)
                problems[where] = f"{self.algo.name} has no number {name!r} to change{hint}"
            elif numbers[name] is None and rule.set is None:
                problems[where] = f"algo.{name} is null: there is nothing to multiply; use set"
        return problems
