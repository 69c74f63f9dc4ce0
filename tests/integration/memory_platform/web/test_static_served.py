"""The static files that `collectstatic` produces: hashed and compressed."""

import gzip
from pathlib import Path
from typing import Any

from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

from tests.architecture import ROOT

STYLESHEET = "css/tabler.css"
SERVED = {"staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}}


def test_stylesheet_is_served_compressed_under_its_hashed_name(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = settings.STORAGES | SERVED
    settings.STATIC_ROOT = tmp_path
    settings.STATICFILES_DIRS = [ROOT / "static"]
    # each start also collects the files of packages, which takes seconds
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    for _ in range(2):  # the second time, nothing is copied, because nothing has changed
        call_command("collectstatic", interactive=False, verbosity=0)
        name = CompressedManifestStaticFilesStorage().stored_name(STYLESHEET)
        assert name != STYLESHEET
        served = (tmp_path / name).read_text()
        assert ".btn-primary" in served
        assert ".carousel" not in served
        assert gzip.decompress((tmp_path / f"{name}.gz").read_bytes()).decode() == served
        assert len((tmp_path / f"{name}.gz").read_bytes()) < 40_000
