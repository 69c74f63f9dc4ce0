"""The methods that each address of the console accepts, and the roles that may use them; all addresses are listed."""

from dataclasses import dataclass

from memory_platform.web.roles import Role

VIEWER, _OPERATOR, ADMIN = Role


@dataclass(frozen=True)
class RoleRule:
    """The lowest role that may read an address, and the lowest that may post to it; None if it rejects the method."""

    read: Role | None
    change: Role | None

    def least(self, method: str) -> Role | None:
        return self.read if method == "get" else self.change


#: The lowest role to read, the lowest role to post, and the names of the addresses.
TABLE: dict[tuple[Role | None, Role | None], set[str]] = {
    (VIEWER, None): {
        *("overview", "health", "health-summary", "design", "job-notifications", "search", "tenant-overview", "jobs"),
        *("memories", "hygiene", "hygiene-list", "hygiene-progress", "summaries", "snapshot", "audit-log", "activity"),
        *("memory-findings", "palette", "members"),
        *("context-preview", "context-compare", "inclusion-budget", "context-suggest", "budget-curve"),
        *(
            "context-log",
            "context-export",
            "audit-export",
            "agents",
            "receipt",
            "budget-compare",
            "budget-effect",
            "evaluation",
        ),
        *("golden-questions", "golden-export", "scoring-profiles", "scoring-compare", "scoring-effect"),
        *("sessions", "session", "session-simulate", "reviews", "compaction-compare", "partition-children"),
    },
    (VIEWER, _OPERATOR): {
        "context-explain",
        *("memory", "memories-bulk", "hygiene-bulk", "memo", "snapshots", "memory-votes"),
        *("budgets", "budget", "budget-assignments", "evaluations", "golden-question", "embedding-comparison"),
        *("scoring-profile", "scoring-assignments", "partitions", "roll-ups", "session-compact", "compaction"),
    },
    (VIEWER, VIEWER): {"account", "password-change", "second-factor"},
    (VIEWER, ADMIN): {"alerts", "embeddings", "tenant-settings"},
    (_OPERATOR, None): {"memory-merge"},
    (ADMIN, None): {"memory-export"},
    (_OPERATOR, _OPERATOR): {
        *("memory-import-export", "memory-new"),
        *(
            "snapshot-delete",
            "budget-rollback",
            "budget-rename",
            "evaluation-delete",
            "golden-new",
            "compaction-rollback",
            "budget-keep",
        ),
    },
    (ADMIN, ADMIN): {
        *("erase", "erasures", "erasure"),
        *(
            "api-keys",
            "api-key-revoke",
            "member-remove",
            "member-second-factor",
            "embedding-switch",
            "embedding-retire",
            "prompts",
        ),
        *("scoring-publish", "scoring-rollback", "scoring-retire"),
    },
    # None of them changes what others see: a choice in a cookie, the presence at a compaction, a long query.
    (None, VIEWER): {
        *("shortcuts", "compaction-presence", "context-address"),
        *("saved-view-create", "saved-view-change", "saved-view-delete", "saved-view-restore"),
        *("first-receipt", "first-steps-dismiss", "first-steps-show"),
    },
    (None, _OPERATOR): {
        *("memory-archive", "memory-restore", "memory-pin", "memory-unpin", "memory-version-restore"),
        *("memory-link", "memory-link-remove", "memory-link-restore"),
        *("memories-bulk-undo", "hygiene-bulk-undo", "text-tokens", "summary-withdraw", "summary-restore"),
        *("budget-retire", "budget-restore"),
        *("vote-restore", "vote-withdraw", "budget-create", "budget-assignment-end", "budget-assignment-undo"),
        *("evaluation-cancel", "evaluation-retry", "golden-collect", "golden-remove", "golden-restore"),
        *(
            "golden-evidence-add",
            "golden-evidence-remove",
            "scoring-create",
            "scoring-assignment-end",
            "scoring-assignment-undo",
        ),
        *("message-pin", "message-unpin", "message-expand", "run-retry"),
        *("compaction-trial", "compaction-append", "compaction-withdraw", "compaction-approve", "compaction-swap"),
        *("compaction-strike", "compaction-undo-approval", "activity-undo"),
        *("compaction-reject", "compaction-reopen", "compaction-regenerate", "compaction-mark-reviewed"),
    },
    (None, ADMIN): {
        *("member-add", "member-role", "invitation-create", "invitation-revoke"),
        *("embedding-retry", "prompt-rollback", "retention-remove"),
        *(f"alert-destination-{act}" for act in ("add", "test", "remove", "restore")),
    },
}
RULES = {name: RoleRule(*least) for least, names in TABLE.items() for name in names}
