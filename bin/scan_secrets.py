"""Look for credentials in the tracked files; print the files and the kinds of credentials, never the text.

python bin/scan_secrets.py
"""

import re
import subprocess
import sys
from pathlib import Path

#: Formats of credentials; a text that looks like one is a leak or must be written differently.
SECRETS = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=\s]{40}",
    "AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60})",
    "Google": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "OpenAI or Anthropic": r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
    "Slack": r"\bxox[abeoprs]-[0-9A-Za-z-]{20,}",
    "Stripe": r"\b[rs]k_live_[0-9A-Za-z]{20,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{15,}",
    "key of the platform": r"\b[A-Za-z0-9]{8}\.(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{32}\b",
}
#: Larger files are token tables, images and stylesheets.
SCANNED_BYTES_MAX = 200_000


def tracked_texts(root: Path) -> list[Path]:
    """Return the texts of tracked files that are small enough to be written by people."""
    listed = ["git", "ls-files", "-z"]
    names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = [root / name for name in names.split("\0") if name]
    return [path for path in paths if path.is_file() and path.stat().st_size < SCANNED_BYTES_MAX]


def main(root: Path) -> int:
    """Return 1 if any file has a credential."""
    paths, is_clean = tracked_texts(root), True
    for path in paths:
        text = path.read_bytes().decode("utf-8", "ignore")
        for name in [name for name, pattern in SECRETS.items() if re.search(pattern, text)]:
            sys.stderr.write(f"{path.relative_to(root)}: looks like a credential ({name})\n")
            is_clean = False
    sys.stdout.write(f"Credentials: {'none in' if is_clean else 'found in some of'} {len(paths):,} files.\n")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))
