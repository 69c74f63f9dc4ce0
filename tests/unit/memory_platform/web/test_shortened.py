"""The filter that shortens texts on pages."""

import pytest

from memory_platform.web.templatetags.figures import shortened


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("Three whole words", 17, "Three whole words"),
        ("Three whole words", 16, "Three whole…"),
        ("Three whole words", 12, "Three whole…"),
        ("Three whole words", 10, "Three…"),
        ("Prices, taxes, and fees", 15, "Prices, taxes…"),
        ("Press twice. Then wait", 16, "Press twice…"),
        ("sha256:0123456789abcdef", 12, "sha256:0123…"),
        ("A sha256:0123456789abcdef", 12, "A sha256:01…"),
        ("e\u0323\u0302" * 5, 5, "ệ" * 5),  # NFC composes
        ("x\u0323" * 5, 5, "x\u0323" * 5),  # combining characters are not counted
        ("東京都千代田区丸の内", 6, "東京都千代…"),
    ],
)
def test_text_is_cut_after_a_word_unless_little_would_remain(text: str, most: int, shown: str) -> None:
    assert shortened(text, most) == shown
