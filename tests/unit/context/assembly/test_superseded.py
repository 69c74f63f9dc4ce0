"""Superseded memories: which of two statements of a fact is valid, what rivals are, and changes of rank."""

import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services.assembly.profiled_scorer import ProfiledScorer
from context.services.assembly.signals.columns import CandidatePool, ScoringQuestion
from context.services.assembly.superseded.queried_time import queried_time, start_times
from context.services.assembly.superseded.ranking import BEHIND, put_superseded_behind
from context.services.assembly.superseded.rivals import (
    COMPARED_MAX,
    FEATURE_WEIGHTS,
    SUCCESSORS_MAX,
    Rivals,
    find_rivals,
    pair_features,
    read_statements,
)
from context.services.assembly.superseded.statements import read_statement
from context.services.profiles.scoring_profiles import RECALL

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OLDER, MIDDLE, NEWER = (
    datetime(2026, 1, 10, tzinfo=UTC),
    datetime(2026, 4, 10, tzinfo=UTC),
    datetime(2026, 8, 1, tzinfo=UTC),
)
#: Three versions of a fact, oldest first.
VERSIONS = (
    "Guest wifi password: copper-heron-52.",
    "New guest wifi password after the router swap: granite-otter-81.",
    "Guests get a new wifi password from today: marble-finch-30.",
)
OTHERS = (
    "The boiler in the cellar was serviced in spring.",
    "Deliveries arrive at the back gate before nine.",
    "Hilda is the big press by the east wall.",
    "The cleaner has a key to the side door.",
)
LEXEMES = ("wifi", "password", "guest")


def row(content, created_at, similarity=0.2, **fields):
    low = content.lower()
    return {
        "id": uuid.uuid4(),
        "content": content,
        "created_at": created_at,
        "similarity": similarity,
        "holds": frozenset(lexeme for lexeme in LEXEMES if lexeme in low),
        "kind": "fact",
        **fields,
    }


def versions():
    texts = zip(VERSIONS, (OLDER, MIDDLE, NEWER), (0.9, 0.8, 0.7), strict=True)
    others = [row(text, OLDER + timedelta(days=place)) for place, text in enumerate(OTHERS)]
    return [*(row(*each) for each in texts), *others]


def vectors_of(rows):
    """The versions of a fact are near each other, everything else is far."""
    found = {}
    for place, each in enumerate(rows):
        vector = np.zeros(16, dtype=np.float32)
        vector[0 if each["content"] in VERSIONS else place + 1] = 1.0
        vector[15] = 0.2
        found[each["id"]] = vector / np.linalg.norm(vector)
    return found


def ranked(rows, text="What is the guest wifi password?"):
    scorer = ProfiledScorer(RECALL, ScoringQuestion(text, NOW, LEXEMES), vectors_of(rows))
    return scorer.score(rows)


def texts_of(scored):
    return [one.memory["content"] for one in scored]


def pool_of(text, *times):
    rows = [row(f"Version {number}.", at) for number, at in enumerate(times)]
    return CandidatePool(rows, ScoringQuestion(text, NOW), {})


def time_of(pool):
    places = np.arange(len(pool))
    statements = read_statements(pool, places)
    return queried_time(pool, places, statements, start_times(pool.created, statements))


