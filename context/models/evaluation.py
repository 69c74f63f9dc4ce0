"""Evaluations: runs of a corpus, their answers, and the golden questions of a tenant."""

import hashlib
import uuid
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5

from context.evaluation import queries
from context.models.profiles import BudgetProfile
from memories.models import Memory, Tenant
from memories.models.tenancy import check, one_of, unique
from memory_platform.web.numerals import versioned_name

BUDGETS_MAX = 24


class EvaluationRun(models.Model):
    """One corpus measured with one scoring profile and packer at several budgets. A worker claims it for a time."""

    class Corpus(models.TextChoices):
        GOLDEN = "golden", "golden questions of this tenant"
        GOLDEN_COPY = "golden_copy", "golden questions with a copy of their memories"
        UPDATED_FACTS = "updated_facts", "updated facts (built in)"
        UPLOAD = "upload", "an uploaded corpus"
        FILE = "file", "a file that the command read"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="evaluations", db_index=False)
    corpus_kind = models.CharField(max_length=16, choices=Corpus)
    corpus_name = models.CharField(max_length=100)
    corpus_sha256 = models.CharField(max_length=64)
    corpus_text = models.TextField(default="", blank=True, help_text="The lines of an uploaded corpus.")
    profile_name = models.CharField(max_length=64)
    profile_version = models.PositiveIntegerField()
    profile_numbers = models.JSONField(help_text="All settings of the scoring profile used.")
    packer = models.CharField(max_length=16, choices=BudgetProfile.Packer)
    ordering = models.CharField(max_length=16, choices=BudgetProfile.Ordering)
    budgets = ArrayField(models.PositiveIntegerField(), help_text="Tokens, from the smallest on.")
    embedder_model = models.CharField(
        max_length=200, default="", blank=True, help_text="Set before the run for the model that a copy is embedded by."
    )
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED)
    step = models.CharField(max_length=32, default="", blank=True, help_text="What it is doing, or did last.")
    done = models.PositiveIntegerField(default=0, help_text="Questions asked.")
    total = models.PositiveIntegerField(default=0, help_text="Questions of the corpus; 0 before it was read.")
    results = models.JSONField(default=dict, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_detail = models.CharField(max_length=300, default="", blank=True)
    created_by = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = queries.EvaluationRunQuerySet.as_manager()

    class Meta:
        constraints = [
            one_of("state", ["queued", "running", "done", "failed", "cancelled"], "evaluation_state_is_known"),
            check(Q(budgets__len__gte=1) & Q(budgets__len__lte=BUDGETS_MAX), "evaluation_budgets_are_bounded"),
            check(Q(done__lte=F("total")), "evaluation_asks_no_more_than_all"),
        ]
        indexes = [
            models.Index(F("tenant"), F("created_at").desc(), F("id"), name="evaluation_newest"),
            models.Index(
                fields=["claimed_until"], condition=Q(state__in=["queued", "running"]), name="evaluation_open"
            ),
        ]

    def __str__(self) -> str:
        return f"evaluation {self.id}"

    @property
    def is_open(self) -> bool:
        """Whether it is queued or running."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def label(self) -> str:
        """A name that distinguishes the run from others on its corpus."""
        label = f"{versioned_name(self.profile_name, self.profile_version)}, {self.packer}"
        return f"{label}, {self.embedder_model}" if self.corpus_kind == self.Corpus.GOLDEN_COPY else label


class EvaluationAnswer(models.Model):
    """The measures of one question of a run by budget, so that two runs can be compared question by question."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(EvaluationRun, on_delete=models.CASCADE, related_name="answers", db_index=False)
    position = models.PositiveIntegerField(help_text="Place of the question in its corpus, from 0.")
    question_id = models.CharField(max_length=255)
    category = models.CharField(max_length=64, default="", blank=True)
    measures = models.JSONField(help_text="By budget: evidence included, tokens and milliseconds.")

    objects = queries.EvaluationAnswerQuerySet.as_manager()

    class Meta:
        constraints = [unique("evaluation_answers_each_question_once", "run", "question_id", "tenant")]

    def __str__(self) -> str:
        return f"answer to {self.question_id}"

    @property
    def evidence_shares(self) -> dict[int, float]:
        """The share of the evidence (0..1) that the context included, by budget in tokens."""
        found = {int(budget): each["measured"] for budget, each in self.measures.items()}
        return {budget: measured["held"] / measured["evidence"] for budget, measured in found.items()}


class GoldenQuestion(models.Model):
    """A question and the memories that its context should include. A removed one can be restored."""

    #: The columns that an edit changes.
    EDITED = ("text", "answer", "category", "as_of", "max_tokens")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="golden_questions", db_index=False)
    text = models.TextField()
    answer = models.TextField(default="", blank=True, help_text="Words of the correct answer, if known.")
    category = models.CharField(max_length=64, default="", blank=True)
    partition_path = models.TextField(default="", blank=True, db_collation="C")
    as_of = models.DateTimeField(
        null=True, blank=True, help_text="The valid time that the question is about; empty: now."
    )
    max_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="The budget that it was asked with; empty: that of the profile."
    )
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150, default="", blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    memories: "models.ManyToManyField[Memory, GoldenMemory]" = models.ManyToManyField(
        Memory, through="GoldenMemory", related_name="golden_questions"
    )

    objects = queries.GoldenQuestionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("tenant"),
                MD5("text"),
                MD5("partition_path"),
                F("as_of"),
                condition=Q(removed_at__isnull=True),
                nulls_distinct=False,
                name="golden_question_is_asked_once",
            ),
            check(~Q(text=""), "golden_question_has_words"),
            check(Q(max_tokens__isnull=True) | Q(max_tokens__gte=1), "golden_question_budget_is_positive"),
        ]
        indexes = [models.Index(F("tenant"), F("created_at").desc(), F("id"), name="golden_question_newest")]

    def __str__(self) -> str:
        return f"golden question {self.id}"

    def edited_values(self) -> dict[str, Any]:
        """Return what edits change: the columns, and the ids of the memories."""
        ids = sorted(str(pk) for pk in self.evidence.values_list("memory_id", flat=True))
        return {name: getattr(self, name) for name in self.EDITED} | {"memories": ids}

    def state_hash(self) -> str:
        """Return a hash of the fields that an edit of the question can change."""
        values = [getattr(self, name) for name in self.EDITED]
        return hashlib.sha256(repr(values).encode()).hexdigest()


class GoldenMemory(models.Model):
    """A memory that the context of a golden question should include."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    question = models.ForeignKey(GoldenQuestion, on_delete=models.CASCADE, related_name="evidence", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")

    objects = queries.GoldenMemoryQuerySet.as_manager()

    class Meta:
        constraints = [unique("golden_memory_is_wanted_once", "question", "memory", "tenant")]

    def __str__(self) -> str:
        return f"{self.memory_id} for {self.question_id}"
