"""Scoring profiles and runs from before ADR-0119: superseded memories stay where they are, one set of weights."""

from django.db import migrations

#: The owner is confined too, so row security is not forced meanwhile. Other triggers of these tables count changes.
_ADD = """
ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
UPDATE {table} SET {column} = {column} || '{{"superseded_min": 0.0, "conversation_weights": null}}'::jsonb
WHERE NOT {column} ? 'superseded_min';
ALTER TABLE {table} FORCE ROW LEVEL SECURITY
"""
_REMOVE = """
ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
UPDATE {table} SET {column} = {column} - 'superseded_min' - 'conversation_weights'
WHERE {column}->>'superseded_min' = '0.0' AND {column}->'conversation_weights' = 'null'::jsonb;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY
"""
_COLUMNS = (("context_scoringprofileversion", "numbers"), ("context_evaluationrun", "profile_numbers"))


class Migration(migrations.Migration):
    dependencies = [("context", "0008_golden_question_names")]

    operations = [
        migrations.RunSQL(_ADD.format(table=table, column=column), _REMOVE.format(table=table, column=column))
        for table, column in _COLUMNS
    ]
