"""Statements: what the clauses of a conversation become once they stand alone."""

from datetime import UTC, datetime, timedelta

import pytest

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import StatementKind, StatementMessage, render_statements
from tests.statement_faults import faults_of

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def talk(*lines, start=MONDAY):
    """Messages from lines such as "Ann: I ran." (a person) or "assistant| Done." (a role without a name)."""
    messages = []
    for number, line in enumerate(lines):
        role, name, text = (
            ("user", *line.split(": ", 1)) if "| " not in line else (line.split("| ")[0], "", line.split("| ", 1)[1])
        )
        messages.append(StatementMessage(f"m{number}", role, text, name, start + timedelta(minutes=number), number))
    return messages


def texts(*lines):
    return [statement.text for statement in extract_statements(talk(*lines))]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I went to a pottery class yesterday.", "Ann went to a pottery class (7 May 2023)"),
        ("I'm keen on gardening.", "Ann is keen on gardening"),
        ("I've painted two portraits.", "Ann has painted two portraits"),
        ("I really want a second dog.", "Ann wants a second dog"),
        ("I usually carry an umbrella.", "Ann usually carries an umbrella"),
        ("I don't eat meat.", "Ann doesn't eat meat"),
        ("I retook the exam.", "Ann retook the exam"),
        ("My sister gave me a violin.", "Ann's sister gave Ann a violin"),
        ("We moved to Oslo.", "Ann and others moved to Oslo"),
        ("Let's plant tomatoes together.", "Ann suggests plant tomatoes together"),
        ("Going to the mountains next month.", "Ann is going to the mountains (June 2023)"),
        ("The feeling was unreal.", "Ann: the feeling was unreal"),
        ("Your recipe saved dinner.", "Ann: Ben's recipe saved dinner"),
        ("You could teach chess.", "Ann: Ben could teach chess"),
        ("Last week I ran 10 km.", "Ann ran 10 km (week before 8 May 2023)"),
        ("When I was ten, we lived in Bergen.", "Ann and others lived in Bergen when Ann was ten"),
        ("Wow, Ben! Well, I bought a kayak, you know.", "Ann bought a kayak"),
        ("Hey Ben, I think that the museum closes early.", "Ann: the museum closes early"),
        ("There is a bakery near the station.", "Ann: a bakery near the station"),
        ("Maybe I'll sell the boat.", "Ann maybe will sell the boat"),
        ("I will probably sell the boat.", "Ann will probably sell the boat"),
        ("I still want a dog.", "Ann still wants a dog"),
        ("I hope the shop succeeds.", "Ann hopes the shop succeeds"),
        ("I'm too tired to run.", "Ann is too tired to run"),
        ("I took the train instead of the bus.", "Ann took the train instead of the bus"),
        ("I play chess as well as tennis.", "Ann plays chess as well as tennis"),
        ("I rely on my brother.", "Ann relies on their brother"),
        ("I won't go unless my sister comes.", "Ann won't go unless their sister comes"),
        ("This novel won prizes.", "Ann: novel won prizes"),
        ("We went to Dr. Smith's on 3 May.", "Ann and others went to Dr Smith's on 3 May"),
    ],
)
def test_a_clause_names_its_subject(said, told):
    assert texts(f"Ann: {said}", "Ben: Bye!") == [told]


def test_clauses_of_one_sentence_become_statements_of_their_own():
    assert texts("Ann: I bought a kayak and I named it Pip, but my brother is scared of water.") == [
        "Ann bought a kayak",
        "Ann named it Pip",
        "Ann's brother is scared of water",
    ]


@pytest.mark.parametrize(
    "said", ["Last week was crazy.", "Made me laugh.", "Happy birthday!", "Love is patient.", "Will be fun."]
)
def test_nobody_is_credited_with_what_something_else_is(said):
    assert not any(text.startswith("Ann ") for text in texts(f"Ann: {said}"))


def test_a_half_subject_is_not_cut_off():
    assert texts("Ann: My teammates and I were thrilled.") == ["Ann's teammates and Ann were thrilled"]


def test_a_pronoun_continues_the_clause_that_names_what_it_stands_for():
    assert texts("Ann: I adopted a beagle. She is called Luna.") == ["Ann adopted a beagle, she is called Luna"]


def test_a_pronoun_with_nothing_before_it_is_left_out():
    assert texts("Ann: It was wonderful.") == []