def validity_of(pool):
    return time_of(pool).validity


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("What is the wifi password?", NEWER),
        ("Who signed for it?", NEWER),
        ("What did they order?", NEWER),
        ("What was the wifi password in May 2026?", MIDDLE),
        ("What was the wifi password in May?", MIDDLE),
        ("What was the wifi password before May 2026?", MIDDLE),
        ("Wie lautete das Passwort im Mai 2026?", MIDDLE),
        ("¿Cuál era la contraseña en mayo de 2026?", MIDDLE),
        ("What was the wifi password in February 2026?", OLDER),
        ("What was it originally?", OLDER),
        ("Where is the old press?", NEWER),
        ("Was kostet ein Korb?", NEWER),
        ("Until what time are the doors open?", NEWER),
        ("What race am I in for in June?", NEWER),
        ("Which forms do guests complete first?", NEWER),
        ("How do I delete the old backups?", NEWER),
        ("What speed does the old lathe run at?", NEWER),
        ("Which parcels are collected first?", NEWER),
        ("What feed did the hens get first?", OLDER),
        ("Who tuned the organ first?", OLDER),
        ("Bis wann können wir die Räume mieten?", NEWER),
        ("Mit welchen Paketen beginnen wir zuerst?", NEWER),
        ("Wie viel kostete die Fähre zuerst?", OLDER),
        ("¿Hasta qué hora abre la panadería?", NEWER),
        ("¿Qué guía usamos antes de la visita?", NEWER),
        ("¿Hasta cuándo dura la garantía?", NEWER),
        ("¿Qué acaba antes?", NEWER),
        ("¿Quién servía el café al principio?", OLDER),
    ],
)
def test_current_version_depends_on_the_time_that_the_query_is_about(text, first):
    pool = pool_of(text, OLDER, MIDDLE, NEWER)
    assert pool.rows[int(np.argmax(validity_of(pool)))]["created_at"] == first


@pytest.mark.parametrize(
    "text", ["What was the old guest wifi password?", "What was the previous guest wifi password?"]
)
def test_the_state_before_the_current_one_is_the_last_but_one_version(text):
    assert texts_of(ranked(versions(), text))[:2] == [VERSIONS[1], VERSIONS[0]]


def test_before_an_event_the_last_version_before_it_is_true():
    texts = ("Towels: Whitlow.", "Towels: Linencare.", "Brent does the towels.", "Towels: Nieves.")
    rows = [row(text, OLDER + timedelta(days=30 * place)) for place, text in enumerate(texts)]
    for text in ("Who supplied towels before Brent?", "Who did the towels before Brent?"):
        assert int(np.argmax(validity_of(CandidatePool(rows, ScoringQuestion(text, NOW), {})))) == 1
    unknown = CandidatePool(rows, ScoringQuestion("Who supplied towels before Ann?", NOW), {})
    assert time_of(unknown).is_former


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("From 1 June on the limit is 40.", datetime(2026, 6, 1, tzinfo=UTC)),
        ("The limit is 40 as of 15 May 2027.", datetime(2027, 5, 15, tzinfo=UTC)),
        ("From the first of May the music ends at ten.", datetime(2026, 5, 1, tzinfo=UTC)),
        ("She takes over on 1 August.", datetime(2026, 8, 1, tzinfo=UTC)),
        ("Der Preis steigt zum 1. Juli auf 40.", datetime(2026, 7, 1, tzinfo=UTC)),
        ("Son 2.550 desde el primero de junio.", datetime(2026, 6, 1, tzinfo=UTC)),
        ("Ab Montag um acht.", datetime(2026, 4, 13, tzinfo=UTC)),
        ("Twice a day from tomorrow.", datetime(2026, 4, 11, tzinfo=UTC)),
        ("Fridays from next month.", datetime(2026, 5, 1, tzinfo=UTC)),
        ("Fridays from next week.", datetime(2026, 4, 13, tzinfo=UTC)),
        ("Fridays from next year.", datetime(2027, 1, 1, tzinfo=UTC)),
        ("On trial as of January.", datetime(2026, 1, 1, tzinfo=UTC)),
        ("The fare rises to 3.20 on 1 May.", datetime(2026, 5, 1, tzinfo=UTC)),
        ("The rota is weekly from July on.", datetime(2026, 7, 1, tzinfo=UTC)),
        ("As of September the choir meets in the annexe.", MIDDLE),
        ("Ab 15.05. gilt der Sommerfahrplan.", datetime(2026, 5, 15, tzinfo=UTC)),
        ("Ab Mai mietet der Chor den Saal.", datetime(2026, 5, 1, tzinfo=UTC)),
        ("Ab morgen nur noch bar.", datetime(2026, 4, 11, tzinfo=UTC)),
        ("A partir del 3 de mayo de 2027 abre Lucía.", datetime(2027, 5, 3, tzinfo=UTC)),
        ("A partir de junio riega Pilar.", datetime(2026, 6, 1, tzinfo=UTC)),
        ("Desde mañana entra Pilar a las siete.", datetime(2026, 4, 11, tzinfo=UTC)),
        ("Away from 3 May to 10 May.", None),
        ("Two nights from 24 May.", None),
        ("Open from Monday to Friday.", None),
        ("The fair is on 3 May.", None),
        ("The launch of Orion now falls on 12 December.", None),
        ("We now get the sourdough starter from Jan, 300 grams.", None),
        ("The eggs come from June, 20 a week.", None),
        ("Ask for the ladder from April 12 doors down.", None),
        ("A new keel from August Lindqvist.", None),
        ("The rate of the loan is 4 %, figures from May.", None),
        ("The seedlings in the minutes from 3 May are dead.", None),
        ("Shelter the pots from sun and wind.", None),
        ("Einladung zum 1. Mai im Hof.", None),
        ("Der Kran hebt ab 2050 Kilo nicht mehr.", None),
        ("Las sillas de Domingo son azules.", None),
        ("La bomba falla desde mayo.", None),
        ("El taller cierra el 3 de mayo.", None),
        ("From 31 February.", MIDDLE),
    ],
)
def test_a_text_can_state_from_when_it_applies(text, starts):
    announced = read_statement(text).announced
    assert (announced and announced.starts_at(MIDDLE)) == starts


