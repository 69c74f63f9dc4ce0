"""Phrases of several words that open, close or fill clauses without saying anything, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Phrases:
    """Phrases found at the start or the end of a list of words in lower case, the longest first."""

    def __init__(self, text: str) -> None:
        self._phrases = frozenset(tuple(line.split()) for line in " ".join(text.split()).split(",") if line.split())
        self._starts = frozenset(phrase[0] for phrase in self._phrases)
        self._ends = frozenset(phrase[-1] for phrase in self._phrases)
        self._sizes = sorted({len(phrase) for phrase in self._phrases}, reverse=True)

    def size_at_start(self, words: Sequence[str]) -> int:
        """How many words the longest phrase at the start has, 0 when there is none."""
        if not words or words[0] not in self._starts:
            return 0
        return self._first(size for size in self._sizes if size <= len(words) and tuple(words[:size]) in self._phrases)

    def size_at_end(self, words: Sequence[str]) -> int:
        """How many words the longest phrase at the end has, 0 when there is none."""
        if not words or words[-1] not in self._ends:
            return 0
        return self._first(size for size in self._sizes if size <= len(words) and tuple(words[-size:]) in self._phrases)

    @property
    def longest(self) -> int:
        """Words of the longest phrase."""
        return self._sizes[0]

    @staticmethod
    def _first(sizes: Iterable[int]) -> int:
        return next(iter(sizes), 0)


_HEDGES = """
i think that, i think, i guess, i mean, i know, i believe that, i believe, i feel like, i bet, i have to say, i
must say, i suppose, i am sure, i am glad that, i am glad, i am so glad, you know, by the way, btw, in fact, of
course, for sure, to be honest, as for me, as you know, guess what, long story short, no worries, no problem, no
prob, no doubts, good to see you, good to hear from you, great to hear from you, nice to hear from you, i am
happy to hear that, thank you so much, thank you, thanks so much, thanks a lot, thanks a bunch, same here, me
too, for me, turns out, it turns out, at least, in my opinion, speaking of which, not gonna lie, since we last
spoke, since we last talked, since we last chatted, a lot has happened, sounds like, it sounds like, looks like,
it looks like, it seems like, seems like, glad to hear that, it is great that, it is awesome that, it is cool
that, it is amazing how, hope you are doing well, what's up, check it out, check this out, look at this, take a
look at this, as always, once again, first of all, i just wanted to let you know, i wanted to let you know, just
wanted to let you know, wanted to let you know
"""
#: Said of what follows, which is what counts.
OPENING_HEDGES = Phrases(_HEDGES)
#: The same and more at the end of a sentence.
CLOSING_HEDGES = Phrases(
    _HEDGES + ", too, as well, though, lol, haha, right, so much, for sure, at all, and stuff, or something, and all"
)
#: Dropped wherever they stand.
FILLERS = Phrases(
    """
kind of, sort of, a bit of, a bit, a little bit, of course, for sure, as well, at all, so much, by the way, to
be honest, right now, these days, at the moment, and stuff, or something, i think, i guess
"""
)
#: Clauses that begin with these are said to keep a conversation going, not to tell anything.
SMALL_TALK = Phrases(
    """
thanks, thank, congrats, congratulations, good luck, best of luck, sounds, keep it up, keep up, keep me, keep
going, take care, talk to you, see you, have fun, have a great, have a good, can't wait to hear, can't wait to
see, nice job, good job, great job, way to go, happy to hear, glad to hear, i hear, i understand, i agree,
agree, i appreciate, appreciate, you are welcome, let me know, let us know, you got this, you have got this, you
can do it, i am here for you, i am here if, hope you, hope to hear, good to see, great to see, nice to see, good
to hear, great to hear, nice to hear, fingers crossed, crossing my fingers, catch you, catch up, keep in touch,
stay safe, stay strong, what a, sure thing, no doubt, go for it, you rock, i am proud of you, proud of you,
looking forward to hearing, look forward to hearing, i am rooting, i can imagine, i bet, i see, i get it, feel
free to, i can't wait to hear, i can't wait to see, i will keep you, will keep you, keeping you posted, keep
rocking, keep shining, wishing you, wish you, been a while, long time no, i am happy for you, happy for you,
cheers, got it, i am glad you, glad you, you deserve, great question, i would be happy to help, i am happy to
help, happy to help, i can help, here is, here are, sorry to hear, i am sorry to hear, sorry for, sorry about, i
hope you, i am sorry, good point
"""
)
#: Left out before small talk is looked for.
SMALL_TALK_ADVERBS = frozenset(("so", "really", "just", "also", "definitely", "totally", "always"))
