"""Closed classes, common words and phrases of English, written for this project."""

from collections.abc import Sequence


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


#: Nothing a statement may open with: what they stand for is in another clause.
PRONOUNS = word_set(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves u ur he she it they him her them "
    "his hers its their theirs himself herself itself themselves this that these those there here who whom whose which "
    "what one ones someone somebody something everyone everybody everything anyone anybody anything nobody nothing "
    "both such same another"
)
DEMONSTRATIVES = word_set("this that these those")
POSSESSIVES = word_set("my our your his her their its")
SUBJECT_PRONOUNS = word_set("i we he she they it you that this there these those")
YES_WORDS = word_set(
    "yes yeah yep yup ya yea sure absolutely definitely certainly indeed totally exactly correct right ok okay"
)
NO_WORDS = word_set("no nope nah")
AUXILIARIES = word_set(
    "am is are was were be been being do does did have has had will would can could should shall may might must isn't "
    "aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't won't wouldn't can't cannot couldn't shouldn't "
    "mightn't mustn't ain't"
)
_VERB_ENDINGS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'s": "is"}
_CONTRACTED = {"I": "'m 've 'll 'd", "we you they": "'re 've 'll 'd", "he she it": "'s 'll 'd", "that": "'s 'll"}
CONTRACTIONS = {
    f"{word}{ending}".lower(): f"{word} {_VERB_ENDINGS[ending]}"
    for words, endings in (_CONTRACTED | {"there here what who": "'s"}).items()
    for word in words.split()
    for ending in endings.split()
} | {"im": "I am", "ive": "I have", "let's": "let us"}
CONTRACTIONS |= {"gonna": "going to", "wanna": "want to", "gotta": "have to", "&": "and"}
COPULAS = word_set("is was are were be been")
MODALS = word_set(
    "will would can could should shall may might must won't wouldn't can't cannot couldn't shouldn't mustn't"
)
#: Behind a bare "this" or "that" these tell that it is a pronoun and no determiner.
VERBS_AFTER_DEMONSTRATIVE = AUXILIARIES | word_set(
    "makes made means meant helps helped sounds sounded looks looked feels felt gives gave reminds reminded brings "
    "brought keeps kept shows showed seems seemed takes took gets got works worked happens happened inspires inspired "
    "went goes comes came sucks rocks motivates motivated really just always also still definitely totally"
)
#: Behind a word in -ing these tell that it is the subject: "trying seafood is a must".
VERBS_AFTER_GERUND = COPULAS | word_set(
    "sounds looks feels makes helps gives keeps brings takes means shows has can will would must"
)
#: States that need a preposition or "that" behind them ("happy birthday" is nobody's state).
BOUND_STATES = word_set("looking glad happy excited proud")
#: Verbs and openings before which a left-out "I" is understood, with the auxiliary that goes before a name.
LEFT_OUT_I = {
    **dict.fromkeys(BOUND_STATES | word_set("going planning thinking hoping trying working feeling learning"), "is"),
    **dict.fromkeys(word_set("got went had hope want love wish need saw met took made found started finished"), ""),
    **dict.fromkeys(word_set("can't tried bought decided ended loved gave visited joined became watched won"), ""),
    "played": "",
    "been": "has",
}
#: Behind a verb these tell that something else is its subject ("made me laugh", "made of wood").
OTHER_SUBJECT_SIGNS = word_set("me us by of")
ARTICLES = word_set("a an the")
PREPOSITIONS = word_set(
    "in on at to from with for of by about into onto over under after before during through between against around "
    "near as like without within across behind beyond among towards toward upon off via than"
)
#: Prepositions that belong to the word before them.
BOUND_PREPOSITIONS = word_set("of than as like without")
CLAUSE_LINKS = word_set("and but so because since while though although plus then or yet")
#: Links that say how a clause hangs on the one before it.
SUBORDINATE_LINKS = word_set("because since while though although")
SUBORDINATE_OPENERS = SUBORDINATE_LINKS | word_set("if when whenever after before as once until unless")
#: A part may begin at these words; it may then be left off.
PART_OPENERS = word_set("because which while when whenever where who so after before since although though during")
#: What begins with these changes the meaning of what stands before it, so it is never left off.
BOUND_OPENERS = word_set("if unless except without only until till but not never nor rather instead")
#: Adverbs that may stand before the subject; with it they move behind the clause.
LEAD_INS = word_set(
    "recently since then once next now sometimes usually lately currently first finally later afterwards"
)
#: Said before the clause proper begins; dropped there.
INTERJECTIONS = YES_WORDS | NO_WORDS | word_set(
    "thankfully wow whoa woah oh ooh aw aww awww ah hey hi hello hiya yo well so haha hahaha lol hmm hm um uh oops "
    "ouch yay woohoo woo cool nice great awesome amazing thanks thank thx cheers congrats congratulations sorry "
    "welcome bye goodbye anyway anyways also and but plus then or man dude gosh omg honestly actually basically "
    "literally frankly luckily fortunately unfortunately obviously seriously personally apparently clearly wonderful "
    "fantastic perfect excellent glad alright please speaking morning evening afternoon though besides"
)  # fmt: skip
#: Interjections that never begin a clause of their own ("so happy", "great news" do).
PURE_INTERJECTIONS = word_set("and but so also plus then or anyway well oh wow yes hey hi hello")
#: Adverbs and fillers that carry nothing an answer would need.
DROPPED = word_set(
    "really very just actually totally definitely absolutely certainly quite rather pretty super so such kinda sorta "
    "basically literally honestly truly simply completely entirely especially extremely incredibly also even please "
    "obviously somehow though however indeed surely highly deeply greatly lately currently personally constantly fully "
    "particularly"
)
#: Adverbs that may stand between a subject and its verb.
FREQUENCY_ADVERBS = word_set(
    "never always often usually both all still already probably again instead mainly mostly maybe perhaps"
)
#: Said before a clause these make it uncertain, so they are kept.
UNCERTAIN = word_set("maybe perhaps hopefully possibly probably")
_OTHER_SMALL_WORDS = word_set(
    "too still already again mainly mostly not never if how why when where up out down away back more most much many "
    "some any all every each other only own got get gets getting go goes going gonna wanna s t re ve ll d m let lets "
    "let's"
)
#: Small words that never count as content.
STATEMENT_STOP_WORDS = frozenset().union(
    PRONOUNS, AUXILIARIES, PREPOSITIONS, ARTICLES, CLAUSE_LINKS, DROPPED, INTERJECTIONS, UNCERTAIN, _OTHER_SMALL_WORDS
)
#: Words of every conversation: they count, but little.
FAINT_WORDS = word_set(
    "great awesome amazing cool nice good best better wonderful fantastic incredible fun happy glad love loved lovely "
    "excited exciting proud thing things stuff lot lots bit way ways time times day days know think thought feel "
    "feeling feels felt see seen look looking looks sounds sound make makes making made take takes taking took keep "
    "keeps really something anything everything want wanted need needed try trying tried hope hoping hear heard say "
    "said tell told talk talking come coming came thank thanks guess mean means wish wait stay whole always ever sure "
    "right new big little much many people life hard tough pretty kind super special awesome interesting inspiring "
    "inspired impressive beautiful gorgeous sweet perfect important definitely recently lately ago now today put find "
    "found give gives gave start started appreciate remember forget support person someone others bring brings brought "
    "last next share sharing nothing catch care luck journey enjoy enjoyed agree understand absolutely worth well "
    "going thrilled stoked pumped touch kudos cheers later soon yet again same different able"
)
IRREGULAR_PAST = MODALS | word_set(
    "went got had was were did made took came saw found gave told felt left kept began started brought bought thought "
    "taught caught sought fought built sent spent lent bent lost met sat stood understood won ran swam sang drank rang "
    "wrote drove rode rose broke spoke woke chose froze stole wore tore swore bore knew grew flew threw drew blew ate "
    "fell held heard said paid laid led read put set let cut hit hurt quit shut cost bet spread slept swept wept dealt "
    "meant dreamt learnt burnt hung dug stuck struck shot fed became forgot forgave hid bit lit slid sold shook showed "
    "been gone done seen beat split"
)
VERBS_IN_LY = word_set("rely apply supply reply fly imply comply multiply rally")
#: Behind "it's" these tell that it stands for "it has".
PARTICIPLES_OF_HAS = word_set("been got made given taken helped gone become had shown brought kept changed taught")
#: Small words of other languages that use the same letters; where they prevail, a text is kept as it is.
FOREIGN_WORDS = word_set(
    "el la los las un una unos unas de del que y en es por para con mi tu su lo al se pero como muy mas fui ser der "
    "die das und ist ich nicht mit ein eine einen zu auf wir sie er es den dem von fur im auch le les des est et je ne "
    "pas une du ce qui dans pour sur avec nous vous il elle di che non per sono ho gli della nel uma um nao com os "
    "mais voce eu het een van ik niet dat zijn och att det som jag inte ett og ikke til af ja nie sie jest"
)


