"""How an actor and a learner find out that they may work together, before either does what the other says.

Both prove that they have the token of the run without sending it, by an HMAC over all that was said so far,
random numbers of both included. The learner proves it too: what it asks an actor to do next is to import an
env by name.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import platform
import secrets
import socket
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnast import __version__
from gymnast.envs.backends.remote_wire import LONGEST_GREETING, Wire, WireError
from gymnast.errors import GymnastError

PROTOCOL = 1
TOKEN_VARIABLE = "GYMNAST_ACTOR_TOKEN"
_SHORTEST_TOKEN = 16  # characters; whoever listens in could try shorter ones one by one
_LONGEST_TEXT = 200  # characters of what the other side says about itself


class Refused(Exception):
    """The other side is not one to work with; says why, in words for its user too."""


@dataclass(frozen=True, slots=True)
class ActorInfo:
    """What an actor says about itself."""

    name: str
    host: str
    pid: int
    most_envs: int | None  # that it can take


def new_token() -> str:
    return secrets.token_hex(32)


def read_token(file: Path | None) -> str | None:
    """The token in a file or in the environment; None if neither has one. GymnastError if it is malformed."""
    if file is None:
        token = os.environ.get(TOKEN_VARIABLE)
        return None if token is None else _checked(token.strip(), TOKEN_VARIABLE)
    file = file.expanduser()
    try:
        mode, token = file.stat().st_mode, file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise GymnastError(f"the token file {file} cannot be read: {why}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise GymnastError(f"the token file {file} is open to other users of this machine: chmod 600 {file}")
    return _checked(token.strip(), f"the token file {file}")


def _checked(token: str, where: str) -> str:
    if len(token) < _SHORTEST_TOKEN:
        raise GymnastError(
            f"{where}: a token needs at least {_SHORTEST_TOKEN} characters;"
            " gymnast actor --new-token FILE makes one"
        )
    return token


def greet_learner(wire: Wire, token: str, name: str, most_envs: int | None, deadline: float) -> None:
    """The actor's side. Refused if either does not want the other, WireError if the connection fails."""
    hello = {
        "gymnast": __version__,
        "protocol": PROTOCOL,
        "byteorder": sys.byteorder,
        "python": platform.python_version(),
        "name": name,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "envs": most_envs,
        "nonce": secrets.token_hex(32),
    }
    wire.write_message(hello, deadline=deadline)
    challenge = _answer(wire, deadline)
    said = [hello, challenge]
    wire.write_message({"proof": _proof(token, "actor", said)}, deadline=deadline)
    if not _is_proof(_answer(wire, deadline), token, "learner", said):
        raise Refused("the learner does not know the token")


def greet_actor(wire: Wire, token: str, fewest_envs: int, deadline: float) -> ActorInfo:
    """The learner's side, of which each place has so many envs; the actor is told why it is refused."""
    try:
        hello = wire.read_message(deadline, LONGEST_GREETING)
        info = _checked_hello(hello, fewest_envs)
        challenge = {"gymnast": __version__, "protocol": PROTOCOL, "nonce": secrets.token_hex(32)}
        wire.write_message(challenge, deadline=deadline)
        said = [hello, challenge]
        if not _is_proof(wire.read_message(deadline, LONGEST_GREETING), token, "actor", said):
            raise Refused("wrong token")
        wire.write_message({"proof": _proof(token, "learner", said)}, deadline=deadline)
    except Refused as refused:
        wire.write_message({"refused": str(refused)}, deadline=deadline)
        raise
    return info


def _checked_hello(hello: Any, fewest_envs: int) -> ActorInfo:
    if not isinstance(hello, dict) or "gymnast" not in hello or "protocol" not in hello:
        raise Refused("it did not say what it is")
    if hello["gymnast"] != __version__ or hello["protocol"] != PROTOCOL:
        theirs = f"{_text(hello['gymnast'])} (protocol {_text(hello['protocol'])})"
        raise Refused(
            f"the actor has Gymnast {theirs}, the learner {__version__} (protocol {PROTOCOL}):"
            " install the same version on both"
        )
    if hello.get("byteorder") != sys.byteorder:
        raise Refused("the machines store numbers in different byte orders")
    pid, most = hello.get("pid"), hello.get("envs")
    if not isinstance(pid, int) or not (most is None or (isinstance(most, int) and most > 0)):
        raise Refused("it did not say what it is")
    if most is not None and most < fewest_envs:
        raise Refused(
            f"it takes at most {most} envs, and places here have {fewest_envs}:"
            f" start it with --envs {fewest_envs}, or the run with a larger env.actors.count"
        )
    return ActorInfo(_text(hello.get("name")), _text(hello.get("host")), pid, most)


def _answer(wire: Wire, deadline: float) -> dict[str, Any]:
    """What the learner says, unless that is why it refuses."""
    answer = wire.read_message(deadline, LONGEST_GREETING)
    if not isinstance(answer, dict):
        raise WireError("what was sent is not of Gymnast's protocol")
    if "refused" in answer:
        raise Refused(_text(answer["refused"]))
    return answer


def _proof(token: str, role: str, said: list[Any]) -> str:
    """Of having the token; no proof of one role or one conversation is one of another."""
    text = json.dumps([role, said], sort_keys=True).encode()
    return hmac.new(token.encode(), text, hashlib.sha256).hexdigest()


def _is_proof(given: Any, token: str, role: str, said: list[Any]) -> bool:
    proof = given.get("proof") if isinstance(given, dict) else None
    # As bytes: of texts, only ASCII can be compared.
    return isinstance(proof, str) and hmac.compare_digest(proof.encode(), _proof(token, role, said).encode())


def _text(value: Any) -> str:
    """What the other side says, fit for a line of a log."""
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    return text[:_LONGEST_TEXT]
