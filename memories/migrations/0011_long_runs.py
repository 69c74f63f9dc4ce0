"""Long runs of signs are cut before Postgres parses them, or a text of 32 KiB keeps it busy for half a minute."""

from django.db import migrations

VECTOR = """
CREATE OR REPLACE FUNCTION memories_search_vector(config text, content text, words text, lexemes text[])
RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    language CONSTANT regconfig := ('pg_catalog.' || quote_ident(config))::regconfig;
    readable CONSTANT text := {readable};
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
# From each of these signs the parser looks for an address up to the end of the run, so its time is the run's length
# squared. Other texts keep their vectors as they are: nothing has to be derived anew.
CUT = "CASE WHEN content ~ '[!-~]{250}' THEN translate(content, '_~', '  ') ELSE content END"


class Migration(migrations.Migration):
    dependencies = [("memories", "0010_counts_and_places")]

    operations = [
        migrations.RunSQL(VECTOR.replace("{readable}", CUT), VECTOR.replace("{readable}", "content")),
    ]