def test_a_text_of_the_last_possible_year_applies_from_when_it_is_stored():
    last = datetime(9999, 12, 31, 12, tzinfo=UTC)
    for when in ("next year", "next month", "next week", "tomorrow", "Monday", "31 December"):
        announced = read_statement(f"Open from {when}.").announced
        assert announced.starts_at(last) <= last


def test_only_the_first_part_of_a_text_names_its_time():
    assert read_statement("word " * 200 + "From 1 June on the limit is 40.").announced is None


def test_an_announced_change_counts_from_its_date():
    rows = [row("The limit is 30.", OLDER), row("From 1 June on the limit is 40.", MIDDLE)]

    def newest(text, asked_at):
        return int(np.argmax(validity_of(CandidatePool(rows, ScoringQuestion(text, asked_at), {}))))

    assert newest("What is the limit?", MIDDLE + timedelta(days=2)) == 0
    assert newest("What is the limit?", NEWER) == 1
    assert newest("What will the limit be in July 2026?", MIDDLE + timedelta(days=2)) == 1
    assert newest("What was the limit in May 2026?", NEWER) == 0


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (
            (
                "The speed limit is 30.",
                "From 1 September on the speed limit is 40.",
                "Correction: from 1 September on the speed limit is 45.",
            ),
            "What is the speed limit?",
        ),
        (
            (
                "The speed limit is 30.",
                "From 1 September on the speed limit is 40.",
                "The speed limit stays at 30, the change in September is cancelled.",
            ),
            "What is the speed limit?",
        ),
        (
            ("Die Miete ist 700.", "Ab 1. September ist die Miete 750.", "Die Miete bleibt doch bei 700."),
            "Wie hoch ist die Miete?",
        ),
        (
            ("La cuota es 20.", "A partir del 1 de septiembre la cuota es 25.", "La cuota sigue en 20, se anula."),
            "¿Cuánto es la cuota?",
        ),
    ],
)
def test_a_corrected_or_cancelled_announcement_does_not_count(texts, question):
    times = (OLDER, datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 7, 20, tzinfo=UTC))
    rows = [row(*each) for each in zip(texts, times, (0.9, 0.88, 0.86), strict=True)]
    pool = CandidatePool(rows, ScoringQuestion(question, NOW, ("limit", "miete", "cuota")), vectors_of(rows))
    validity = find_rivals(pool).validity
    assert int(np.argmax(validity)) == 2


