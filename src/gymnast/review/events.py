"""Server-sent events: the stream of small messages in which both APIs answer."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

_MOST_EVENT = 1 << 20  # characters of one event


class TooMuch(Exception):
    """More than any answer to us has."""


def read_events(chunks: Iterable[bytes], most_bytes: int) -> Iterator[str]:
    """The data of each event; TooMuch beyond the limits. What a cut stream leaves incomplete is dropped."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pending, data, size = "", list[str](), 0
    for chunk in chunks:
        size += len(chunk)
        if size > most_bytes:
            raise TooMuch
        lines = (pending + decoder.decode(chunk)).split("\n")
        pending = lines.pop()
        if len(pending) + sum(map(len, data)) > _MOST_EVENT:
            raise TooMuch
        for line in lines:
            line = line.removesuffix("\r")
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                yield "\n".join(data)
                data = []
