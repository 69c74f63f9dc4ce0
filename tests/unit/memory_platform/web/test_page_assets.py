"""The trimmed stylesheet contains every rule that a page could use and no other, and is up to date."""

import pytest

from bin.trim_stylesheet import TRIMMED, WHOLE, names_in, trim, trimmed

NAMED = names_in(['<p class="card {% if x %}is-on{% endif %} bg-{{ tone }}-lt">', 'row.className = "done";'])


@pytest.mark.parametrize(
    ("css", "served"),
    [
        (".card{a:b}.gone{a:b}", ".card{a:b}"),
        (".gone,.card:hover,.card .gone{a:b}", ".card:hover{a:b}"),
        ("@media (x){.gone{a:b}}@media (y){.gone{a:b}.is-on{a:b}}", "@media (y){.is-on{a:b}}"),
        (".bg-red-lt{a:b}.bg-red{a:b}.done{a:b}", ".bg-red-lt{a:b}.done{a:b}"),
        ("p:not(.gone):is(.gone,.other){a:b}", "p:not(.gone):is(.gone,.other){a:b}"),
        ("@keyframes gone{from{a:b}to{a:b}}:root{--a:b}", "@keyframes gone{from{a:b}to{a:b}}:root{--a:b}"),
        ('@charset "x";/* .card{ */.card::after{content:"}.gone{"}', '@charset "x";.card::after{content:"}.gone{"}'),
        (r'.gone\:x{a:b}.is-on[data-x=".gone,"]{a:b}', '.is-on[data-x=".gone,"]{a:b}'),
    ],
)
def test_rules_that_no_page_can_use_are_left_out(css: str, served: str) -> None:
    assert trim(css, NAMED) == served


def test_broken_stylesheet_is_not_served_in_part() -> None:
    with pytest.raises(ValueError, match="ends inside a rule"):
        trim(".card{a:b", NAMED)


def test_committed_stylesheet_is_the_one_that_make_css_writes() -> None:
    assert TRIMMED.read_text() == trimmed(), "run `make css` and commit static/css/tabler.css"


def test_of_the_vendored_stylesheet_stays_what_pages_name_and_no_more() -> None:
    whole, served = WHOLE.read_text(), TRIMMED.read_text()
    assert len(served) < len(whole) / 3
    for rule in (".btn-primary{", ".table>", ".form-control:focus{", ".alert{", "[data-bs-theme=dark]", "@keyframes"):
        assert rule in whole
        assert rule in served
    assert ".carousel" in whole
    assert ".carousel" not in served
    assert served.count("{") == served.count("}")
