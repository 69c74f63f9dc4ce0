"""A statement as a fact: its topic, its values, and the signs that it changes or only repeats something."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from memories.services.hygiene.replacement.tokens import Token
from memories.services.hygiene.replacement.vocabulary import AttributeWords
from memories.services.hygiene.statements.vocabulary import LanguageVocabulary


@dataclass(frozen=True)
class Fact:
    """A statement as tokens; places are indexes of them, -1 for none."""

    speaker: str
    language: LanguageVocabulary
    words: AttributeWords
    tokens: Sequence[Token]
    is_question: bool
    is_quote: bool
    #: For a clause: the words of the whole statement, and whether another clause says that something changed.
    context: Sequence[Token] = ()
    is_renewed: bool = False

    @cached_property
    def clauses(self) -> "dict[tuple[int, bool], Fact]":
        """The parsed clauses, by number and `is_renewed`."""
        return {}

    @cached_property
    def values(self) -> list[tuple[int, Token]]:
        """The values with their places."""
        return [(place, token) for place, token in enumerate(self.tokens) if token.value]

    @cached_property
    def directed(self) -> list[Token]:
        """The words of content with a direction."""
        return [token for token in self.content if token.direction]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens)

    @cached_property
    def cue_places(self) -> dict[str, int]:
        """The first position of each class of cues searched so far."""
        return {}

    def has(self, cue: str) -> bool:
        """Whether a cue of this class occurs."""
        return self.place_of(cue) >= 0

    @cached_property
    def is_claim(self) -> bool:
        """Whether it is a claim of another person or an assumption of the speaker."""
        return self._has_apart("hypothetical") or self._has_apart("claims")

    @cached_property
    def is_comparison(self) -> bool:
        return self._has_apart("comparisons")

    def _has_apart(self, cue: str) -> bool:
        """Whether a cue of this class occurs that is not part of another one, as in "no longer"."""
        return self.words.cues[cue].are_in(
            tuple("" if token.kind in ("cue", "value") else token.text for token in self.tokens)
        )

    def place_of(self, cue: str) -> int:
        """Return the first position of a cue of this class; cached, because one fact is compared with many others."""
        if cue not in self.cue_places:
            cues = self.words.cues[cue]
            places = (place for place in range(len(self.texts)) if cues.size_at(self.texts, place))
            self.cue_places[cue] = next(places, -1)
        return self.cue_places[cue]

    @cached_property
    def is_asserted(self) -> bool:
        """Whether the speaker states it as a fact."""
        return not (self.is_question or self.is_quote or self.is_claim)

    @cached_property
    def verb_at(self) -> int:
        """The first verb of an attribute, or the first form of "be"."""
        return next((place for place, token in enumerate(self.tokens) if token.kind in ("verb", "be")), -1)

    @cached_property
    def verb(self) -> str:
        """The class of the first verb that is not "be", else "be" or nothing."""
        kinds = [self.words.verbs[token.text] for token in self.tokens if token.kind == "verb"]
        return kinds[0] if kinds else ("be" if self.verb_at >= 0 else "")

    @cached_property
    def persons(self) -> frozenset[int]:
        names = ("first_person", "second_person", "third_person")
        return frozenset(number for number, name in enumerate(names, 1) if self.has(name))

    @cached_property
    def is_past(self) -> bool:
        """Whether it reports an event, which stays true."""
        known = ("verb", "status", "change", "be")
        is_listed = any(
            token.text in self.words.past and token.kind not in known and before not in self.words.articles
            for before, token in zip(("", *self.texts), self.tokens, strict=False)
        )
        return is_listed or any(self._is_past_verb(place) for place in range(len(self.tokens)))

    def _is_past_verb(self, place: int) -> bool:
        token = self.tokens[place]
        if token.kind != "content" or token.is_name or not token.text.endswith(self.words.past_endings):
            return False
        before = self.texts[place - 1] if place else ""
        if before in self.words.prepositions or before in self.words.articles:
            return False
        return not any(text in self.words.participle_verbs for text in self.texts[max(place - 3, 0) : place])

    @cached_property
    def is_journey(self) -> bool:
        """Whether it reports a single journey or delivery; a price that "goes up" does not count."""
        at = self.change_at
        if at < 0 or self.texts[at] not in self.words.journeys:
            return False
        before = [token for token in self.tokens[:at] if token.segment == self.tokens[at].segment]
        is_person = any(token.kind == "person" or token.is_name for token in before)
        return is_person or (self.placed is not None and any(token.kind == "content" for token in self.placed[1]))

    @cached_property
    def is_change(self) -> bool:
        """Whether it says that something changed."""
        return self.is_renewed or any(self.has(cue) for cue in ("changes", "ends", "now", "corrections", "takeovers"))

    @cached_property
    def predicate_at(self) -> int:
        """The first verb, of an attribute or a change."""
        places = [place for place in (self.verb_at, self.change_at, *self.actions) if place >= 0]
        return min(places, default=-1)

    def is_value_at(self, place: int) -> bool:
        """Whether a value is stated about the topic, instead of naming it as in "room 12"."""
        value = self.tokens[place].value
        is_numbered = value is not None and value.unit.startswith("#")
        at = place - (2 if is_numbered else 1)
        before = self.tokens[at].kind if at >= 0 else ""
        if 0 <= self.predicate_at < place or (self.predicate_at < 0 and self.tokens[place].segment):
            return True
        is_last = self.predicate_at < 0 or (self.words.has_verb_last and self.verb_at < 0)
        return is_last and place > 1 and (before == "preposition" or (before == "ignored" and not is_numbered))

    def bound_at(self, place: int) -> str:
        """Return "lower" or "upper" for a value after "from" or "until", else nothing."""
        before = self.texts[max(place - 2, 0) : place]
        found = [name for name in ("lower", "upper") for text in before if text in self.words.cues[f"{name}_bounds"]]
        return found[-1] if found else ""

    @cached_property
    def owners(self) -> frozenset[str]:
        """The persons to whom something belongs: 1, 2, or the pronoun of another one."""
        found: set[str] = set()
        for token, after in pairwise(self.tokens):
            if token.kind == "person" and after.kind in ("content", "verb", "status"):
                is_own = [token.text in self.words.first_person, token.text in self.words.second_person]
                found.add(str(is_own.index(True) + 1) if any(is_own) else token.text[:3])
        return frozenset(found)

    @cached_property
    def is_negative(self) -> bool:
        """Whether an odd number of words negates it."""
        return sum(token.kind == "negation" for token in self.tokens) % 2 == 1

    def is_negated_at(self, place: int) -> bool:
        """Whether an odd number of words negates the segment at a position."""
        segment = self.tokens[place].segment
        return sum(token.kind == "negation" for token in self.tokens if token.segment == segment) % 2 == 1

    @cached_property
    def content(self) -> list[Token]:
        return [token for token in self.tokens if token.kind in ("content", "status", "value")]

    @cached_property
    def agent(self) -> list[Token]:
        """The agent of a change: the words before the verb of change, if content words follow it."""
        at = self.change_at
        if at < 0 or any(token.kind == "be" or token.text in self.words.passives for token in self.tokens[:at]):
            return []
        segment = self.tokens[at].segment
        has_object = any(token.kind == "content" and token.segment == segment for token in self.tokens[at + 1 :])
        before = [token for token in self.tokens[:at] if token.segment == segment and token.kind == "content"]
        return before if has_object else []

    @cached_property
    def end_at(self) -> int:
        """The position of the words that state an end, or of the negation of a former state."""
        if self.has("not_ends"):
            return -1
        at = self.place_of("ends")
        return at if at >= 0 else self._negated_end

    @property
    def _negated_end(self) -> int:
        """The place of a word such as "mehr" after a negation, -1 for none."""
        start = next((place for place, token in enumerate(self.tokens) if token.kind == "negation"), len(self.tokens))
        places = range(start + 1, len(self.tokens))
        return next((place for place in places if self.texts[place] in self.words.after_negation), -1)

    @cached_property
    def statuses(self) -> dict[int, tuple[str, int]]:
        """The status in each family of statuses, with its position; a negation selects the opposite of two.

        A family with several statuses is ignored.
        """
        found: dict[int, tuple[str, int]] = {}
        start = next((place for place, token in enumerate(self.tokens) if token.kind == "be"), -1)
        for family, names in enumerate(self.words.statuses):
            named = (place for place in range(start + 1, len(self.tokens)) if self.texts[place] in names)
            places = [place for place in named if self._is_status(place)]
            is_one = len({names[self.tokens[place].text] for place in places}) == 1
            for place in places[:1] if is_one else ():
                token = self.tokens[place]
                others = {*names.values()} - {names[token.text]}
                is_turned = self.is_negative and len(others) == 1
                found[family] = (others.pop() if is_turned else names[token.text], place)
        return found

    def _is_status(self, place: int) -> bool:
        """Whether the word is a status here, rather than a preposition with its noun."""
        token, after = self.tokens[place], self.tokens[place + 1 : place + 2]
        if token.text not in self.words.prepositions and token.text not in self.words.particles:
            return True
        is_last = not after or after[0].segment != token.segment
        return is_last or (after[0].kind in ("preposition", "ignored") and after[0].text not in self.words.articles)

    @cached_property
    def contrast(self) -> tuple[list[Token], list[Token]]:
        """The words that are rejected in favour of others ("not Graz", "from Graz to"), and all other words."""
        for place in range(len(self.tokens)):
            size = self._contrast_size(place)
            if not size:
                continue
            stop = self._contrast_end(place, place + size)
            denied = [
                token for token in self.tokens[place + size : stop] if token.kind in ("content", "status", "value")
            ]
            if denied:
                return denied, [*self.tokens[:place], *self.tokens[stop:]]
        return [], []

    def _contrast_size(self, place: int) -> int:
        """Return the number of words at a place that deny those after them."""
        is_changed = 0 <= self.change_at < place or 0 <= self.place_of("takeovers") < place
        if is_changed and self.texts[place] in self.words.sources:
            return 1
        is_first = not place or self.tokens[place - 1].segment != self.tokens[place].segment
        has_end = any(text in self.words.contrast_ends for text in self.texts[place:])
        is_negation = self.tokens[place].kind == "negation" and not (is_first or has_end)
        return 0 if is_negation else self.words.contrasts.size_at(self.texts, place)

    def _contrast_end(self, place: int, start: int) -> int:
        """Return where the denied words end: at the end of the segment, at "but", or where another statement begins."""
        is_found = False
        for at in range(start, len(self.tokens)):
            token = self.tokens[at]
            is_other = token.kind == "preposition" and token.text not in self.words.genitives
            if token.segment != self.tokens[place].segment or token.text in self.words.contrast_ends:
                return at
            if is_found and (is_other or token.text in self.words.now):
                return at
            is_found |= token.kind in ("content", "status", "value")
        return len(self.tokens)

    @cached_property
    def placed(self) -> tuple[list[Token], list[Token], bool] | None:
        """Return the topic, the words of its place, and whether the place has an article; None without a place."""
        at = self.predicate_at
        start = self.change_at if self.change_at >= 0 else at
        is_place = self.words.targets if self.change_at >= 0 else self.words.places
        if at < 0:
            return None
        for place, token in enumerate(self.tokens):
            is_behind = place > start or self.words.has_verb_last
            if not is_behind or token.text not in is_place or place + 1 == len(self.tokens):
                continue
            if (
                self.verb == "be"
                and self.change_at < 0
                and any(each.kind == "content" for each in self.tokens[at:place])
            ):
                return None
            words: list[Token] = []
            for other in self.tokens[place + 1 :]:
                is_end = other.kind in ("preposition", "verb", "change") and other.text not in self.words.genitives
                if other.segment != token.segment or (words and is_end):
                    break
                if other.value and other.value.kind in ("date", "time"):
                    words = []
                    break
                words += [other] if other.kind in ("content", "value") else []
            if words:
                topic = [each for each in self.content if each not in words and each.segment == token.segment]
                topic = [each for each in topic if not (each.value and each.value.kind in ("date", "time"))]
                return topic, words, bool({token.text, self.texts[place + 1]} & self.words.articles.words)
        return None

    @cached_property
    def named(self) -> tuple[list[Token], list[Token]] | None:
        """Return the topic with an attribute or role, and the words on the other side of "be"; None without these."""
        at = self.verb_at
        sides = (
            [token for token in self.tokens[:at] if token.kind == "content"],
            [token for token in self.tokens[at + 1 :] if token.kind == "content"],
        )
        if not all(sides) or len({token.segment for side in sides for token in side}) > 1:
            return None
        for topic, name, known in ((*sides, ("attributes", "roles")), (*sides[::-1], ("roles",))):
            behind = self.tokens[at + 1 :] if topic is sides[0] else self.tokens[:at]
            if any(token.kind == "preposition" and token.text not in self.words.genitives for token in behind):
                continue
            if any(token.text in self.words.cues[cue] for cue in known for token in topic):
                is_name = all(token.is_name or token is self.tokens[0] for token in name)
                return (topic, name) if topic is sides[0] or is_name else None
        return None

    @cached_property
    def change_at(self) -> int:
        return self.place_of("changes")

    @cached_property
    def actions(self) -> frozenset[int]:
        """The positions of unlisted verbs, recognised by the preceding word and their ending."""
        found: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.kind == "content" and not token.value and not token.is_exact and self._is_action(place, found):
                found.append(place)
        return frozenset(found)

    def _is_action(self, place: int, earlier: Sequence[int]) -> bool:
        token, before = self.tokens[place], self.tokens[place - 1] if place else None
        here = [at for at in range(place) if self.tokens[at].segment == token.segment]
        if token.text.endswith(self.words.verb_endings) or (here and self.texts[place - 1] in self.words.subjects):
            return True
        if all(self.tokens[at].kind in ("ignored", "cue") for at in here) and token.text.endswith(
            self.words.opening_endings
        ):
            return not here or self.texts[place - 1] not in self.words.articles
        is_infinitive = place and before is not None and before.text in self.words.infinitives
        if is_infinitive and not token.is_name and not 0 <= self.change_at < place:
            return True
        if token.is_compound:  # German writes nouns with a capital, and adjectives before them
            after = self.tokens[place + 1 : place + 2]
            is_verb = token.text.endswith("t")
            return token.raw[:1].islower() and not (
                not is_verb and after and after[0].raw[:1].isupper() and after[0].kind == "content"
            )
        if before is None or not here:
            return False
        if before.text in self.words.auxiliaries:
            return token.text.endswith(self.words.participle_endings)
        if before.kind not in ("content", "unit") or any(
            self.tokens[at].kind in ("verb", "be", "change") or at in earlier for at in here
        ):
            return False
        after = self.tokens[place + 1 : place + 2]
        is_after_name = before.is_name or (before.raw[:1].isupper() and len(here) == 1)
        if not self.words.participle_endings and not after:
            return is_after_name  # a last word in Spanish is rather an adjective
        if not self.words.participle_endings and not any(
            other.kind in ("verb", "be", "change") for other in self.tokens if other.segment == token.segment
        ):
            return token.text.endswith(self.words.finite_endings)
        is_end = not after or after[0].segment != token.segment or after[0].kind != "content" or after[0].is_name
        return token.text.endswith(self.words.finite_endings) and (is_after_name or is_end)