def test_a_month_without_a_year_is_the_next_one_for_a_query_about_the_future():
    rows = [row("The limit is 30.", OLDER), row("From 1 March 2027 on the limit is 40.", NEWER)]
    for text, expected in (
        ("What will the limit be in March?", 1),
        ("What will the limit be in December?", 0),
        ("Wie hoch ist das Limit im April?", 1),
    ):
        assert int(np.argmax(validity_of(CandidatePool(rows, ScoringQuestion(text, NOW), {})))) == expected


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("One hundred and thirty-four now, at 06:00.", {"134", "6:00"}),
        ("Two and a half thousand pounds", set()),
        ("Staff meet once a week.", set()),
        ("Rooms two and three, not five", {"2", "3", "5"}),
        ("Tables two, three and four", {"2", "3", "4"}),
        ("The ferry leaves at six thirty.", set()),
        ("Since nineteen ninety-four", set()),
        ("one million two hundred thousand", set()),
        ("three hundred and five sheep, a hundred hens", {"305", "100"}),
        ("vierundzwanzig Stühle, einundzwanzig Tische, zwei oder drei", {"24", "21", "2", "3"}),
        ("Zweihundert Gäste, zwölf Tausend", {"12000"}),
        ("treinta y cuatro sillas, veintidós mesas, dos mil", {"34", "22", "2000"}),
        ("dos y media, ciento treinta", set()),
        ("mesas dos y tres", {"2", "3"}),
        ("two thousand three hundred", {"2300"}),
        ("Vierzig am Tag, 2.400", {"40", "2.400"}),
        ("one of them", set()),
    ],
)
def test_numbers_in_words_are_read_as_digits(text, numbers):
    assert read_statement(text).numbers == numbers


def test_only_the_likeliest_successors_count():
    texts = [f"Guest wifi password number {place}: copper-{place}." for place in range(8)]
    rows = [row(text, OLDER + timedelta(days=place), 0.9) for place, text in enumerate(texts)]
    rivals = find_rivals(CandidatePool(rows, ScoringQuestion("guest wifi password?", NOW, LEXEMES), {}))
    assert (rivals.replaced > 0.0).sum(axis=1).max() == SUCCESSORS_MAX


def test_a_time_without_a_year_is_the_last_one_that_has_begun():
    pool = pool_of("What was it in March?", datetime(2025, 3, 5, tzinfo=UTC), datetime(2026, 3, 5, tzinfo=UTC), NEWER)
    assert int(np.argmax(validity_of(pool))) == 1


def test_a_statement_is_read_as_words_values_and_signs_of_change():
    read = read_statement("From Monday the order LM-2207 costs 14.95 instead.")
    assert read.numbers >= {"14.95"}
    assert read.identifiers == {"lm-2207"}
    assert read.has_change
    assert "order" in read.stems
    assert not read_statement("The order costs 14.95.").has_change


def test_the_current_version_precedes_the_others_and_the_rest_stays():
    rows = versions()
    scored = ranked(rows)
    assert texts_of(scored)[0] == VERSIONS[2]
    by_text = {one.memory["content"]: one for one in scored}
    assert by_text[VERSIONS[2]].composite_score > max(by_text[text].composite_score for text in VERSIONS[:2])
    assert all(by_text[text].parts["superseded"] >= RECALL.superseded_min for text in VERSIONS[:2])
    assert by_text[VERSIONS[2]].parts["superseded"] == 0.0
    alone = {text: one.composite_score for text, one in ((one.memory["content"], one) for one in ranked(rows[2:]))}
    assert set(texts_of(scored)) == {*VERSIONS, *OTHERS}
    assert all(by_text[text].parts["superseded"] == 0.0 for text in OTHERS)
    assert set(alone) == {VERSIONS[2], *OTHERS}


def test_an_earlier_time_turns_the_order_round():
    assert texts_of(ranked(versions(), "What was the guest wifi password in February 2026?"))[0] == VERSIONS[0]
    assert texts_of(ranked(versions(), "What was the guest wifi password in May 2026?"))[0] == VERSIONS[1]