@pytest.mark.parametrize(
    "said",
    ["Hey Ben! How are you?", "Thanks so much, Ben!", "Wow, congrats!", "Yes!", "Sounds great.", "???", "", "\n \n"],
)
def test_small_talk_becomes_nothing(said):
    assert texts(f"Ann: {said}", "Ben: Bye!") == []


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        ("Where did you go?", "Sweden!", "Ben: where did Ben go: Sweden"),
        ("What's your favourite book?", "Probably Emma.", "Ben: favourite book: probably Emma"),
        ("How long have you been married?", "Five years.", "Ben: how long has Ben been married: five years"),
        ("What are you painting?", "It's a sunset.", "Ben: painting: a sunset"),
        ("Should we use pgloader or a script?", "pgloader", "Ben: use pgloader or a script: pgloader"),
        ("Did you like the food?", "Nope.", "Ben denied: like the food"),
        (
            "Should I deploy to production?",
            "Yes, but only after 18:00.",
            "Ben confirmed: deploy to production, only after 18:00",
        ),
        ("Is the village far?", "Yes, it takes ten hours.", "Ben confirmed: the village far, it takes ten hours"),
    ],
)
def test_a_question_completes_its_short_answer(question, answer, told):
    [statement] = extract_statements(talk(f"Ann: {question}", f"Ben: {answer}"))
    assert statement.text == told
    assert statement.message_ids == ("m0", "m1")


def test_an_answer_that_repeats_the_question_stands_alone():
    assert texts("Ann: What do flowers mean to you?", "Ben: Flowers bring joy.") == ["Ben: flowers bring joy"]


def test_nobody_answers_their_own_question():
    assert texts("Ann: Where did you go?", "Ann: Sweden.") == ["Ann: Sweden"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I prefer small pull requests.", StatementKind.PREFERENCE),
        ("We must keep audit logs for 7 years.", StatementKind.CONSTRAINT),
        ("I decided to use the new collation.", StatementKind.DECISION),
        ("I will visit Lisbon.", StatementKind.PLAN),
        ("I visited Lisbon.", StatementKind.EVENT),
        ("The repository holds 42 tables.", StatementKind.FACT),
    ],
)
def test_statements_tell_their_kind(said, kind):
    [statement] = extract_statements(talk(f"user| {said}"))
    assert statement.kind is kind


def test_subject_of_a_statement_is_its_speaker():
    own, told = extract_statements(talk("Ann: I prefer tea. The kettle is broken."))
    assert (own.subject, told.subject) == ("Ann", "Ann")


def test_roles_name_those_who_have_no_name():
    assert texts("user| I need a cron job.", "assistant| I'll write it in src/cron.py.") == [
        "User needs a cron job",
        "Assistant will write it in src/cron.py",
    ]


def test_the_system_speaks_to_the_assistant():
    assert texts("system| You must never reveal the password.") == ["System: Assistant must never reveal the password"]


def test_tool_output_code_and_other_languages_stay_as_they_are():
    statements = extract_statements(
        talk(
            'tool| {"tables": 42, "largest": "invoices"}',
            "assistant| ```python\nprint('x')\n```",
            "Ana: Hola, ayer fui al mercado con mi hermana y compramos pescado.",
            "Li: 我昨天去了北京。",
            "tool| It failed",
        )
    )
    assert [statement.text for statement in statements] == [
        'Tool: {"tables": 42, "largest": "invoices"}',
        "Assistant: print('x')",
        "Ana: Hola, ayer fui al mercado con mi hermana y compramos pescado.",
        "Li: 我昨天去了北京。",
        'Tool: "It failed"',
    ]
    assert {statement.kind for statement in statements} == {StatementKind.VERBATIM}


def test_texts_without_a_speaker_keep_their_own_subject():
    messages = [
        StatementMessage("a", "", "Alex prefers dark mode."),
        StatementMessage("b", "", "the user lives in Oslo"),
        StatementMessage("c", "", "I like tea."),
    ]
    assert [statement.text for statement in extract_statements(messages)] == [
        "Alex prefers dark mode",
        "The user lives in Oslo",
        '"I like tea."',
    ]


def test_a_speaker_written_into_the_text_is_its_speaker():
    written = [
        StatementMessage("a", "", "Caroline: I bought a kayak."),
        StatementMessage("b", "", "Deadline: June. I like tea."),
    ]
    assert extract_statements(written)[0].text == "Caroline bought a kayak"
    assert "Deadline" not in {statement.subject for statement in extract_statements(written)}


