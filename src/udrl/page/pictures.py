"""Pictures for a browser: small enough and quickly encoded; a plot of observations where nothing else can be drawn."""

import io
from collections.abc import Sequence

import numpy as np

LARGEST = 800
"""Pixels of a picture's longer side; larger ones are shrunk."""
QUALITY = 85
PLOT_WIDTH, PLOT_HEIGHT, MOST_ROWS = 600, 400, 12
PLOT_STEPS = 200
"""Newest steps that a plot shows."""
BACKGROUND, LINE, LABEL, NOW = (24, 26, 31), (99, 150, 170), (150, 156, 168), (244, 245, 247)


def encode(picture: np.ndarray) -> bytes:  # [h, w, 3] uint8
    """As a JPEG, which is several times quicker to make than a PNG."""
    from PIL import Image

    image = Image.fromarray(picture)
    if max(image.size) > LARGEST:
        image.thumbnail((LARGEST, LARGEST))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY, subsampling=0)
    return file.getvalue()


def plot(observations: Sequence[np.ndarray]) -> np.ndarray:  # each [*o], the oldest first -> [h, w, 3] uint8
    """What was observed last: an image as it is, numbers as one line each over the newest steps."""
    if observations[-1].dtype == np.uint8 and observations[-1].ndim in (2, 3):
        return as_picture(observations[-1])
    return _plot_lines(np.stack([one.ravel() for one in observations[-PLOT_STEPS:]]))


def as_picture(image: np.ndarray) -> np.ndarray:  # [h, w], [h, w, c] or [c, h, w] -> [h, w, 3]
    """An observed image in colors that a person sees: of many channels the last."""
    if image.ndim == 3 and image.shape[0] < image.shape[2]:
        image = np.moveaxis(image, 0, 2)
    if image.ndim == 3 and image.shape[2] != 3:
        image = image[:, :, -1]
    return np.ascontiguousarray(image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2))


def _plot_lines(values: np.ndarray) -> np.ndarray:  # [t, n]
    from PIL import Image, ImageDraw, ImageFont

    n = min(values.shape[1], MOST_ROWS)
    canvas = Image.new("RGB", (PLOT_WIDTH, PLOT_HEIGHT), BACKGROUND)
    pen, font, height = ImageDraw.Draw(canvas), ImageFont.load_default(14), PLOT_HEIGHT / (n + 1)
    left, right = 44, PLOT_WIDTH - 90
    hidden = values.shape[1] - n
    pen.text(
        (12, 8), f"what the agent observes{f', the first {n} numbers of {n + hidden}' if hidden else ''}", LABEL, font
    )
    xs = np.linspace(left, right, PLOT_STEPS)[-len(values) :]
    for i in range(n):
        column, middle = values[:, i], (i + 1.25) * height
        spread = max(float(np.ptp(column)), 1e-9)
        ys = middle + 0.4 * height - 0.8 * height * (column - column.min()) / spread
        pen.text((12, middle - 8), str(i), LABEL, font)
        pen.line(list(zip(xs.tolist(), ys.tolist(), strict=True)), LINE, 2, joint="curve")
        pen.ellipse((right - 3, ys[-1] - 3, right + 3, ys[-1] + 3), NOW)
        pen.text((right + 12, middle - 8), f"{column[-1]:.3g}", NOW, font)
    return np.asarray(canvas)
