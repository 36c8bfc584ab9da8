"""Tools for configs: what a reference resolves to, and whether settings are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from gymnast import api
from gymnast.mcp.serving import Serving
from gymnast.mcp.tool import READS, tool
from gymnast.redact import redact

Detail = Literal["brief", "full"]
Overrides = Annotated[
    dict[str, Any] | list[str] | None, Field(description='{"algo.lr": 0.001} or ["algo.lr=0.001"]')
]
Reference = Annotated[str, Field(description="e.g. CartPole-v1:ppo; see find_environments")]


@dataclass
class ShownConfig:
    name: str
    yaml: str
    problem: str  # why it cannot be trained here


@dataclass
class CheckedConfig:
    ok: bool
    name: str
    problem: str
    note: str


class ConfigTools:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    @tool(READS)
    def get_config(
        self, reference: Reference, overrides: Overrides = None, detail: Detail = "brief"
    ) -> ShownConfig:
        """What a reference resolves to, as YAML; each value has a comment that says where it comes from.
        brief leaves out settings that have no effect here; full has every one."""
        serving = self._serving
        name = api.check_reference(reference, config_dirs=serving.config_dirs, trust=serving.trust)
        given = api.check_settings(overrides, trust=serving.trust)
        shown = api.show_config(name, overrides=given, config_dirs=serving.config_dirs)
        problem = shown.network.problem or ""
        return ShownConfig(shown.name, redact(shown.text(every=detail == "full")), redact(problem))

    @tool(READS)
    def validate_config(
        self, reference: str = "", yaml: str = "", overrides: Overrides = None
    ) -> CheckedConfig:
        """Check settings without training: of a reference with overrides, or of the text of a config file. A
        wrong key or value is named with the nearest right one. Files of this machine are not read: pass their
        text as `yaml`."""
        serving = self._serving
        checked = api.check_outside_config(
            reference, yaml, overrides, config_dirs=serving.config_dirs, trust=serving.trust
        )
        return CheckedConfig(checked.ok, checked.name, redact(checked.problem or ""), checked.note)
