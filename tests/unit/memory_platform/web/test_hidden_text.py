"""Pages mark hidden characters."""

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


def test_tags_scripts_and_what_a_form_stores_stay_as_they_are() -> None:
    for page in (
        '<input value="a\u202eb">',
        "<textarea name=content>a\u202eb</textarea>",
        '<script type="application/json">"a\u202eb"</script>',
        "<title>a\u202eb</title>",
        "<p>👩‍👧 ❤️ می‌خواهم\n\ttab</p>",
    ):
        assert mark_hidden(page) == page
