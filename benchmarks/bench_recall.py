"""Compare scoring profiles over corpora: `python -m benchmarks.bench_recall FOLDER... [--profiles A,B] [--out FILE]`.

Each question is asked at the time stored with it, at each budget and with each profile, through the production
assembly. Without FOLDER, all corpora of the benchmarks are measured. A conversation of the LoCoMo data set (which is
not part of this project) is a corpus too; with `--late`, its questions are asked long after its end.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_signals import LATE
from benchmarks.database import stage_corpus, throwaway_database
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import read_corpus
from context.services.evaluation.evidence import QuestionMeasures, estimate_means
from context.services.profiles.scoring_profiles import SHIPPED_PROFILES, ScoringProfile

HERE = Path(__file__).parent
LEARNING = sorted((HERE / "learning").iterdir())
CORPORA = [*LEARNING, *sorted((HERE / "corpora").iterdir()), *sorted((HERE / "held_out").iterdir())]
BUDGETS_TOKENS = (250, 500, 1000, 4000)
#: Simple rankings with which every profile is compared.
BASELINES = {
    "cosine": {"relevance": 1.0},
    "cosine-words": {"relevance": 0.65, "lexical_overlap": 0.35},
}

#: For each question: its category, and for each profile the share of the evidence at each budget, and whether evidence
#: comes first.
Answers = list[tuple[str, Mapping[str, list[float]]]]


def comparable_profiles() -> dict[str, ScoringProfile]:
    """Return the shipped profiles and the baselines, by name."""
    baselines = {name: ScoringProfile(name, 1, weights, pool_size=200) for name, weights in BASELINES.items()}
    return {**baselines, **SHIPPED_PROFILES}


def measure_corpus(path: Path, profiles: Mapping[str, ScoringProfile], *, is_late: bool) -> Answers:
    """Return the answers to each question of a corpus, which is loaded once."""
    from context.evaluation.corpora import EvaluationCorpus
    from context.evaluation.measurement import EvaluationSettings, measure_question

    corpus = read_corpus(path)
    tenant_id, ids = stage_corpus(corpus, LATE)
    answers: Answers = []
    for question in EvaluationCorpus(corpus.name, "", corpus).questions(ids):
        dated = replace(question, asked_at=LATE, as_of=None) if is_late else question
        measured: dict[str, list[float]] = {}
        for name, profile in profiles.items():
            settings = EvaluationSettings(tenant_id, profile, "greedy", "top_down", BUDGETS_TOKENS)
            measured[name] = _values(measure_question(dated, settings))
        answers.append((question.category, measured))
    return answers


def _values(measures: Mapping[str, Any]) -> list[float]:
    measured = [QuestionMeasures(**measures[str(budget)]["measured"]) for budget in BUDGETS_TOKENS]
    is_first = measured[BUDGETS_TOKENS.index(1000)].is_current_first
    return [*(one.held / one.evidence for one in measured), np.nan if is_first is None else float(is_first)]


def print_answers(title: str, answers: Answers, names: Sequence[str], baseline: str) -> None:
    """Print a line for each profile, with intervals and the difference from the baseline, and one for each category."""
    print(f"\n{title}: {len(answers)} questions; evidence in {BUDGETS_TOKENS} tokens, right time first", flush=True)
    columns = {name: np.array([measured[name] for _, measured in answers]) for name in names}
    for name in names:
        intervals = [f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in estimate_means(columns[name]) if one]
        print(f"  {name:<20} " + "  ".join(intervals))
        if baseline in columns and name != baseline:
            gains = estimate_means(columns[name] - columns[baseline])
            intervals = [f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]" for one in gains if one]
            print(f"  {'- ' + baseline:>20} " + "  ".join(intervals))
    categories = [category for category, _ in answers]
    for category in sorted(set(categories)) if len(set(categories)) > 1 else ():
        places = [place for place, one in enumerate(categories) if one == category]
        print(f"  {category} ({len(places)})")
        for name in names:
            values = columns[name][places]
            means = [np.nanmean(column) if np.isfinite(column).any() else np.nan for column in values.T]
            print(f"    {name:<20} " + "  ".join(f"{mean:.3f}" for mean in means))


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("corpora", type=Path, nargs="*", default=CORPORA, metavar="FOLDER")
    parser.add_argument("--profiles", default="", help="names, with commas between (all)")
    parser.add_argument("--late", action="store_true", help="ask long after the memories have ended")
    parser.add_argument("--out", type=Path, help="write the answers as JSON as well")
    options = parser.parse_args()
    known = comparable_profiles()
    names = options.profiles.split(",") if options.profiles else list(known)
    results: dict[str, Answers] = {}
    with throwaway_database():
        for path in options.corpora:
            results[path.name] = measure_corpus(path, {name: known[name] for name in names}, is_late=options.late)
            print_answers(path.name, results[path.name], names, "cosine-words")
            if options.out:
                options.out.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
