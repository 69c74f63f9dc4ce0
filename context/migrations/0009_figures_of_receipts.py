"""Receipts: latency and budget as columns of their own, and an index that holds all that curves are made of."""

from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast


class Migration(migrations.Migration):
    dependencies = [("context", "0008_scoring_profiles")]

    operations = [
        migrations.AddField(
            model_name="receipt",
            name="latency_ms",
            field=models.GeneratedField(
                db_persist=True,
                expression=Cast(KeyTextTransform("total", "timings"), models.FloatField()),
                null=True,
                output_field=models.FloatField(),
            ),
        ),
        migrations.AddField(
            model_name="receipt",
            name="max_tokens",
            field=models.GeneratedField(
                db_persist=True,
                expression=Cast(KeyTextTransform("max_tokens", "budget"), models.IntegerField()),
                null=True,
                output_field=models.IntegerField(),
            ),
        ),
        migrations.AddIndex(
            model_name="receipt",
            index=models.Index(
                fields=["tenant", "created_at"],
                include=("latency_ms", "tokens_used", "max_tokens"),
                name="receipt_figures",
            ),
        ),
    ]
