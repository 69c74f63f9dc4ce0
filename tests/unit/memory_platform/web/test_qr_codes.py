"""QR codes as paths."""

import re

import segno

from memory_platform.web.qr_codes import BORDER, qr_code

TEXT = "otpauth://totp/Memory%20Platform:maren?secret=GEZDGNBVGY3TQOJQ&issuer=Memory%20Platform"


def test_path_covers_exactly_the_dark_modules() -> None:
    code = qr_code(TEXT)
    covered = {
        (int(x) + step, int(y))
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", code.path)
        for step in range(int(width))
    }
    rows = list(segno.make_qr(TEXT, error="m").matrix_iter(border=BORDER))
    assert covered == {(x, y) for y, row in enumerate(rows) for x, is_dark in enumerate(row) if is_dark}
    assert code.size == len(rows) == len(rows[0])
    assert re.fullmatch(r"(M\d+ \d+h\d+v1h-\d+z)+", code.path)
