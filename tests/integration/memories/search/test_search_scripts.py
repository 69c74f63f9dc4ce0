"""Full-text search through the API in every script; identifiers, accents, and words that a language drops."""

import time

import pytest
from django.db import IntegrityError, transaction
from rest_framework.test import APIClient

from memories.models import Memory, MemoryVersion, Tenant
from memories.search.queries.lexemes import query_lexemes_in_scope
from memories.services.store.drafts import NewMemory
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.rest_helpers import BULK, MEMORIES, SEARCH, post_memory

pytestmark = pytest.mark.django_db

OTHERS = ("The office closes at six.", "今天天气很好", "お茶を飲みます", "오늘은 날씨가 좋다", "อากาศดีมาก")


def store(api: APIClient, *contents: str) -> None:
    answer = api.post(BULK, {"memories": [{"content": content} for content in contents]}).json()
    assert {row["status"] for row in answer["results"]} == {"created"}


def found_by_words(api: APIClient, query: str) -> list[str]:
    response = api.post(SEARCH, {"query": query, "mode": "lexical"}, format="json")
    assert response.status_code == 200, response.json()
    return [row["content"] for row in response.json()["results"]]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        # Chinese
        ("我喜欢吃苹果和香蕉", "苹果"),
        ("會議改到星期三下午三點", "星期三"),
        ("他养了一只猫", "猫"),
        # Japanese
        ("東京タワーの近くに住んでいます", "東京タワー"),
        ("ﾃﾞｰﾀﾍﾞｰｽを更新した", "データベース"),
        ("寿司はわさび抜きでお願いします", "わさび"),
        # Korean
        ("학교에서 한국어를 배운다", "학교"),
        ("회의는 부산에서 열린다", "부산"),
        # Thai, Lao, Khmer, Burmese
        ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ("แมวนอนอยู่บนโซฟา", "แมว"),
        ("ຂ້ອຍມັກກິນເຂົ້າ", "ເຂົ້າ"),
        ("ខ្ញុំចូលចិត្តបាយ", "បាយ"),
        ("ကျွန်တော် ထမင်း ကြိုက်တယ်", "ထမင်း"),
        # mixed
        ("我的iPhone手机坏了", "iphone"),
        ("我的iPhone手机坏了", "手机"),
        ("Deploy 失敗: ERR_4012発生", "ERR_4012"),
        # other scripts
        ("मुझे हिन्दी पसंद है", "हिन्दी"),
        ("أحب القَهْوَة العربية", "القهوة"),
        ("הוא אוהב קפה", "קפה"),
        ("Мне нравится ПЕТЕРБУРГ", "петербург"),
        ("Ёжик в тумане", "ежик"),
        ("Ο ΣΊΣΥΦΟΣ σπρώχνει", "σίσυφος"),
        ("Ο Σίσυφος σπρώχνει", "σισυφοσ"),
        ("Tiếng Việt rất đẹp", "tieng viet"),
        # full width
        ("Ｆｕｌｌ ｗｉｄｔｈ ＡＢＣ１２３", "abc123"),
        ("plain abc123", "ＡＢＣ１２３"),
    ],
)
def test_text_is_found_in_its_script(api: APIClient, stored: str, query: str) -> None:
    store(api, stored, *OTHERS)
    assert found_by_words(api, query)[:1] == [stored]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We met at the café.", "cafe"),
        ("We met at the cafe.", "café"),
        ("Two cafés nearby", "cafe"),
        ("Two cafe nearby", "CAFÉS"),
        ("We met at the cafe\u0301.", "café"),
        ("An Ångström is short", "angstrom"),
        ("An angstrom is short", "Ångström"),
        ("Herr Müller rief an", "Mueller"),
        ("Herr Mueller rief an", "Müller"),
        ("Herr Muller rief an", "MÜLLER"),
        ("In der Goethestraße", "goethestrasse"),
        ("In der GOETHESTRASSE", "goethestraße"),
        ("Schön ist es", "schon"),
        ("Søren comes from Łódź", "soren lodz"),
        ("Soren comes from Lodz", "Łódź"),
        ("naïve résumé", "naive"),
    ],
)
def test_accents_are_no_hurdle_in_either_direction(api: APIClient, one: str, other: str) -> None:
    store(api, one, *OTHERS)
    assert found_by_words(api, other) == [one]


