"""Pictures for live play: small to send, and made within a millisecond or two."""

from __future__ import annotations

from io import BytesIO

import numpy as np

from gymnast.traces.png import encode_png

_FEW_PIXELS = 40_000  # up to here PNG is as small as JPEG, and the pixels of an old console stay clean


def encode_live(picture: np.ndarray) -> tuple[bytes, str]:
    """[height, width, 3] uint8 as a file, and its MIME type: JPEG, or PNG of a small picture."""
    height, width = picture.shape[:2]
    if height * width <= _FEW_PIXELS:
        return encode_png(picture), "image/png"
    import pygame

    surface = pygame.image.frombuffer(picture.tobytes(), (width, height), "RGB")
    file = BytesIO()
    pygame.image.save(surface, file, "frame.jpg")
    return file.getvalue(), "image/jpeg"
