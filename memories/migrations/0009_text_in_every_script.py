"""Text vectors of every script: a language for each tenant, and columns that the application derives (ADR-0076)."""

from typing import Any

import django.contrib.postgres.fields
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.lookups
from django.db import migrations, models

from memories.services.search.lexemes import search_terms
from memories.tenancy.row_security import enable_row_security

TABLES = ("memories_memory", "memories_memoryversion")
ROWS_AT_ONCE = 2_000

# The words that the language drops stay as `=word`; what the application made has no places, so it adds to no rank.
VECTOR = """
CREATE FUNCTION memories_search_vector(config text, content text, words text, lexemes text[]) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    language CONSTANT regconfig := ('pg_catalog.' || quote_ident(config))::regconfig;
    dropped CONSTANT text[] := ARRAY(
        SELECT '=' || word FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', content))) AS word
        WHERE length(word) <= 16 AND to_tsvector(language, word) = ''::tsvector
    );
BEGIN
    RETURN to_tsvector(language, content) || strip(to_tsvector(language, words))
        || array_to_tsvector(lexemes) || array_to_tsvector(dropped);
END
$$
"""
# Whoever inserts a row, and however: it is in the language of its tenant.
LANGUAGE = """
CREATE FUNCTION memories_take_language() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search_config := coalesce(
        (SELECT text_search_config FROM memories_tenant WHERE id = NEW.tenant_id), NEW.search_config
    );
    RETURN NEW;
END
$$
"""
# Two passes over the table, each with all its indexes.
DERIVE = (
    "ALTER TABLE {table} ALTER search_of TYPE varchar(8) USING left(md5(content), 8);"
    " ALTER TABLE {table} ALTER search_vector"
    " SET EXPRESSION AS (memories_search_vector(search_config, content, search_words, search_lexemes))"
)
FORGET = "ALTER TABLE {table} ALTER search_vector SET EXPRESSION AS (to_tsvector('english'::regconfig, content))"
MARK = models.Func(
    models.Func(models.F("content"), function="md5"), 8, function="left",
    output_field=models.CharField(max_length=32),
)  # fmt: skip


def derive_terms(_apps: Any, schema_editor: Any) -> None:
    """Fill in what is found in texts beyond plain words; most have nothing of the kind and are not written."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.scope', 'admin_write', true)")
        for table in TABLES:
            _derive_table(cursor, table)


def _derive_table(cursor: Any, table: str) -> None:
    statement = f"UPDATE {table} SET search_words = %s, search_lexemes = %s WHERE id = %s"  # noqa: S608
    last: Any = None
    while True:
        where = "" if last is None else "WHERE id > %s"
        page = f"SELECT id, content FROM {table} {where} ORDER BY id LIMIT {ROWS_AT_ONCE}"  # noqa: S608
        cursor.execute(page, [] if last is None else [last])
        rows = cursor.fetchall()
        if not rows:
            return
        derived = [(search_terms(content), row_id) for row_id, content in rows]
        changed = [
            (terms.words, list(terms.lexemes), row_id) for terms, row_id in derived if terms.words or terms.lexemes
        ]
        if changed:
            cursor.executemany(statement, changed)
        last = rows[-1][0]


def _columns(model: str) -> list[Any]:
    lexemes = django.contrib.postgres.fields.ArrayField(
        base_field=models.TextField(), default=list, editable=False, size=None
    )
    fields: dict[str, tuple[Any, bool]] = {
        "search_config": (models.CharField(default="english", editable=False, max_length=63), True),
        "search_words": (models.TextField(blank=True, default="", editable=False), False),
        "search_lexemes": (lexemes, False),
        "search_of": (models.CharField(default="", editable=False, max_length=8), False),
    }
    return [
        migrations.AddField(model_name=model, name=name, field=field, preserve_default=keeps)
        for name, (field, keeps) in fields.items()
    ]


def _vector(model: str) -> Any:
    made = models.Func("search_config", "content", "search_words", "search_lexemes", function="memories_search_vector")
    field = models.GeneratedField(
        db_persist=True, expression=made, output_field=django.contrib.postgres.search.SearchVectorField()
    )
    return migrations.AlterField(model_name=model, name="search_vector", field=field)


def _bound(model: str, name: str) -> Any:
    is_own = django.db.models.lookups.Exact(models.F("search_of"), MARK)
    return migrations.AddConstraint(model_name=model, constraint=models.CheckConstraint(condition=is_own, name=name))


class Migration(migrations.Migration):
    dependencies = [("memories", "0008_compare_what_is_stored")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="text_search_config",
            field=models.CharField(
                default="english",
                help_text="How words of its memories are cut.",
                max_length=63,
                verbose_name="language",
            ),
        ),
        migrations.AddField(
            model_name="tenant",
            name="former_text_search_configs",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=63), default=list, editable=False, size=None
            ),
        ),
        migrations.AddField(
            model_name="tenant",
            name="text_search_changed_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        *_columns("memory"),
        *_columns("memoryversion"),
        migrations.RunSQL(VECTOR, "DROP FUNCTION memories_search_vector"),
        migrations.RunPython(derive_terms, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(DERIVE.format(table=table), FORGET.format(table=table)) for table in TABLES],
            [_vector("memory"), _vector("memoryversion")],
        ),
        _bound("memory", "memory_search_is_of_its_text"),
        _bound("memoryversion", "version_search_is_of_its_text"),
        migrations.RunSQL(LANGUAGE, "DROP FUNCTION memories_take_language"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER takes_language BEFORE INSERT ON {table}"
                " FOR EACH ROW EXECUTE FUNCTION memories_take_language()",
                f"DROP TRIGGER takes_language ON {table}",
            )
            for table in TABLES
        ),
        migrations.CreateModel(
            name="CommonLexeme",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lexeme", models.TextField(db_collation="C")),
                ("rows", models.PositiveIntegerField()),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "lexeme"), name="common_lexeme_is_unique")],
            },
        ),
        enable_row_security("memories_commonlexeme"),
    ]