UUID_TEXT = "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        ("ERR_4012", ["err", "4012"]),
        ("/srv/app/x.py", ["srv", "app", "x.py", "srv/app/x.py"]),
        ("a.b@c.example", ["c.example", "a.b", "example"]),
        ("v1.2.3", ["1.2.3"]),
        (UUID_TEXT, ["550e8400", "446655440000", UUID_TEXT.upper()]),
        ("CVE-2024-1234", ["cve", "2024", "1234", "cve-2024-1234"]),
        ("https://docs.example/guide?page=42", ["docs.example", "guide"]),
        ("C:\\Temp\\run.log", ["temp", "run.log"]),
        ("max_tokens_per_call", ["tokens", "max_tokens_per_call"]),
    ],
)
def test_identifier_is_found_whole_and_by_its_parts(api: APIClient, whole: str, parts: list[str]) -> None:
    wanted = f"Remember {whole}, please."
    store(api, wanted, "Remember nothing else", *OTHERS)
    for query in (whole, *parts):
        assert found_by_words(api, query) == [wanted], query


def test_whole_identifier_ranks_before_its_scattered_parts(tenant: Tenant) -> None:
    texts = ("It said ERR_4012 once.", "ERR ERR 4012 4012 err", "ERR_5000")
    for text in reversed(texts):
        make_memory(tenant, text)
    with tenant_scope(tenant.pk):
        ranked = Memory.objects.for_tenant(tenant.pk).matching("what is ERR_4012?")
        assert tuple(row.content for row in ranked) == texts


def test_query_of_words_that_the_language_drops_still_finds(api: APIClient) -> None:
    post_memory(api, "To be or not to be")
    post_memory(api, "Nothing alike")
    assert found_by_words(api, "to be") == ["To be or not to be"]
    # such words are ignored next to a more specific one
    assert found_by_words(api, "to be alike") == ["Nothing alike"]


def test_list_is_searched_alike(api: APIClient) -> None:
    post_memory(api, "我喜欢吃苹果")
    post_memory(api, "café")
    for query, content in (("苹果", "我喜欢吃苹果"), ("cafe", "café")):
        results = api.get(MEMORIES, {"q": query}).json()["results"]
        assert [row["content"] for row in results] == [content]


def test_every_write_keeps_the_text_findable(api: APIClient, tenant: Tenant) -> None:
    memory = make_memory(tenant, "旧文本 ERR_1")
    with tenant_scope(tenant.pk):
        memory = update_memory(memory=memory, changes={"content": "新内容 ERR_2"}, by=TESTER, now=FACTORY_NOW)
    assert found_by_words(api, "内容") == ["新内容 ERR_2"]
    assert found_by_words(api, "文本") == []
    with tenant_scope(tenant.pk):
        memory = archive_memory(memory=memory, by=TESTER, now=FACTORY_NOW)
        restore_memory(memory=memory, by=TESTER, now=FACTORY_NOW)
        store_memories(tenant=tenant, rows=[NewMemory("批量 one"), NewMemory("批量 two")], by=TESTER, now=FACTORY_NOW)
        held = (
            MemoryVersion.objects.for_tenant(tenant.pk).with_lexemes_held(["文本", "err_1", "内容"]).order_by("version")
        )
        assert [sorted(row.holds) for row in held] == [["err_1", "文本"], ["内容"]]
    assert found_by_words(api, "内容") == ["新内容 ERR_2"]
    assert sorted(found_by_words(api, "批量")) == ["批量 one", "批量 two"]


@pytest.mark.parametrize("model", [Memory, MemoryVersion])
def test_no_row_can_have_the_lexemes_of_another_text(tenant: Tenant, model: type[Memory] | type[MemoryVersion]) -> None:
    """The database refuses every write of a text without its derived columns."""
    memory = make_memory(tenant, "旧文本")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
        with pytest.raises(IntegrityError, match="search_is_of_its_text"), transaction.atomic():
            model.objects.for_tenant(tenant.pk).update(content="新内容")


@pytest.mark.parametrize("word", ["हिन्दी" * 200, "ก" + "ิ" * 1_000, "か" + "\u3099" * 1_000])
def test_word_without_end_breaks_no_search(api: APIClient, word: str) -> None:
    post_memory(api, f"{word} ERR_4012")
    assert found_by_words(api, f"{word} ERR_4012") == [f"{word} ERR_4012"]


@pytest.mark.parametrize("unit", ["a_", "~/", "a1_"])
def test_run_without_end_is_parsed_in_no_time(unit: str, tenant: Tenant) -> None:
    def seconds(text: str) -> float:
        started = time.process_time()
        with tenant_scope(tenant.pk):
            query_lexemes_in_scope(text)
        return time.process_time() - started

    plain = min(seconds("word " * 4_000) for _ in range(3))
    assert min(seconds((unit * 20_000)[:20_000]) for _ in range(3)) < max(50 * plain, 1.0)


def test_signs_of_an_address_of_usual_length_stay(api: APIClient) -> None:
    post_memory(api, "Write to first_last@example.com about ~/notes.")
    assert found_by_words(api, "first_last@example.com") == ["Write to first_last@example.com about ~/notes."]
