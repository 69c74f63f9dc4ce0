"""`python -m tests.behaviour record OUT.json.gz`, `compare BEFORE AFTER`, and `examples` for the API documentation."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.behaviour.compare import PARTS, compare
from tests.behaviour.examples import record_examples, write_examples
from tests.behaviour.names import read_names
from tests.behaviour.recording import read_recording, record, write_recording
from tests.behaviour.server import running_server

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "memory_platform" / "rest" / "api_examples.json"


def main() -> int:
    """Run the command line; return 1 if two recordings differ."""
    wanted = _parser().parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # so that the server is stopped as well
        signal.signal(number, _stop)
    if wanted.command == "examples":
        with running_server(PROJECT) as server:
            examples, missing = record_examples(server)
        write_examples(EXAMPLES, examples)
        print(f"{len(examples)} operations; without a successful answer: {', '.join(missing) or 'none'}")
        return 0
    names = read_names(wanted.names)
    if wanted.command == "compare":
        parts = wanted.only.split(",") if wanted.only else list(PARTS)
        before, after = read_recording(wanted.before), read_recording(wanted.after)
        return int(compare(before, after, names, parts, is_silent=wanted.counts))
    with running_server(wanted.checkout) as server:
        write_recording(wanted.out, record(server, names))
    return 0


def _stop(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="start the server of a checkout and record what it answers")
    recording.add_argument("out", type=Path, metavar="OUT.json.gz")
    recording.add_argument(
        "--checkout", type=Path, default=PROJECT, help="a checkout with its .venv; default: this one"
    )
    commands.add_parser("examples", help="record the examples of the API's documentation from this checkout")
    comparing = commands.add_parser("compare", help="list what differs; exit 1 when anything does")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--only", default="", help=f"parts with commas: {', '.join(PARTS)}")
    comparing.add_argument("--counts", action="store_true", help="print the counts alone")
    for each in (recording, comparing):
        each.add_argument("--names", type=Path, help="what was renamed: JSON with fields, codes, paths and texts")
    return parser


if __name__ == "__main__":
    sys.exit(main())
