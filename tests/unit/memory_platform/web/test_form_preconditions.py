"""Every form of the console that edits a row sends the state that it was opened with, or is a listed exception."""

import re
from pathlib import Path

import pytest

from tests.console_roles import RULES

TEMPLATES = Path(__file__).resolve().parents[4] / "templates"
#: The field with that state, and the template with the form, by the URL name that the form is sent to.
STATED = {
    "alerts": ("replaces", "compaction/alerts/_alert_rules.html"),
    "budget": ("edited_from", "context/profiles/_budget_effect.html"),
    "budgets": ("edited_from", "context/profiles/_budget_effect.html"),
    "budget-assignments": ("shown", "context/profiles/_assignments.html"),
    "budget-assignment-end": ("replaces", "context/profiles/_assignments.html"),
    "budget-rollback": ("replaces", "context/profiles/profile_action.html"),
    "budget-keep": ("edited_from", "context/profiles/budget_keep.html"),
    "compaction": ("edit_version", "compaction/review/_review_summary.html"),
    "compaction-append": ("edit_version", "compaction/review/_review_retention.html"),
    "compaction-approve": ("edit_version", "compaction/review/_review_head.html"),
    "compaction-mark-reviewed": ("edit_version", "compaction/review/_review_head.html"),
    "compaction-reject": ("edit_version", "compaction/review/_review_head.html"),
    "compaction-swap": ("edit_version", "compaction/review/_review_candidate.html"),
    "erasure": ("shown", "compaction/erasure/erasure.html"),
    "erasures": ("shown", "compaction/erasure/erasures.html"),
    "golden-question": ("seen", "context/evaluation/golden_question.html"),
    "member-role": ("replaces", "memories/tenancy/members.html"),
    "memo": ("seen_version", "memories/partitions/_text_form.html"),
    "memory-import-export": ("seen", "memories/store/import_export.html"),
    "memory-version-restore": ("seen_version", "memories/store/_memory_history.html"),
    "memory": ("seen_version", "memories/store/_memory_form.html"),
    "partitions": ("seen_version", "memories/partitions/_text_form.html"),
    "prompt-rollback": ("edited_from", "compaction/pipeline/prompts.html"),
    "prompts": ("edited_from", "compaction/pipeline/prompts.html"),
    "retention-remove": ("replaces", "compaction/erasure/erasures.html"),
    "saved-view-change": ("replaces", "memories/tenancy/_saved_views.html"),
    "scoring-assignments": ("shown", "context/profiles/_assignments.html"),
    "scoring-rollback": ("replaces", "context/profiles/profile_action.html"),
    "scoring-assignment-end": ("replaces", "context/profiles/_assignments.html"),
    "scoring-profile": ("edited_from", "context/profiles/_scoring_form.html"),
    "scoring-publish": ("replaces", "context/profiles/scoring_publish.html"),
    "summary-withdraw": ("seen_version", "compaction/rollups/_partition_summary.html"),
    "tenant-settings": ("replaces", "memories/tenancy/tenant_settings.html"),
}
#: Addresses that change rows without it, by the reason why nobody's change is lost.
WITHOUT = {
    "adds a row, a vote, a link or a job": {
        *("alert-destination-add", "alert-destination-test", "api-keys", "budget-create", "embedding-comparison"),
        *("embeddings", "embedding-retry", "erase", "evaluation-retry", "evaluations", "golden-collect", "golden-new"),
        *("golden-evidence-add", "invitation-create", "member-add", "memory-link", "memory-votes", "message-expand"),
        *("roll-ups", "run-retry", "saved-view-create", "scoring-create", "session-compact", "snapshots"),
        *("compaction-regenerate",),
    },
    "adds a memory; a source ID that exists is refused": {"memory-new"},
    "takes effect once, on a row in the right state, which the action checks": {
        *("alert-destination-remove", "alert-destination-restore", "api-key-revoke", "budget-retire", "budget-restore"),
        *("embedding-retire", "embedding-switch", "evaluation-cancel", "evaluation-delete"),
        *("golden-evidence-remove", "golden-remove", "golden-restore", "invitation-revoke", "member-remove"),
        *("member-second-factor", "memory-archive", "memory-link-remove", "memory-link-restore", "memory-pin"),
        *("memory-restore", "memory-unpin", "message-pin", "message-unpin", "saved-view-delete", "saved-view-restore"),
        *("scoring-retire", "snapshot-delete", "vote-restore", "vote-withdraw", "compaction-reopen"),
        *("compaction-rollback", "compaction-strike", "compaction-undo-approval"),
    },
    "changes only the rows that the question before it showed": {"hygiene-bulk", "memories-bulk"},
    "leaves what has changed since": {"activity-undo", "hygiene-bulk-undo", "memories-bulk-undo"},
    "undoes an end or a withdrawal, unless something else is active since": {
        *("budget-assignment-undo", "scoring-assignment-undo", "summary-restore"),
    },
    "a name, which is unique": {"budget-rename"},
    "undoes the page's own append": {"compaction-withdraw"},
    "stores nothing that others see": {
        *("account", "compaction-presence", "compaction-trial", "context-address", "context-explain", "first-receipt"),
        *("first-steps-dismiss", "first-steps-show", "password-change", "second-factor", "shortcuts", "text-tokens"),
    },
}
ADDRESSES = {name for name, rule in RULES.items() if rule.change is not None}


def test_every_address_that_changes_something_is_known() -> None:
    reasoned = set().union(*WITHOUT.values())
    assert reasoned | STATED.keys() == ADDRESSES
    assert reasoned & STATED.keys() == set()
    assert sum(map(len, WITHOUT.values())) == len(reasoned)


@pytest.mark.parametrize("name", STATED)
def test_form_names_the_state_that_it_was_opened_with(name: str) -> None:
    field, template = STATED[name]
    text = (TEMPLATES / template).read_text()
    assert re.search(rf'<input type="hidden" name="{field}" value="{{[{{%]', text), f"{template} has no {field}"


def test_every_form_with_such_an_address_has_the_field() -> None:
    found = set()
    for path in TEMPLATES.rglob("*.html"):
        for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.DOTALL):
            head = form.partition("{% csrf_token %}")[0]
            for name in re.findall(r'{% url "([\w-]+)"', head):
                if name in STATED and 'method="post"' in head:
                    found.add(name)
                    assert f'name="{STATED[name][0]}"' in form, f"{path}: {name}"
    assert len(found) > 15, "the others are sent to the address of their page, or to one that the view passes"
