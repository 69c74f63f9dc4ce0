"""Foreign keys whose column another index begins with need no index of their own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("context", "0005_budget_profile_memory_days_and_elastic_fill"),
        ("memories", "0008_drop_redundant_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="budgetprofile",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="budget_profiles",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="evaluationanswer",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="answers",
                to="context.evaluationrun",
            ),
        ),
        migrations.AlterField(
            model_name="evaluationrun",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="evaluations",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="receipt",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=models.SET_NULL,
                related_name="feedback",
                to="context.receipt",
            ),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="tenant",
            field=models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="memories.tenant"),
        ),
        migrations.AlterField(
            model_name="goldenmemory",
            name="question",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="wanted",
                to="context.goldenquestion",
            ),
        ),
        migrations.AlterField(
            model_name="goldenquestion",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="golden_questions",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="receipt",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="receipts",
                to="memories.tenant",
            ),
        ),
        migrations.AlterField(
            model_name="scoringprofileversion",
            name="tenant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="scoring_profiles",
                to="memories.tenant",
            ),
        ),
    ]
