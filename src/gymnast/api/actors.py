"""Actors: processes that step environments for a learner on another machine."""

from __future__ import annotations

import os
from pathlib import Path

from gymnast.api.arguments import whole
from gymnast.errors import GymnastError

__all__ = ["create_actor_token", "serve_actors"]


def serve_actors(
    connect: str,
    *,
    token_file: str | Path | None = None,
    processes: int = 1,
    most_envs: int | None = None,
    patience: float = 60.0,
) -> int:
    """Step envs for the learner at `HOST:PORT` until it needs no more steps; 0, or 2 if it refused.

    The token of the run is read from a file, or from GYMNAST_ACTOR_TOKEN. Where the learner is not there (yet
    or any more), it is dialled again for `patience` seconds.
    """
    from gymnast.envs.backends.remote_crew import keep_actors
    from gymnast.envs.backends.remote_handshake import TOKEN_VARIABLE, read_token
    from gymnast.envs.backends.remote_settings import parse_address

    try:
        host, port = parse_address(connect)
    except ValueError as error:
        raise GymnastError(f"--connect: {error}") from None
    if port == 0:
        raise GymnastError("--connect: port 0 is none that a learner listens at; see its log for the port")
    token = read_token(None if token_file is None else Path(token_file))
    if token is None:
        raise GymnastError(f"an actor needs the token of the run: --token-file FILE, or set {TOKEN_VARIABLE}")
    return keep_actors(
        host,
        port,
        token,
        processes=whole("processes", processes, 1),
        most_envs=None if most_envs is None else whole("envs", most_envs, 1),
        patience=patience,
    )


def create_actor_token(file: str | Path) -> Path:
    """Write a new token to a file that only its owner can read; one that exists is left alone."""
    from gymnast.envs.backends.remote_handshake import new_token

    path = Path(file).expanduser()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise GymnastError(f"{path} exists already; a new token needs a new file") from None
    except OSError as error:
        raise GymnastError(f"{path} cannot be written: {error.strerror}") from None
    with os.fdopen(handle, "w") as opened:
        opened.write(f"{new_token()}\n")
    return path
