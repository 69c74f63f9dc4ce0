"""QR codes as one SVG path inside the page, so that their text is not part of any other request."""

from dataclasses import dataclass
from itertools import groupby

import segno

#: The empty modules around a code that readers need.
BORDER = 4


@dataclass(frozen=True)
class QrCode:
    """The width of a code in modules, with its border, and the path of its dark modules."""

    size: int
    path: str


def qr_code(text: str) -> QrCode:
    """Return the code of a text, a rectangle for each run of dark modules in a row."""
    rows = list(segno.make_qr(text, error="m").matrix_iter(border=BORDER))
    runs: list[str] = []
    for y, row in enumerate(rows):
        x = 0
        for is_dark, run in groupby(row):
            width = len(list(run))
            runs += [f"M{x} {y}h{width}v1h-{width}z"] if is_dark else []
            x += width
    return QrCode(len(rows), "".join(runs))
