"""Rules import neither Django nor anything that reaches the network, in a fresh interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = sorted(
    path for app in ("memories", "context", "compaction") for path in (ROOT / app / "services").rglob("*.py")
)


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: ".".join(path.relative_to(ROOT).parts))
def test_service_imports_without_django(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    program = f"import {module}, sys; print(sorted({{'django', 'psycopg', 'openai', 'redis'}} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