@given(st.integers(0, 3_000))
def test_age_does_not_move_a_fact_without_a_rival(days):
    rows = [row(VERSIONS[0], NOW - timedelta(days=days), 0.9), *(row(text, NOW) for text in OTHERS)]
    (first, *_) = ranked(rows)
    assert first.memory["content"] == VERSIONS[0]
    assert first.parts["superseded"] == 0.0
    assert first.composite_score == ranked([row(VERSIONS[0], NOW, 0.9), *rows[1:]])[0].composite_score


def test_a_candidate_without_a_time_has_no_rival():
    rows = [row(VERSIONS[0], None, 0.9), *versions()[1:]]
    assert {one.memory["content"]: one.parts["superseded"] for one in ranked(rows)}[VERSIONS[0]] == 0.0


def test_named_successors_are_certain_whatever_the_texts_state():
    rows = [row("The cat sleeps.", OLDER, 0.5), row("Fees rise.", NEWER, 0.4), row("Gate code.", MIDDLE, 0.3)]
    pool = CandidatePool(rows, ScoringQuestion("cat?", NOW), {})
    rivals = find_rivals(pool, {rows[0]["id"]: [rows[1]["id"], uuid.uuid4()], uuid.uuid4(): [rows[0]["id"]]})
    older, newer = (rivals.places.tolist().index(place) for place in (0, 1))
    assert rivals.replaced[older, newer] == 1.0
    assert rivals.replaced[newer, older] == 0.0


def test_features_are_those_that_have_weights():
    pool = CandidatePool(versions(), ScoringQuestion("wifi password", NOW, LEXEMES), {})
    rivals = find_rivals(pool)
    features = pair_features(pool, rivals.places, read_statements(pool, rivals.places))
    assert list(features) == list(FEATURE_WEIGHTS)
    assert all(feature.shape == (len(rivals.places),) * 2 for feature in features.values())
    assert all(np.isfinite(feature).all() for feature in features.values())


def test_only_the_most_relevant_are_compared():
    rows = [row(f"Note {place}.", NOW - timedelta(days=place), 0.5) for place in range(COMPARED_MAX + 20)]
    assert len(find_rivals(CandidatePool(rows, ScoringQuestion("note", NOW), {})).places) == COMPARED_MAX
    nothing = find_rivals(CandidatePool([row("Note.", None)], ScoringQuestion("note", NOW), {}))
    assert nothing.replaced.shape == (0, 0)
    behind = put_superseded_behind(np.array([0.5]), nothing, 0.2)
    assert (behind.scores.tolist(), behind.superseded.tolist(), behind.successors.tolist()) == ([0.5], [0.0], [-1])


@st.composite
def ranked_rivals(draw):
    count = draw(st.integers(1, 7))
    scores = np.array(draw(st.lists(st.floats(0.1, 1.0), min_size=count, max_size=count)))
    validity = np.array(draw(st.permutations(range(count))), dtype=np.float64)
    cells = st.lists(st.floats(0.0, 1.0), min_size=count * count, max_size=count * count)
    sure = np.array(draw(cells)).reshape(count, count)
    replaced = np.where(validity[None, :] > validity[:, None], sure, 0.0)
    return scores, Rivals(np.arange(count), replaced, validity)


@given(ranked_rivals(), st.floats(0.05, 1.0))
def test_what_is_superseded_follows_and_nothing_else_falls(given_rivals, minimum):
    scores, rivals = given_rivals
    behind = put_superseded_behind(scores, rivals, minimum)
    moved, superseded = behind.scores, behind.superseded
    is_replaced = rivals.replaced >= minimum
    for place, successor in enumerate(behind.successors.tolist()):
        assert (successor >= 0) is bool(is_replaced[place].any())
        assert successor < 0 or rivals.replaced[place, successor] == superseded[place]
    for older, newer in zip(*np.nonzero(is_replaced), strict=True):
        assert moved[older] <= moved[newer] - BEHIND * minimum + 1e-12
    for place in range(len(scores)):
        if not is_replaced[place].any():
            assert superseded[place] == 0.0
            assert moved[place] >= scores[place]
            if not is_replaced[:, place].any():
                assert moved[place] == scores[place]
    assert moved.max() <= scores.max() + 1e-12
