"""PNG of RGB pictures, by the standard library alone: lossless, and any browser shows it."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from gymnast.errors import GymnastError

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")
_RGB8 = (8, 2, 0, 0, 0)  # bits, colour type RGB, and the only compression, filters and interlacing we write
MOST_PIXELS = 16_000_000  # of a picture that is read


def encode_png(picture: np.ndarray) -> bytes:
    """A picture [height, width, 3] uint8."""
    height, width = picture.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: 0, as it is
    rows[:, 1:] = picture.reshape(height, 3 * width)
    # Level 1: a line drawing of 600 × 400 takes 2 ms, and higher levels save little.
    data = zlib.compress(rows.tobytes(), 1)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", _HEADER.pack(width, height, *_RGB8)),
            _chunk(b"IDAT", data),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def decode_png(data: bytes) -> np.ndarray:
    """The picture that `encode_png` was given; GymnastError for anything it does not write."""
    width, height = png_size(data)
    begin = len(_SIGNATURE) + 12 + _HEADER.size
    body = _read_chunk(data, begin, b"IDAT")
    if _chunk(b"IEND", b"") != data[begin + 12 + len(body) :]:
        raise GymnastError("a picture is damaged: it does not end where it should")
    size = height * (1 + 3 * width)
    try:
        unpacker = zlib.decompressobj()
        pixels = unpacker.decompress(body, size + 1)  # never more than was announced, whatever it unpacks to
    except zlib.error as error:
        raise GymnastError(f"a picture is damaged: {error}") from error
    if len(pixels) != size:
        raise GymnastError("a picture is damaged: its size is not that of its header")
    rows = np.frombuffer(pixels, np.uint8).reshape(height, 1 + 3 * width)
    if rows[:, 0].any():
        raise GymnastError("a picture is damaged: its rows are filtered, which Gymnast does not do")
    return rows[:, 1:].reshape(height, width, 3).copy()


def png_size(data: bytes) -> tuple[int, int]:
    """Width and height, from the header alone."""
    if data[: len(_SIGNATURE)] != _SIGNATURE:
        raise GymnastError("a picture is damaged: it is not a PNG")
    header = _read_chunk(data, len(_SIGNATURE), b"IHDR")
    if len(header) != _HEADER.size:
        raise GymnastError("a picture is damaged: its header has another length")
    width, height, *kind = _HEADER.unpack(header)
    if tuple(kind) != _RGB8 or not 0 < width * height <= MOST_PIXELS:
        raise GymnastError(f"a picture is damaged: {width} × {height} of kind {tuple(kind)}")
    return width, height


def _read_chunk(data: bytes, begin: int, kind: bytes) -> bytes:
    """The content of the chunk that begins here and must be of this kind."""
    if len(data) < begin + 12:
        raise GymnastError("a picture is damaged: it is cut short")
    (length,) = struct.unpack_from(">I", data, begin)
    content = data[begin + 8 : begin + 8 + length]
    if data[begin : begin + 12 + length] != _chunk(kind, content):
        raise GymnastError(f"a picture is damaged: its {kind.decode()} was changed")
    return content
