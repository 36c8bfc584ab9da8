"""A tool as this server offers it: short schemas, errors that a model can act on, answers of a bounded
size."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from gymnast.errors import GymnastError, did_you_mean
from gymnast.redact import redact

MOST_CHARACTERS = 40_000  # of any answer; those that were not asked in full stay below half of it
_LONGEST_ERROR = 4_000
_HINTS = "__mcp_hints__"
_Method = TypeVar("_Method", bound=Callable[..., Any])

READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
ENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
UPLOADS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)


def tool(hints: ToolAnnotations) -> Callable[[_Method], _Method]:
    """Mark a method as a tool: its name, docstring, arguments and answer are what clients see."""

    def marked(method: _Method) -> _Method:
        setattr(method, _HINTS, hints)
        return method

    return marked


def tools_of(*groups: object) -> Iterator[Tool]:
    """The tools among the methods of each object, in the order in which they are written."""
    for group in groups:
        for name, function in vars(type(group)).items():
            if hints := getattr(function, _HINTS, None):
                yield _offered(getattr(group, name), hints)


class OwnTool(Tool):
    """Reports what was wrong with a call in one message, and nothing of what went wrong inside."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        known = self.parameters["properties"]
        for name in arguments:
            if name not in known:
                there = ", ".join(known) or "none"
                raise ToolError(f"{self.name} has no argument {name!r}{did_you_mean(name, known)}: {there}")
        try:
            answer = await super().run(arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(_wrong_arguments(self.name, cause)) from cause
            if isinstance(cause, ToolError):  # of a question to the user
                raise cause from None
            if isinstance(cause, GymnastError):
                raise ToolError(redact(str(cause))[:_LONGEST_ERROR]) from cause
            raise
        return _compact(self.name, answer)


def _offered(method: Callable[..., Any], hints: ToolAnnotations) -> OwnTool:
    made = OwnTool.from_function(method, description=inspect.getdoc(method), annotations=hints)
    made.parameters = slim(made.parameters)
    made.fn_metadata.output_schema = _without_required(slim(made.fn_metadata.output_schema))
    assert isinstance(made, OwnTool)
    return made


def slim(schema: Any) -> Any:
    """A JSON schema without what pydantic adds and nobody needs: titles, and nulls spelt out at length."""
    if isinstance(schema, list):
        return [slim(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if (key == "default" and value is None) or (key == "additionalProperties" and value is True):
            continue
        if key in ("properties", "$defs"):
            kept[key] = {name: slim(inner) for name, inner in value.items()}
        else:
            kept[key] = slim(value)
    kinds = kept.get("anyOf")
    if isinstance(kinds, list) and all(set(kind) == {"type"} for kind in kinds):
        del kept["anyOf"]
        kept["type"] = [kind["type"] for kind in kinds]
    elif isinstance(kinds, list) and len(kinds) == 2 and kinds[1] == {"type": "null"} and "type" in kinds[0]:
        del kept["anyOf"]
        kept |= {**kinds[0], "type": [kinds[0]["type"], "null"]}
    return kept


def _without_required(schema: Any) -> Any:
    """All of an answer's fields are always there: a list of them tells a client nothing."""
    if isinstance(schema, list):
        return [_without_required(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}  # in these, keys are names
    return {
        key: {name: _without_required(inner) for name, inner in value.items()}
        if key in named
        else _without_required(value)
        for key, value in schema.items()
        if key != "required"
    }


def _compact(name: str, answer: Any) -> Any:
    """The same answer without indentation, and refused where it would flood the client."""
    if not isinstance(answer, CallToolResult) or answer.structured_content is None or answer.is_error:
        return answer
    text = json.dumps(
        to_jsonable_python(answer.structured_content), ensure_ascii=False, separators=(",", ":")
    )
    if len(text) > MOST_CHARACTERS:
        raise ToolError(f"the answer of {name} would have {len(text):,} characters: ask for less of it")
    return answer.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _wrong_arguments(name: str, error: ValidationError) -> str:
    """What each argument should have been; of one that may have several forms, all of them."""
    asked: dict[tuple[str, str], list[str]] = {}
    for detail in error.errors(include_url=False, include_context=False):
        # A form that was tried, such as dict[str,any], is part of the place.
        where = ".".join(part for part in map(str, detail["loc"]) if "[" not in part) or "arguments"
        given = "" if detail["type"] == "missing" else f", got {str(detail['input'])[:80]!r}"
        forms = asked.setdefault((where, given), [])
        form = detail["msg"].removeprefix(_SHOULD) if forms else detail["msg"]
        forms += [form] if form not in forms else []
    lines = [f"{where}: {' or '.join(forms)}{given}" for (where, given), forms in asked.items()]
    return f"{name} was called with wrong arguments: " + "; ".join(lines[:8])


_SHOULD = "Input should be "
