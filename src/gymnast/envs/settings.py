"""The `env` section: which environment, how many copies, and what is wrapped around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from gymnast.config.plugins import PluginConfig
from gymnast.config.values import CountOrAuto, MisfitError, PositiveCount, Section, from_environment
from gymnast.envs.backends.remote_settings import ActorsConfig
from gymnast.envs.backends.restarts import RestartConfig
from gymnast.envs.families.atari.settings import AtariConfig
from gymnast.envs.families.doom.settings import VizDoomConfig
from gymnast.envs.families.retro.settings import RetroConfig
from gymnast.envs.families.table import FAMILY_SETTINGS, misfits
from gymnast.errors import GymnastError

Limit = Annotated[float, Field(allow_inf_nan=True)]  # infinite: there is none
Backend = Literal["auto", "sync", "workers", "native", "envpool", "remote"]


class WrapperConfig(PluginConfig):
    """One wrapper by name (or import path `package.module:Class`), with its arguments beside it."""

    name: str = Field(description="A name from `gymnast wrappers`, or `package.module:Class`.")


class SpecConfig(Section):
    """What is known of an env beyond its spaces; whatever is unset is read from Gymnasium."""

    action_labels: tuple[str, ...] | None = Field(None, description="One label per action.")
    observation_names: tuple[str, ...] | None = Field(None, description="One per component.")
    reward_range: tuple[Limit, Limit] | None = Field(None, description="Least and greatest reward of a step.")
    solved_at: float | None = Field(None, description="Mean evaluation return that counts as solved.")
    description: str | None = Field(None, description="One line for `gymnast envs`.")


class EnvSettings(Section):
    """What makes an environment: that of the whole section, or one task of a mix."""

    id: str = Field(
        "",
        description="A Gymnasium id, or `package.module:EnvClass`. Needed unless each task of `mix` has one.",
    )
    n_envs: CountOrAuto = Field(
        8, description="Copies stepped together; auto: as `gymnast tune-envs` measures on this machine."
    )
    groups: PositiveCount = Field(
        1,
        description="Groups of copies stepped in turn: while the policy acts for one, the others step. 2 pays"
        " where envs step in threads or processes of their own and acting takes time.",
    )
    backend: Backend = Field("auto", description="How copies are stepped; auto measures once per machine.")
    workers: PositiveCount | None = Field(
        None, description="Worker processes for `workers`; one a core if unset."
    )
    actors: ActorsConfig = Field(
        default_factory=ActorsConfig, description="Who steps the envs for `remote`; see docs/actors.md."
    )
    restarts: RestartConfig = Field(
        default_factory=RestartConfig, description="Worker processes and actors that die or hang."
    )
    kwargs: dict[str, Any] = Field(
        default_factory=dict, description="Arguments of the env itself; `${NAME}` is an environment variable."
    )
    max_episode_steps: PositiveCount | None = Field(None, description="Time limit instead of the env's own.")
    actions: tuple[str, ...] | None = Field(
        None, description="Labels of the actions to keep, in this order; buttons held together as `RIGHT+B`."
    )
    state: str | None = Field(
        None, description="Where a game starts, such as the level Level1-2; its default if unset."
    )
    wrappers: tuple[WrapperConfig, ...] = Field((), description="Applied in order, innermost first.")
    action_masks: bool = Field(
        False, description="Never do what info['action_mask'] forbids; see docs/action-spaces.md."
    )
    atari: AtariConfig = Field(default_factory=AtariConfig, description="Atari games; see docs/atari.md.")
    vizdoom: VizDoomConfig = Field(default_factory=VizDoomConfig, description="Doom; see docs/vizdoom.md.")
    retro: RetroConfig = Field(default_factory=RetroConfig, description="Console games; see docs/retro.md.")
    spec: SpecConfig = Field(default_factory=SpecConfig, description="Labels, names, range, threshold.")

    @property
    def resolved_kwargs(self) -> dict[str, Any]:
        """`kwargs` as the env gets them: with `${NAME}` replaced from the environment."""
        resolved: dict[str, Any] = from_environment(self.kwargs, "env.kwargs")
        return resolved

    @property
    def copies(self) -> int:
        """`n_envs` as a number; `auto` becomes one before a run starts, and nowhere else."""
        if self.n_envs == "auto":
            raise GymnastError(f"env.n_envs of {self.id} is auto: only training measures it; give a number")
        return self.n_envs


class TaskConfig(EnvSettings):
    """One of several tasks. Any key of `env` but `n_envs` may stand here too, over the section's own."""

    name: str | None = Field(None, description="What metrics call it; made from id and state if unset.")
    weight: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="Its share of the copies, beside the other weights."
    )

    @model_validator(mode="after")
    def _fits_into_a_mix(self) -> TaskConfig:
        if "n_envs" in self.model_fields_set:
            raise ValueError("n_envs counts the copies of all tasks; weight sets the share of this one")
        if "groups" in self.model_fields_set:
            raise ValueError("groups are of all tasks together; set env.groups")
        if self.name is not None and (not self.name.strip() or set(self.name) & set('/,"*\r\n')):
            raise ValueError(f"name {self.name!r} cannot be part of a metric's name: no / , \" or *")
        return self

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only what the entry sets: the section sets everything else, also when it is read back."""
        return _written(self, dump(self))


def _written(section: BaseModel, dumped: dict[str, Any]) -> dict[str, Any]:
    values = {name: getattr(section, name) for name in dumped if name in section.model_fields_set}
    return {
        name: _written(value, dumped[name]) if isinstance(value, Section) else dumped[name]
        for name, value in values.items()
    }


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a mix, whole: the section with the entry's own keys over it."""

    name: str
    weight: float
    env: EnvConfig


