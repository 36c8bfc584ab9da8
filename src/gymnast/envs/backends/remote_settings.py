"""Settings of the backend `remote`: where actors come from, and where the learner listens for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gymnast.config.values import PositiveCount, Seconds, Section


def parse_address(address: str) -> tuple[str, int]:
    """'10.0.0.5:7000' or '[::1]:7000' as host and port; ValueError with a reason in words."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{address!r} is not HOST:PORT, such as 127.0.0.1:7000")
    return host, int(port)


def _is_address(address: str) -> str:
    parse_address(address)
    return address


class ActorsConfig(Section):
    """Processes that only step environments, here or on other machines; they dial in to the learner."""

    count: PositiveCount | None = Field(
        None, description="Actors that share the copies, over all groups; one a core if unset."
    )
    start: Literal["local", "none"] = Field(
        "local", description="Who starts them: this run, on this machine, or someone else (`gymnast actor`)."
    )
    listen: Annotated[str, AfterValidator(_is_address)] = Field(
        "127.0.0.1:0", description="Interface and port to listen at; port 0 is any that is free."
    )
    token_file: Path | None = Field(
        None, description="File with the token of actors; $GYMNAST_ACTOR_TOKEN, or a new one, if unset."
    )
    wait: Seconds = Field(
        300.0,
        gt=0,
        description="How long an actor is waited for, at the start and to replace one that is lost.",
    )

    @property
    def reaches_out(self) -> bool:
        """Whether other machines may dial in, or a file is read for the token."""
        host, _ = parse_address(self.listen)
        is_here = host in ("localhost", "::1") or host.startswith("127.")
        return self.token_file is not None or not is_here