class Phrases:
    """Phrases of several words in lower case, searched at one end of a list of words, the longest first."""

    def __init__(self, text: str) -> None:
        self._phrases = frozenset(tuple(phrase.split()) for phrase in text.split(","))
        self.longest = max(map(len, self._phrases))

    def size_at_start(self, words: Sequence[str]) -> int:
        """Return the number of words in the longest phrase at the start, 0 without one."""
        starts = (tuple(words[:size]) for size in range(self.longest, 0, -1))
        return next((len(start) for start in starts if start in self._phrases), 0)

    def size_at_end(self, words: Sequence[str]) -> int:
        """Return the number of words in the longest phrase at the end, 0 without one."""
        ends = (tuple(words[-size:]) for size in range(self.longest, 0, -1))
        return next((len(end) for end in ends if end in self._phrases), 0)


_HEDGES = """
i think that, i think, i guess, i mean, i know, i believe that, i believe, i feel like, i bet, i have to say, i must
say, i suppose, i am sure, i am glad that, i am glad, i am so glad, you know, by the way, btw, in fact, of course, for
sure, to be honest, as for me, as you know, guess what, long story short, no worries, no problem, no prob, no doubts,
good to see you, good to hear from you, great to hear from you, nice to hear from you, i am happy to hear that, thank
you so much, thank you, thanks so much, thanks a lot, thanks a bunch, same here, me too, for me, turns out, it turns
out, at least, in my opinion, speaking of which, not gonna lie, since we last spoke, since we last talked, since we
last chatted, a lot has happened, sounds like, it sounds like, looks like, it looks like, it seems like, seems like,
glad to hear that, it is great that, it is awesome that, it is cool that, it is amazing how, hope you are doing well,
what's up, check it out, check this out, look at this, take a look at this, as always, once again, first of all, i just
wanted to let you know, i wanted to let you know, just wanted to let you know, wanted to let you know
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
kind of, sort of, a bit of, a bit, a little bit, of course, for sure, as well, at all, so much, by the way, to be
honest, right now, these days, at the moment, and stuff, or something, i think, i guess
"""
)
#: Clauses that begin with these are said to keep a conversation going, not to tell anything.
SMALL_TALK = Phrases(
    """
thanks, thank, congrats, congratulations, good luck, best of luck, sounds, keep it up, keep up, keep me, keep going,
take care, talk to you, see you, have fun, have a great, have a good, can't wait to hear, can't wait to see, nice job,
good job, great job, way to go, happy to hear, glad to hear, i hear, i understand, i agree, agree, i appreciate,
appreciate, you are welcome, let me know, let us know, you got this, you have got this, you can do it, i am here for
you, i am here if, hope you, hope to hear, good to see, great to see, nice to see, good to hear, great to hear, nice to
hear, fingers crossed, crossing my fingers, catch you, catch up, keep in touch, stay safe, stay strong, what a, sure
thing, no doubt, go for it, you rock, i am proud of you, proud of you, looking forward to hearing, look forward to
hearing, i am rooting, i can imagine, i bet, i see, i get it, feel free to, i can't wait to hear, i can't wait to see,
i will keep you, will keep you, keeping you posted, keep rocking, keep shining, wishing you, wish you, been a while,
long time no, i am happy for you, happy for you, cheers, got it, i am glad you, glad you, you deserve, great question,
i would be happy to help, i am happy to help, happy to help, i can help, here is, here are, sorry to hear, i am sorry
to hear, sorry for, sorry about, i hope you, i am sorry, good point
"""
)
#: Skipped before small talk is recognised.
SMALL_TALK_ADVERBS = word_set("so really just also definitely totally always")
