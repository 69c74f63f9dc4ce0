"""Pages mark hidden characters."""

import pytest

from memory_platform.console.hidden_text import mark_hidden


def test_run_of_hidden_characters_becomes_one_mark() -> None:
    assert mark_hidden("<p>pay\u202epal</p>") == (
        '<p>pay<span class="hidden-mark" title="Hidden: right-to-left override">U+202E</span>pal</p>'
    )
    marked = mark_hidden("<p>" + "\u200b" * 1_010 + "</p>")
    assert marked.count("<span") == 1
    assert 'title="1,010 hidden characters"' in marked
    assert "U+200B +1,002<" in marked
    assert 'title="Hidden: control character">U+001B<' in mark_hidden("\x1b")


def test_scripts_and_visible_format_characters_stay_as_they_are() -> None:
    for page in (
        '<script type="application/json" title="x">"a\u202eb"</script>',
        '<input type="hidden" value="a\u202eb"><a href="?q=a\u202eb" data-key="\u200b">',
        "<p>👩‍👧 ❤️ می‌خواهم\n\ttab</p>",
    ):
        assert mark_hidden(page) == page


def test_attributes_that_are_shown_and_the_title_contain_code_points() -> None:
    assert mark_hidden('<a href="/\u202e" title="a\u202eb" aria-label=\'c\u200b\u200b\'>') == (
        '<a href="/\u202e" title="a[U+202E]b" aria-label=\'c[U+200B U+200B]\'>'
    )
    assert mark_hidden("<title>a\u202eb</title>") == "<title>a[U+202E]b</title>"


@pytest.mark.parametrize(
    ("option", "label"),
    [
        ('<option value="a\u202eb"></option>', ' label="a[U+202E]b"'),
        ('<option value="1" selected>a\u202eb</option>', ' label="a[U+202E]b"'),
        ('<option value="\u202e">plain</option>', ""),
    ],
)
def test_option_keeps_its_value_and_gets_a_label(option: str, label: str) -> None:
    head, _, rest = option.partition(">")
    assert mark_hidden(option) == f"{head}{label}>{rest}"


@pytest.mark.parametrize(
    ("field", "described"),
    [
        ('<input id="f" value="{}">', '<input id="f" value="{}" aria-describedby="f-hidden">'),
        (
            '<input type="text" name="f" value="{}" />',
            '<input type="text" name="f" value="{}" aria-describedby="f-hidden">',
        ),
        (
            '<textarea id="f" aria-describedby="hint">\n{}</textarea>',
            '<textarea id="f" aria-describedby="f-hidden hint">\n{}</textarea>',
        ),
    ],
)
def test_form_field_keeps_its_text_and_gets_a_note_that_describes_it(field: str, described: str) -> None:
    one, many = "pay\u202epal", "\u00ada\u200bb\u200bc"
    assert mark_hidden(field.format("plain")) == field.format("plain")
    assert mark_hidden(field.format(one)) == (
        described.format(one)
        + '<span class="form-hint" id="f-hidden">1 hidden character: U+202E right-to-left override.</span>'
    )
    note = "3 hidden characters: U+200B zero width space \u00d7 2, U+00AD soft hyphen."
    assert note in mark_hidden(field.format(many))


def test_note_names_the_most_frequent_characters() -> None:
    text = "".join(chr(0xE0020 + place) for place in range(20)) + "\x1b" * 1_000
    note = mark_hidden(f"<textarea name=f>{text}</textarea>").partition("</textarea>")[2]
    assert "1,020 hidden characters: U+001B control character \u00d7 1,000, U+E0020 tag space, " in note
    assert note.endswith(", 13 others.</span>")
