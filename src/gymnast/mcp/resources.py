"""Resources: a run's config, metrics, report and log, and pages of documentation."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Callable
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from gymnast import api
from gymnast.errors import GymnastError, did_you_mean
from gymnast.mcp.instructions import INSTRUCTIONS
from gymnast.mcp.serving import Serving
from gymnast.redact import redact

_MOST_ROWS = 1000
_PAGES = ("guide", "settings", "metrics", "alerts")


def page_names() -> list[str]:
    """The pages that there are; of an alert its id."""
    return [*_PAGES, *(rule.id for rule in api.list_rules())]


def page_named(name: str) -> str:
    """One of _PAGES, or the page of an alert."""
    if name == "guide":
        return INSTRUCTIONS
    if name == "settings":
        return api.settings_page()
    if name == "metrics":
        return api.metrics_page()
    if name == "alerts":
        return api.alert_pages()["alerts.md"]
    if name not in page_names():
        known = did_you_mean(name, page_names())
        raise GymnastError(f"no page {name!r}{known}; there are {', '.join(_PAGES)} and the ids of alerts")
    return api.alert_page(name)


def add_resources(server: MCPServer[Any], serving: Serving) -> None:
    """Register them all."""

    @server.resource("gymnast://runs/{run}/config", mime_type="application/yaml")
    @_explained
    def config(run: str) -> str:
        """The resolved config of a run."""
        return redact(serving.run(run).config_text())

    @server.resource("gymnast://runs/{run}/metrics.csv{?rows}", mime_type="text/csv")
    @_explained
    def metrics(run: str, rows: int = 200) -> str:
        """The metrics of a run: at most `rows` rows, evenly spread, with the first and the last."""
        if not 2 <= rows <= _MOST_ROWS:
            raise GymnastError(f"rows must be between 2 and {_MOST_ROWS}, got {rows}")
        return _thinned(api.metric_rows(serving.run(run)), rows)

    @server.resource("gymnast://runs/{run}/report", mime_type="text/markdown")
    @_explained
    def report(run: str) -> str:
        """The report of a run."""
        return redact(api.read_report(serving.run(run)).markdown())

    @server.resource("gymnast://runs/{run}/log", mime_type="text/plain")
    @_explained
    def log(run: str) -> str:
        """The last 500 lines of a run's log."""
        return "\n".join(api.read_log(serving.run(run), lines=500).lines)

    @server.resource("gymnast://docs/{page}", mime_type="text/markdown")
    @_explained
    def docs(page: str) -> str:
        """A page: guide, settings, metrics, alerts, or the id of an alert such as kl.high."""
        return page_named(page)

    for name in _PAGES:
        server.resource(f"gymnast://{name}", name=name, mime_type="text/markdown")(_static(name))


def _static(name: str) -> Callable[[], str]:
    def page() -> str:
        return page_named(name)

    page.__name__, page.__doc__ = name, f"The page gymnast://docs/{name}."
    return page


def _explained(function: Callable[..., str]) -> Callable[..., str]:
    """What a client can fix reaches it as its message; the SDK hides all else."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> str:
        try:
            return function(*arguments, **named)
        except GymnastError as error:
            raise ResourceNotFoundError(redact(str(error))) from error

    return called


def _thinned(rows: list[list[str]], most: int) -> str:
    header, *values = rows or [[]]
    if len(values) > most:
        values = [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *values])
    return text.getvalue()
