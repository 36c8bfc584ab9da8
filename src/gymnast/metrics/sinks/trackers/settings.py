"""The trackers that a config or `--track` can name, with their settings, checked before a run starts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationError

from gymnast.config.plugins import PluginConfig
from gymnast.config.values import Seconds, Section
from gymnast.errors import GymnastError, MissingExtra, cut, did_you_mean

XAxis = Literal["vec_steps", "env_steps", "updates", "seconds"]


class TrackerSettings(Section):
    """What every tracker takes."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    package: ClassVar[str]  # what is imported for it
    extra: ClassVar[str]  # what installs that
    backend: ClassVar[str]  # package.module:Class
    modes: ClassVar[tuple[str, ...]] = ()  # what `--track NAME=MODE` may say

    x_axis: XAxis = Field("vec_steps", description="What charts have on the x axis.")
    finish_seconds: Seconds = Field(
        20.0, description="How long the end of a run waits for what is not delivered yet."
    )


class WandbSettings(TrackerSettings):
    """Weights & Biases."""

    package, extra = "wandb", "wandb"
    backend = "gymnast.metrics.sinks.trackers.wandb:WandbBackend"
    modes = ("online", "offline")

    project: str | None = Field(
        None, min_length=1, description="The project; else WANDB_PROJECT, else gymnast."
    )
    entity: str | None = Field(None, min_length=1, description="The user or team; else the login's own.")
    mode: Literal["online", "offline"] | None = Field(
        None, description="Upload, or write to the run folder only; else WANDB_MODE, else online."
    )
    tags: tuple[str, ...] = Field((), description="Tags of the run.")


class TensorboardSettings(TrackerSettings):
    """TensorBoard event files in the run folder."""

    package, extra = "tensorboardX", "tensorboard"
    backend = "gymnast.metrics.sinks.trackers.tensorboard:TensorboardBackend"


class TrackioSettings(TrackerSettings):
    """Trackio, on this machine."""

    package, extra = "trackio", "trackio"
    backend = "gymnast.metrics.sinks.trackers.trackio:TrackioBackend"

    project: str = Field("gymnast", min_length=1, description="The project.")


TRACKERS: dict[str, type[TrackerSettings]] = {
    "wandb": WandbSettings,
    "tensorboard": TensorboardSettings,
    "trackio": TrackioSettings,
}

_ALIVE = "use trackio (no account), wandb or tensorboard"
DEAD = {
    "neptune": f"Neptune's service was shut down in March 2026: {_ALIVE}",
    "aim": f"Aim has had no release since May 2025 and has open security holes: {_ALIVE}",
}


def check_tracker(name: str, arguments: dict[str, Any], section: str = "sinks") -> TrackerSettings:
    """The settings of a tracker that can be used here. Raises GymnastError for a wrong one, MissingExtra if
    its package is not installed; nothing is imported."""
    kind = TRACKERS[name]
    try:
        settings = kind(**arguments)
    except ValidationError as error:
        raise GymnastError(f"{section}: {name}: {_explained(error, kind)}") from error
    if find_spec(kind.package) is None:
        raise MissingExtra(f"{section}: {name}", kind.extra)
    return settings


def refuse_dead(name: str, section: str = "sinks") -> None:
    """Raise GymnastError for a tracker that is no more."""
    if name.lower() in DEAD:
        raise GymnastError(f"{section}: {DEAD[name.lower()]}")


def uploads(sinks: Sequence[PluginConfig]) -> list[str]:
    """Where the trackers of a config send metrics to, off this machine: "wandb (entity 'ada')"."""
    found = []
    for sink in sinks:
        given = sink.arguments
        if sink.name == "wandb" and given.get("mode") != "offline":
            places = [f"{key} {cut(repr(given[key]))}" for key in ("entity", "project") if given.get(key)]
            found.append(f"wandb ({', '.join(places)})" if places else "wandb")
    return found


def with_trackers(sinks: tuple[PluginConfig, ...], track: Sequence[str]) -> tuple[PluginConfig, ...]:
    """A config's sinks with those that `--track NAME` or `--track NAME=MODE` asks for. One that the config
    has already keeps its settings."""
    for wanted in track:
        name, equals, mode = wanted.partition("=")
        refuse_dead(name, "--track")
        if name not in TRACKERS:
            raise GymnastError(
                f"--track: no tracker {name!r}{did_you_mean(name, TRACKERS)}; there are {', '.join(TRACKERS)}"
            )
        modes = TRACKERS[name].modes
        if equals and mode not in modes:
            takes = f"it takes {' or '.join(f'{name}={one}' for one in modes)}" if modes else "it takes none"
            raise GymnastError(f"--track {wanted}: {name} has no mode {mode!r}; {takes}")
        added = {"mode": mode} if equals else {}
        known = [sink for sink in sinks if sink.name == name]
        given = {"name": name, **(known[0].arguments if known else {}), **added}
        tracker = PluginConfig.model_validate(given)
        if known:
            sinks = tuple(tracker if sink is known[0] else sink for sink in sinks)
        else:
            sinks = (*sinks, tracker)
    return sinks


def _explained(error: ValidationError, kind: type[TrackerSettings]) -> str:
    problem = error.errors()[0]
    key = ".".join(map(str, problem["loc"]))
    if problem["type"] == "extra_forbidden":
        names = list(kind.model_fields)
        return f"no argument '{key}'{did_you_mean(key, names)}; it takes {', '.join(names)}"
    if problem["type"] == "literal_error":
        expected = str(problem.get("ctx", {}).get("expected", "")).replace("'", "")
        given = str(problem["input"])
        choices = expected.replace(" or ", ", ").split(", ")
        return f"{key}: {given!r} is not {expected}{did_you_mean(given, choices)}"
    return f"{key}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