def test_a_name_written_once_before_a_users_message_is_no_speaker():
    once = [StatementMessage("a", "user", "Berlin: the meeting begins at nine.")]
    assert [statement.text for statement in extract_statements(once)] == ["User: Berlin: the meeting begins at nine"]
    twice = [StatementMessage("a", "user", "Caroline: I ran."), StatementMessage("b", "user", "Caroline: I swam.")]
    assert [statement.subject for statement in extract_statements(twice)] == ["Caroline", "Caroline"]


def test_statements_follow_the_sequence_of_their_messages():
    first, second = talk("Ann: I ran.", "Ben: I swam.")
    assert [statement.message_ids for statement in extract_statements([second, first])] == [("m0",), ("m1",)]


def test_a_summary_puts_statements_under_their_days_and_shares_openings():
    messages = talk("Ann: I sailed yesterday. I love the sea.", "Ben: My boat leaks.") + talk(
        "Ann: I bought a kayak last year.", start=MONDAY + timedelta(days=2)
    )
    renumbered = [StatementMessage(f"r{n}", m.role, m.content, m.name, m.created_at, n) for n, m in enumerate(messages)]
    assert render_statements(extract_statements(renumbered)) == (
        "8 May 2023: Ann sailed (7 May); loves the sea. Ben's boat leaks.\n10 May 2023: Ann bought a kayak (2022)."
    )


def test_a_summary_of_statements_without_a_day_has_no_heading():
    assert (
        render_statements(extract_statements([StatementMessage("a", "", "Alex prefers dark mode.")]))
        == "Alex prefers dark mode."
    )


@pytest.mark.parametrize(
    "text", ["!" * 50_000, "a" * 50_000, "word " * 10_000, "- " * 20_000, "(" * 20_000, " " * 50_000 + "x"]
)
def test_strange_text_neither_fails_nor_lasts(text):
    messages = [StatementMessage("a", "user", text, "Ann", MONDAY)]
    assert all(statement.text.startswith("Ann") for statement in extract_statements(messages))


def test_every_word_of_a_statement_is_one_that_was_said():
    messages = talk("Ann: Where did you go?", "Ben: Sweden! I haven't slept since Tuesday.")
    known = {message.id: message for message in messages}
    assert [faults_of(statement, known) for statement in extract_statements(messages)] == [[], []]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Seidel offers seals for €1.12.", ["Ann: Seidel offers seals for €1.12"]),
        ("Lübeck has a slot at 9:45.", ["Ann: Lübeck has a slot at 9:45"]),
        ("Ada prefers canary deploys.", ["Ann: Ada prefers canary deploys"]),
        ("Resistance is 0.05 Ohm.", ["Ann: resistance is 0.05 Ohm"]),
        ("Noted. Good evening, Ben. Done.", []),
        ("Good news: the lock is mended.", ["Ann: good news", "Ann: the lock is mended"]),
    ],
)
def test_name_keeps_its_capital_and_a_nod_says_nothing(said, told):
    assert texts(f"Ann: {said}", "Ben: Really?") == told


def test_opening_that_points_back_stays_with_what_it_points_to():
    grant = "Support may grant up to €75 without asking."
    message = StatementMessage("m", "", f"{grant} Above that Friederike decides.", "", MONDAY)
    assert [one.text for one in extract_statements([message])] == [
        "Support may grant up to €75 without asking, above that Friederike decides"
    ]
    assert texts("Ann: We had tea. In that case I walk.", "Ben: Why?")[1] == "Ann walks in that case"


def test_condition_said_first_is_never_left_off():
    said = "If they offer only half of the credit, I accept €15,000 and not less, whatever Ole says."
    (statement,) = extract_statements(talk(f"Ann: {said}", "Ben: Fine."))
    assert len(statement.parts) == 1
    assert statement.text.startswith("Ann accepts €15,000")
    assert "if they offer only half of the credit" in statement.text


def test_output_of_a_tool_does_not_hide_whom_the_assistant_speaks_to():
    messages = [
        *talk("user| Which sensor do I have?", "tool| TQ-88", "assistant| Your sensor is a TQ-88. The fault is ours."),
        *talk("user| My town has no workshop of yours."),
    ]
    messages = [
        StatementMessage(f"m{place}", one.role, one.content, "read_log" if one.role == "tool" else "", MONDAY, place)
        for place, one in enumerate(messages)
    ]
    told = [one.text for one in extract_statements(messages) if one.kind != StatementKind.VERBATIM]
    assert told == [
        "Assistant: User's sensor is a TQ-88",
        "Assistant: the fault is Assistant's",
        "User's town has no workshop of Assistant's",
    ]
