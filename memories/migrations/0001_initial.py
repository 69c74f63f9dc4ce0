"""The tables of what is stored."""

import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.core.serializers.json
import django.db.models.deletion
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Lower
from django.db.models.lookups import Exact, LessThanOrEqual

# Texts are searched with this function from a generated column, so it comes before the tables. The parser looks for an
# address from each `_` and `~` up to the end of a run of characters, so in long runs they are cut before it reads them.
# What the language drops is kept as `=word`; what the application derived has no positions, so it adds to no rank.
SEARCH_VECTOR = """
CREATE FUNCTION memories_search_vector(config text, content text, words text, lexemes text[])
RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    language CONSTANT regconfig := ('pg_catalog.' || quote_ident(config))::regconfig;
    readable CONSTANT text := CASE WHEN content ~ '[!-~]{250}' THEN translate(content, '_~', '  ') ELSE content END;
    dropped CONSTANT text[] := ARRAY(
        SELECT '=' || word FROM unnest(tsvector_to_array(to_tsvector('pg_catalog.simple', readable))) AS word
        WHERE length(word) <= 16 AND to_tsvector(language, word) = ''::tsvector
    );
BEGIN
    RETURN to_tsvector(language, readable) || strip(to_tsvector(language, words))
        || array_to_tsvector(lexemes) || array_to_tsvector(dropped);
END
$$
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(SEARCH_VECTOR, "DROP FUNCTION memories_search_vector"),
        migrations.CreateModel(
            name="Tenant",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("created_at", models.DateTimeField()),
                (
                    "text_search_config",
                    models.CharField(
                        default="english",
                        help_text="Language for stemming its memories.",
                        max_length=63,
                        verbose_name="language",
                    ),
                ),
                (
                    "former_text_search_configs",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=63), default=list, editable=False, size=None
                    ),
                ),
                ("text_search_changed_at", models.DateTimeField(editable=False, null=True)),
                ("settings_revision", models.BigIntegerField(db_default=0, default=0, editable=False)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^\\S(.*\\S)?$")), name="tenant_name_is_trimmed"
                    ),
                    models.UniqueConstraint(
                        Lower("name"),
                        name="tenant_name_is_unique_in_any_case",
                        violation_error_message="A tenant with this name already exists; case is ignored.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="memories.tenant"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "tenant"), name="membership_is_unique")],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.CharField(editable=False, max_length=150, primary_key=True, serialize=False, unique=True),
                ),
                ("prefix", models.CharField(editable=False, max_length=8, unique=True)),
                ("hashed_key", models.CharField(editable=False, max_length=150)),
                ("created", models.DateTimeField(auto_now_add=True, db_index=True)),
                (
                    "name",
                    models.CharField(
                        default=None,
                        help_text="A free-form name for the API key. Need not be unique. 50 characters max.",
                        max_length=50,
                    ),
                ),
                (
                    "revoked",
                    models.BooleanField(
                        blank=True,
                        default=False,
                        help_text="If the API key is revoked, clients cannot use it anymore. (This cannot be undone.)",
                    ),
                ),
                (
                    "expiry_date",
                    models.DateTimeField(
                        blank=True,
                        help_text="Once API key expires, clients cannot use it anymore.",
                        null=True,
                        verbose_name="Expires",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="api_keys", to="memories.tenant"
                    ),
                ),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("read", "Read"), ("write", "Write"), ("admin", "Admin")], max_length=16
                        ),
                        size=None,
                    ),
                ),
                ("partition_prefix", models.TextField(blank=True, db_collation="C", default="")),
                (
                    "refuses_recalled_text",
                    models.BooleanField(
                        default=True,
                        help_text="Return the existing memory for a new one that repeats a recently rendered text.",
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "ordering": ("-created",),
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scopes__contained_by", ["read", "write", "admin"]), ("scopes__len__gte", 1)
                        ),
                        name="api_key_scopes_are_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SignInFailures",
            fields=[
                ("key", models.CharField(db_collation="C", max_length=64, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField()),
                ("last_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="CommonLexeme",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("lexeme", models.TextField(db_collation="C")),
                ("rows", models.PositiveIntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "lexeme"), name="common_lexeme_is_unique")],
            },
        ),
        migrations.CreateModel(
            name="Partition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="partitions",
                        to="memories.tenant",
                    ),
                ),
                ("path", models.TextField(blank=True, db_collation="C")),
                ("depth", models.PositiveSmallIntegerField()),
                (
                    "segments",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
            ],
            options={
                "ordering": ["path"],
                "indexes": [django.contrib.postgres.indexes.GinIndex(fields=["segments"], name="partition_segments")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "path"), name="partition_path_is_unique"),
                    models.CheckConstraint(condition=models.Q(("depth__lte", 8)), name="partition_depth_is_bounded"),
                    models.CheckConstraint(
                        condition=models.Q(("segments__len", models.F("depth"))), name="partition_depth_counts_segments"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("kind", models.CharField(default="fact", max_length=32)),
                ("content", models.TextField()),
                ("content_hash", models.CharField(max_length=64)),
                ("confidence", models.FloatField(default=0.8)),
                ("pinned", models.BooleanField(default=False)),
                (
                    "metadata",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                (
                    "created_at",
                    models.DateTimeField(help_text="When it happened or was said; scoring computes the age from it."),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("source_id", models.CharField(blank=True, default="", max_length=255)),
                ("session", models.CharField(blank=True, default="", max_length=255)),
                ("position", models.PositiveIntegerField(blank=True, null=True)),
                ("partition_path", models.TextField(blank=True, db_collation="C", editable=False)),
                ("tokens_o200k_base", models.PositiveIntegerField(editable=False)),
                ("tokens_cl100k_base", models.PositiveIntegerField(editable=False)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("valid_from", models.DateTimeField(editable=False)),
                ("recorded_from", models.DateTimeField(editable=False)),
                ("search_config", models.CharField(default="english", editable=False, max_length=63)),
                ("search_words", models.TextField(blank=True, editable=False)),
                (
                    "search_lexemes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), editable=False, size=None),
                ),
                ("search_of", models.CharField(editable=False, max_length=8)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memories",
                        to="memories.tenant",
                    ),
                ),
                (
                    "partition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="memories", to="memories.partition"
                    ),
                ),
                ("usefulness_score", models.FloatField(default=0.5)),
                ("retrieval_count", models.PositiveIntegerField(default=0)),
                ("last_retrieved_at", models.DateTimeField(blank=True, null=True)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "valid_to",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="Set with `archived_at` if another memory replaced it: when it stopped being true.",
                        null=True,
                    ),
                ),
                (
                    "embedding_state",
                    models.CharField(
                        choices=[("pending", "Pending"), ("ready", "Ready"), ("failed", "Failed")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("embedding_error", models.CharField(blank=True, default="", editable=False, max_length=200)),
                (
                    "search_vector",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            "search_config",
                            "content",
                            "search_words",
                            "search_lexemes",
                            function="memories_search_vector",
                        ),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "memories",
                "indexes": [
                    models.Index(
                        fields=["tenant", "partition_path", "-created_at"],
                        include=(
                            "id",
                            "version",
                            "pinned",
                            "tokens_o200k_base",
                            "archived_at",
                            "expires_at",
                            "recorded_from",
                        ),
                        name="memory_in_partition",
                    ),
                    models.Index(fields=["tenant", "-created_at", "id"], name="memory_newest"),
                    models.Index(fields=["tenant", "id"], name="memory_by_id"),
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("tokens_o200k_base"), descending=True),
                        models.F("id"),
                        name="memory_longest",
                    ),
                    models.Index(
                        models.F("tenant"),
                        models.OrderBy(models.F("confidence"), descending=True),
                        models.F("id"),
                        name="memory_surest",
                    ),
                    models.Index(fields=["tenant", "session", "position"], name="memory_in_session"),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True), models.Q(("source_id", ""), _negated=True)),
                        fields=["tenant", "partition_path", "source_id"],
                        name="memory_by_source",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True), ("pinned", True)),
                        fields=["tenant", "-created_at", "id"],
                        name="memory_pinned",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=["tenant", "kind"],
                        include=("tokens_o200k_base",),
                        name="memory_unarchived",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True), ("expires_at__isnull", False)),
                        fields=["tenant", "expires_at"],
                        include=("kind", "tokens_o200k_base"),
                        name="memory_expiring",
                    ),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", False)),
                        fields=["tenant", "-created_at", "id"],
                        name="memory_archived",
                    ),
                    models.Index(
                        condition=models.Q(("embedding_state", "ready"), _negated=True),
                        fields=["recorded_from"],
                        name="memory_waiting_for_embedding",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("archived_at__isnull", True)), fields=["search_vector"], name="memory_text"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=("tenant", "partition", "content_hash", "source_id"),
                        name="memory_is_unique_among_live",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__regex", "^[a-z][a-z0-9_-]{0,31}$")), name="memory_kind_is_a_word"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content__regex", "\\S")), name="memory_content_is_not_blank"
                    ),
                    models.CheckConstraint(
                        condition=LessThanOrEqual(
                            models.Func(
                                models.F("content"), function="octet_length", output_field=models.IntegerField()
                            ),
                            32768,
                        ),
                        name="memory_content_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="memory_confidence_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("usefulness_score__gte", 0), ("usefulness_score__lte", 1)),
                        name="memory_usefulness_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=LessThanOrEqual(
                            models.Func(
                                models.F("metadata"),
                                function="octet_length",
                                output_field=models.IntegerField(),
                                template="octet_length((%(expressions)s)::text)",
                            ),
                            16384,
                        ),
                        name="memory_metadata_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=Exact(
                            models.Func(models.F("metadata"), function="jsonb_typeof", output_field=models.TextField()),
                            "object",
                        ),
                        name="memory_metadata_is_an_object",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("version__gte", 1)), name="memory_version_starts_at_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_to__isnull", True),
                            models.Q(("archived_at__isnull", False), ("valid_to__gte", models.F("valid_from"))),
                            _connector="OR",
                        ),
                        name="memory_valid_interval",
                    ),
                    models.CheckConstraint(
                        condition=Exact(
                            models.F("search_of"),
                            models.Func(
                                models.Func(models.F("content"), function="md5"),
                                8,
                                function="left",
                                output_field=models.CharField(max_length=32),
                            ),
                        ),
                        name="memory_search_is_of_its_text",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("expires_at__isnull", True), ("expires_at__gt", models.F("created_at")), _connector="OR"
                        ),
                        name="memory_expires_after_creation",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(default="fact", max_length=32)),
                ("content", models.TextField()),
                ("content_hash", models.CharField(max_length=64)),
                ("confidence", models.FloatField(default=0.8)),
                ("pinned", models.BooleanField(default=False)),
                (
                    "metadata",
                    models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder),
                ),
                (
                    "created_at",
                    models.DateTimeField(help_text="When it happened or was said; scoring computes the age from it."),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("source_id", models.CharField(blank=True, default="", max_length=255)),
                ("session", models.CharField(blank=True, default="", max_length=255)),
                ("position", models.PositiveIntegerField(blank=True, null=True)),
                ("partition_path", models.TextField(blank=True, db_collation="C", editable=False)),
                ("tokens_o200k_base", models.PositiveIntegerField(editable=False)),
                ("tokens_cl100k_base", models.PositiveIntegerField(editable=False)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("valid_from", models.DateTimeField(editable=False)),
                ("recorded_from", models.DateTimeField(editable=False)),
                ("search_config", models.CharField(default="english", editable=False, max_length=63)),
                ("search_words", models.TextField(blank=True, editable=False)),
                (
                    "search_lexemes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), editable=False, size=None),
                ),
                ("search_of", models.CharField(editable=False, max_length=8)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="memories.memory",
                    ),
                ),
                ("valid_to", models.DateTimeField()),
                ("recorded_to", models.DateTimeField()),
                (
                    "search_vector",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            "search_config",
                            "content",
                            "search_words",
                            "search_lexemes",
                            function="memories_search_vector",
                        ),
                        output_field=django.contrib.postgres.search.SearchVectorField(),
                    ),
                ),
            ],
            options={
                "ordering": ["memory", "version"],
                "indexes": [
                    models.Index(
                        fields=["tenant", "partition_path", "recorded_to"], name="memory_version_in_partition"
                    ),
                    models.Index(fields=["tenant", "session", "position"], name="memory_version_in_session"),
                    django.contrib.postgres.indexes.GinIndex(fields=["search_vector"], name="memory_version_text"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "version", "tenant"), name="memory_version_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("valid_to__gte", models.F("valid_from"))),
                        name="memory_version_valid_interval",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("recorded_to__gte", models.F("recorded_from"))),
                        name="memory_version_recorded_interval",
                    ),
                    models.CheckConstraint(
                        condition=Exact(
                            models.F("search_of"),
                            models.Func(
                                models.Func(models.F("content"), function="md5"),
                                8,
                                function="left",
                                output_field=models.CharField(max_length=32),
                            ),
                        ),
                        name="version_search_is_of_its_text",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryEmbedding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embeddings",
                        to="memories.memory",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("model", models.CharField(max_length=100)),
                ("dimension", models.PositiveSmallIntegerField()),
                ("vector", pgvector.django.halfvec.HalfVectorField()),
                ("is_current", models.BooleanField(default=True, editable=False)),
                ("partition_path", models.TextField(blank=True, db_collation="C", default="", editable=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "model"], name="embedding_of_tenant"),
                    models.Index(
                        condition=models.Q(("is_current", True)),
                        fields=["tenant", "model", "partition_path"],
                        name="embedding_in_partition",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("memory", "version", "model", "tenant"), name="embedding_is_unique"
                    ),
                    models.CheckConstraint(
                        condition=Exact(
                            models.Func(models.F("vector"), function="vector_dims", output_field=models.IntegerField()),
                            models.F("dimension"),
                        ),
                        name="embedding_has_its_dimension",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="links_out", to="memories.memory"
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="links_in", to="memories.memory"
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True)),
                        fields=("source", "target", "kind", "tenant"),
                        name="link_is_unique_among_live",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source", models.F("target")), _negated=True),
                        name="link_joins_two_memories",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__regex", "^[a-z][a-z0-9_-]{0,31}$")), name="link_kind_is_a_word"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PartitionCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("path", models.TextField(blank=True, db_collation="C")),
                ("own_rows", models.IntegerField(default=0)),
                ("subtree_rows", models.IntegerField(default=0)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("tenant", "path"), name="partition_count_is_one_row")],
            },
        ),
        migrations.CreateModel(
            name="PartitionCountChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("path", models.TextField(blank=True, db_collation="C")),
                ("rows", models.IntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "path"], include=("rows",), name="partition_count_change_at")
                ],
            },
        ),
        migrations.CreateModel(
            name="EmbeddingModel",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embedding_models",
                        to="memories.tenant",
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("dimension", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("filling", "Filling"),
                            ("standby", "Standby"),
                            ("active", "Active"),
                            ("retiring", "Retiring"),
                            ("retired", "Retired"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "is_chosen",
                    models.BooleanField(
                        default=False,
                        help_text="Whether it was requested; otherwise it was the default when the first vector was stored.",
                    ),
                ),
                ("switches_when_filled", models.BooleanField(default=False)),
                (
                    "needed",
                    models.PositiveIntegerField(default=0, help_text="Vectors that were missing when filling began."),
                ),
                ("error", models.CharField(blank=True, default="", max_length=300)),
                ("claim", models.UUIDField(blank=True, null=True)),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("requested_by", models.CharField(blank=True, default="", max_length=150)),
                ("started_at", models.DateTimeField()),
                ("filled_at", models.DateTimeField(blank=True, null=True)),
                ("activated_at", models.DateTimeField(blank=True, null=True)),
                ("deactivated_at", models.DateTimeField(blank=True, null=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["started_at", "name"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "name"), name="embedding_model_is_one_row"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "active")),
                        fields=("tenant",),
                        name="embedding_model_one_is_active",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "filling")),
                        fields=("tenant",),
                        name="embedding_model_one_is_filled",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["filling", "standby", "active", "retiring", "retired"])),
                        name="embedding_model_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("dimension__gte", 1)), name="embedding_model_has_a_dimension"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MissingVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="missing",
                        to="memories.embeddingmodel",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.memory"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("is_refused", models.BooleanField(default=False)),
                ("error", models.CharField(blank=True, default="", max_length=200)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_refused", False)), fields=["model", "id"], name="missing_vector_waiting"
                    ),
                    models.Index(
                        condition=models.Q(("is_refused", True)), fields=["model", "id"], name="missing_vector_refused"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("model", "memory", "version", "tenant"), name="missing_vector_is_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UncomparedMemory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "id"], name="uncompared_of_tenant")],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "version", "tenant"), name="uncompared_version_is_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("near_duplicate", "Near Duplicate"),
                            ("contradiction", "Contradiction"),
                            ("recall_loop", "Recall Loop"),
                            ("replaced", "Replaced"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "older",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                (
                    "newer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.memory"
                    ),
                ),
                (
                    "similarity",
                    models.FloatField(
                        blank=True, help_text="Cosine of their vectors when they were compared, 0 to 1.", null=True
                    ),
                ),
                (
                    "texts_hash",
                    models.CharField(
                        help_text="Hash of both texts and partitions; an edit creates another pair.", max_length=64
                    ),
                ),
                ("found_at", models.DateTimeField()),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("dismissed_at__isnull", True)),
                        fields=["tenant", "kind", "-similarity", "id"],
                        name="memory_pair_most_alike",
                    ),
                    models.Index(
                        condition=models.Q(("dismissed_at__isnull", True)),
                        fields=["tenant", "kind", "-found_at", "id"],
                        name="memory_pair_newest",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("older", "newer", "tenant"), name="memory_pair_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("older", models.F("newer")), _negated=True),
                        name="memory_pair_joins_two_memories",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["near_duplicate", "contradiction", "recall_loop", "replaced"])
                        ),
                        name="memory_pair_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryFinding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("never_retrieved", "Never Retrieved"),
                            ("unhelpful", "Unhelpful"),
                            ("expires_soon", "Expires Soon"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                (
                    "weight",
                    models.PositiveIntegerField(
                        help_text="Tokens (o200k_base), or retrievals in lists about retrieval."
                    ),
                ),
                ("at", models.DateTimeField(help_text="When it was stored, or when it expires.")),
                ("found_at", models.DateTimeField()),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("dismissed_at__isnull", True)),
                        fields=["tenant", "kind", "-weight", "id"],
                        name="memory_finding_heaviest",
                    ),
                    models.Index(
                        condition=models.Q(("dismissed_at__isnull", True)),
                        fields=["tenant", "kind", "at", "-id"],
                        name="memory_finding_earliest",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("memory", "kind", "tenant"), name="memory_finding_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["never_retrieved", "unhelpful", "expires_soon"])),
                        name="memory_finding_kind_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="HygieneAct",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "act",
                    models.CharField(
                        choices=[
                            ("merge", "Merge"),
                            ("archive", "Archive"),
                            ("dismiss", "Dismiss"),
                            ("restore", "Restore"),
                            ("pin", "Pin"),
                            ("unpin", "Unpin"),
                            ("kind", "Kind"),
                            ("move", "Move"),
                            ("replace", "Replace"),
                        ],
                        max_length=8,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "archived_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "link_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        default=list,
                        help_text="Links that it created.",
                        size=None,
                    ),
                ),
                (
                    "pair_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "finding_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "kept",
                    models.JSONField(
                        blank=True,
                        default=list,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="For each kept memory: the values merged into it.",
                    ),
                ),
                (
                    "changed",
                    models.JSONField(
                        blank=True,
                        default=list,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="For each changed memory: id, field and previous value.",
                    ),
                ),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "-at"], name="hygiene_act_newest")],
            },
        ),
        migrations.CreateModel(
            name="TenantMemo",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("tokens_o200k_base", models.PositiveIntegerField()),
                ("tokens_cl100k_base", models.PositiveIntegerField()),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memos",
                        to="memories.tenant",
                    ),
                ),
                ("content", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["-version"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "version"), name="memo_version_is_unique"),
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True)),
                        fields=("tenant",),
                        name="memo_has_one_current_version",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PartitionSummary",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("tokens_o200k_base", models.PositiveIntegerField()),
                ("tokens_cl100k_base", models.PositiveIntegerField()),
                ("recorded_from", models.DateTimeField()),
                ("recorded_to", models.DateTimeField(blank=True, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "partition",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="summaries",
                        to="memories.partition",
                    ),
                ),
                ("summary_id", models.UUIDField(default=uuid.uuid4, editable=False)),
                (
                    "style",
                    models.CharField(
                        choices=[("compact", "Compact"), ("detailed", "Detailed")], default="compact", max_length=8
                    ),
                ),
                ("content", models.TextField()),
                (
                    "origin",
                    models.CharField(
                        choices=[("operator", "Operator"), ("agent", "Agent"), ("rollup", "Roll Up")], max_length=8
                    ),
                ),
                (
                    "summariser",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="What wrote a roll-up; blank for people and agents.",
                        max_length=32,
                    ),
                ),
                (
                    "is_fallback",
                    models.BooleanField(default=False, help_text="The model failed, so rules wrote the roll-up."),
                ),
            ],
            options={
                "ordering": ["partition", "style", "-version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "summary_id", "version"), name="summary_version_is_unique"
                    ),
                    models.UniqueConstraint(
                        fields=("partition", "style", "version", "tenant"), name="summary_of_style_is_one_row"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("recorded_to__isnull", True)),
                        fields=("partition", "style", "tenant"),
                        name="summary_has_one_current_version",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("style__in", ["compact", "detailed"])), name="summary_style_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["operator", "agent", "rollup"])),
                        name="summary_origin_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content__regex", "\\S")), name="summary_content_is_not_blank"
                    ),
                    models.CheckConstraint(
                        condition=LessThanOrEqual(
                            models.Func(
                                models.F("content"), function="octet_length", output_field=models.IntegerField()
                            ),
                            32768,
                        ),
                        name="summary_content_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("recorded_to__isnull", True),
                            ("recorded_to__gte", models.F("recorded_from")),
                            _connector="OR",
                        ),
                        name="summary_recorded_interval",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Snapshot",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snapshots",
                        to="memories.tenant",
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("recorded_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.CharField(blank=True, default="", max_length=150)),
            ],
            options={
                "ordering": ["-recorded_at", "name"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "name"), name="snapshot_name_is_unique"),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^\\S(.*\\S)?$")), name="snapshot_name_is_trimmed"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("recorded_at__lte", models.F("created_at"))), name="snapshot_is_of_the_past"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RetrievalTick",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("api_key_prefix", models.CharField(blank=True, default="", max_length=8)),
                (
                    "context_partition",
                    models.TextField(
                        blank=True,
                        db_collation="C",
                        default="",
                        help_text="And, after //, the segments that the context required.",
                    ),
                ),
                ("memory_ids", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
                (
                    "recalled_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(blank=True, max_length=64), default=list, size=None
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "id"], name="retrieval_tick_of_tenant")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("recalled_hashes__len", models.F("memory_ids__len"))),
                        name="retrieval_tick_has_pairs",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RecalledText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                ("recalled_hash", models.CharField(max_length=64)),
                (
                    "api_key_prefix",
                    models.CharField(
                        blank=True, default="", help_text="Of the receiver; empty for none.", max_length=8
                    ),
                ),
                (
                    "context_partition",
                    models.TextField(
                        blank=True,
                        db_collation="C",
                        default="",
                        help_text="And, after //, the segments that the context required.",
                    ),
                ),
                (
                    "first_recalled_at",
                    models.DateTimeField(blank=True, help_text="Empty if it was not recorded.", null=True),
                ),
                ("recalled_at", models.DateTimeField(help_text="Last time it was rendered, to within an hour.")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant", "recalled_hash"], name="recalled_text_by_hash"),
                    models.Index(fields=["recalled_at"], name="recalled_text_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("memory", "recalled_hash", "api_key_prefix", "context_partition", "tenant"),
                        name="recalled_text_is_unique",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.tenant"
                    ),
                ),
                (
                    "api_key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.apikey",
                    ),
                ),
                ("idempotency_key", models.CharField(max_length=255)),
                ("request_hash", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("answer", models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder, null=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="idempotency_record_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("api_key", "idempotency_key", "tenant"), name="idempotency_key_is_unique"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.tenant",
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[("operator", "Operator"), ("key", "Key"), ("system", "System")], max_length=8
                    ),
                ),
                ("actor_id", models.CharField(blank=True, default="", max_length=150)),
                ("actor_label", models.CharField(blank=True, default="", max_length=150)),
                ("verb", models.CharField(max_length=64)),
                ("target_kind", models.CharField(max_length=64)),
                (
                    "target_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=150), default=list, size=None
                    ),
                ),
                (
                    "fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), blank=True, default=list, size=None
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        blank=True, default="", help_text="The reason that the actor gave, where one is required."
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(fields=["tenant", "-at"], name="audit_newest"),
                    models.Index(fields=["tenant", "actor_id", "-at"], name="audit_of_actor"),
                    models.Index(fields=["tenant", "target_kind", "-at"], name="audit_of_kind"),
                    django.contrib.postgres.indexes.GinIndex(fields=["target_ids"], name="audit_about"),
                ],
            },
        ),
    ]
