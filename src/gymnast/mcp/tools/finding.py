"""Tools that find what there is: environments, settings, metrics, alerts, wrappers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from gymnast import api
from gymnast.errors import GymnastError, cut
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import READS, tool

Limit = Annotated[int, Field(ge=1, le=100)]
Offset = Annotated[int, Field(ge=0)]
Topic = Literal["setting", "metric", "alert", "wrapper"]


@dataclass
class Environment:
    name: str
    references: list[str]  # what start_training takes
    about: str
    family: str
    solved_at: float | None
    ready: bool
    needs: str


@dataclass
class Environments:
    found: list[Environment]
    total: int
    next_offset: int | None


@dataclass
class Entry:
    kind: str
    name: str
    means: str
    values: str


@dataclass
class Entries:
    found: list[Entry]
    total: int
    next_offset: int | None


class FindingTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(READS)
    def find_environments(
        self,
        query: str = "",
        family: str = "",
        every: bool = False,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Environments:
        """Find environments to train, with the references that start_training takes. `query`: words of a
        name, family or description. `every`: also envs without a tuned preset. `ready` false: `needs` says
        what to install."""
        found = api.list_envs(query, every=every, config_dirs=self._serving.config_dirs)
        if not found:
            raise GymnastError(
                f"no environment matches {query!r}: try one word, such as 'lander'; an empty query lists all"
            )
        families = sorted({entry.family for entry in found if entry.family})
        if family:
            chosen = [entry for entry in found if family.lower() in entry.family.lower()]
            if not chosen:
                raise GymnastError(f"no environment of family {family!r}; families: {', '.join(families)}")
            found = chosen
        page = [
            Environment(
                name=entry.name,
                references=[f"{entry.name}:{variant}" for variant in entry.variants] or [entry.name],
                about=cut(entry.problem or entry.description, 150),
                family=entry.family,
                solved_at=entry.solved_at,
                ready=entry.installed and entry.problem is None,
                needs="" if entry.installed else f"pip install 'gymnast[{entry.extra}]'",
            )
            for entry in found[offset : offset + limit]
        ]
        return Environments(page, len(found), _next(offset, limit, len(found)))

    @tool(READS)
    def look_up(
        self, query: str, kind: Topic | None = None, limit: Limit = 20, offset: Offset = 0
    ) -> Entries:
        """Explain settings (keys for overrides, with defaults), metrics, alerts or wrappers whose name or
        description mentions `query`, such as 'entropy', 'algo.lr' or 'kl.high'."""
        found: list[Entry] = []
        for topic, search in _SEARCHES.items():
            if kind in (None, topic):
                found += search(query)
        if not found:
            raise GymnastError(f"nothing mentions {query!r}: try one word, such as 'entropy' or 'reward'")
        exact = query.lower()
        found.sort(key=lambda entry: (entry.name.lower() != exact, exact not in entry.name.lower()))
        return Entries(found[offset : offset + limit], len(found), _next(offset, limit, len(found)))


def _next(offset: int, limit: int, total: int) -> int | None:
    return offset + limit if offset + limit < total else None


def _settings(text: str) -> list[Entry]:
    try:
        keys = api.config_keys(text)
    except GymnastError:
        return []
    return [Entry("setting", key.name, cut(key.description, 300), f"default {key.default}") for key in keys]


def _metrics(text: str) -> list[Entry]:
    try:
        specs = api.list_metrics(text)
    except GymnastError:
        return []
    return [Entry("metric", spec.key, cut(spec.help, 300), api.metric_bounds(spec)) for spec in specs]


def _alerts(text: str) -> list[Entry]:
    return [
        Entry("alert", rule.id, cut(rule.means, 300), cut(f"when {rule.when}", 200))
        for rule in api.list_rules()
        if text.lower() in f"{rule.id} {rule.means} {rule.when}".lower()
    ]


def _wrappers(text: str) -> list[Entry]:
    try:
        wrappers = api.list_wrappers(text or None)
    except GymnastError:
        return []
    return [
        Entry("wrapper", one.name, cut(one.help, 300), ", ".join(a.name for a in one.arguments))
        for one in wrappers
    ]


_SEARCHES = {"setting": _settings, "metric": _metrics, "alert": _alerts, "wrapper": _wrappers}
