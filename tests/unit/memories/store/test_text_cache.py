from memories.services.text_cache import cached_texts


def test_short_texts_are_read_once_and_long_ones_are_not_kept() -> None:
    read: list[str] = []

    @cached_texts(2, longest=5)
    def length(text: str, factor: int = 1) -> int:
        read.append(text)
        return len(text) * factor

    assert [length("abc"), length("abc"), length("abc", 2), length("abcdef"), length("abcdef")] == [3, 3, 6, 6, 6]
    assert read == ["abc", "abc", "abcdef", "abcdef"]