class EnvConfig(EnvSettings):
    """Which environment to build and how."""

    mix: tuple[TaskConfig, ...] | None = Field(
        None, description="Several tasks at once, of different levels, physics or games; see docs/mix.md."
    )
    task_input: bool = Field(False, description="Tell the policy which task of `mix` it plays.")
    task_heads: Literal["auto", "shared", "separate"] = Field(
        "auto", description="Outputs for each task of `mix`; auto: separate where their actions differ."
    )

    @model_validator(mode="before")
    @classmethod
    def _id_of_all(cls, value: Any) -> Any:
        """A mix whose tasks each name their env goes by all of them."""
        if not isinstance(value, dict) or value.get("id") or not isinstance(value.get("mix"), list | tuple):
            return value
        given = [entry.get("id") if isinstance(entry, dict) else None for entry in value["mix"]]
        ids = [env_id for env_id in given if isinstance(env_id, str) and env_id]
        if not ids or len(ids) < len(given):
            return value
        return {**value, "id": " + ".join(dict.fromkeys(ids))}

    @model_validator(mode="after")
    def _is_whole(self) -> EnvConfig:
        problems: dict[str, str] = {}
        if self.mix is None:
            problems |= {} if self.id else {"env.id": "is missing"}
            problems |= misfits(self.id, self._family_settings())
            for key in ("task_input", "task_heads"):
                if getattr(self, key) != type(self).model_fields[key].default:
                    problems[f"env.{key}"] = "is for several tasks: there is no env.mix"
        else:
            problems |= self._mix_problems()
        if problems:
            raise MisfitError(problems)
        return self

    def _family_settings(self) -> list[str]:
        """Settings of single families that differ from their defaults."""
        fields = type(self).model_fields
        return [
            key
            for key in FAMILY_SETTINGS
            if key in fields and getattr(self, key) != fields[key].get_default(call_default_factory=True)
        ]

    def _mix_problems(self) -> dict[str, str]:
        assert self.mix is not None
        if not self.mix:
            return {"env.mix": "has no tasks; drop it, or give each task an entry"}
        names = [entry.name for entry in self.mix]
        problems: dict[str, str] = {}
        for index, entry in enumerate(self.mix):
            where = f"env.mix.{index}"
            if not self.id and not entry.id:
                problems[f"{where}.id"] = "is missing, and there is no env.id for all tasks"
            if entry.name is not None and entry.name in names[:index]:
                problems[f"{where}.name"] = f"{entry.name!r} is the name of another task already"
        if isinstance(self.n_envs, int) and len(self.mix) > self.n_envs:
            problems["env.n_envs"] = (
                f"{self.n_envs} copies are too few for the {len(self.mix)} tasks of env.mix"
            )
        return problems or self._problems_of_tasks()

    def _problems_of_tasks(self) -> dict[str, str]:
        """What is wrong with an entry and the rest of the section together."""
        problems: dict[str, str] = {}
        for index in range(len(self.mix or ())):
            try:
                self._task_env(index)
            except ValidationError as error:
                for detail in error.errors(include_url=False):
                    cause = detail.get("ctx", {}).get("error")
                    found = cause.problems if isinstance(cause, MisfitError) else {"env": detail["msg"]}
                    problems |= {key.replace("env", f"env.mix.{index}", 1): why for key, why in found.items()}
        return problems

    def _task_env(self, index: int) -> EnvConfig:
        assert self.mix is not None
        common = self.model_dump(exclude_unset=True, exclude={"mix", "task_input", "task_heads", "groups"})
        own = {k: v for k, v in self.mix[index].model_dump().items() if k not in ("name", "weight")}
        return EnvConfig.model_validate(_laid_over(common, own))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of the mix, each as it is built; none for a plain environment."""
        if self.mix is None:
            return ()
        envs = [self._task_env(index) for index in range(len(self.mix))]
        names = _task_names([entry.name for entry in self.mix], envs)
        return tuple(
            Task(name, entry.weight, env) for name, entry, env in zip(names, self.mix, envs, strict=True)
        )


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Maps merge and lists replace, as in layers of config files."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _laid_over(below[key], value) if both else value
    return merged


def _task_names(given: list[str | None], envs: list[EnvConfig]) -> list[str]:
    """Names as given; otherwise by id, if there are several, and state, numbered where that is not enough."""
    several = len({env.id for env in envs}) > 1
    made: list[str] = []
    for env in envs:
        short = re.sub(r"-v\d+$", "", re.split("[/:]", env.id)[-1])
        parts = [short] if several or not env.state else []
        made.append("-".join([*parts, *([env.state] if env.state else [])]).replace("/", "-"))
    taken = [name for name in given if name is not None]
    names = []
    for index, (name, default) in enumerate(zip(given, made, strict=True)):
        if name is None:
            alike = [i for i, other in enumerate(made) if other == default and given[i] is None]
            name = default if len(alike) == 1 else f"{default}-{alike.index(index) + 1}"
            while name in taken:
                name += "'"
        names.append(name)
    return names
