"""Compare the processor time of scoring profiles: `python -m benchmarks.bench_profile_speed CORPUS...`.

All corpora (folders, or conversations of the LoCoMo data set, which is not part of this project) are loaded into one
tenant of a temporary database. Their questions are asked in the whole tenant, with each profile in turn, as previews.
Prints the median processor time in milliseconds of this process and its database process, and its ratio to that of the
default profile.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.bench_signals import LATE
from benchmarks.database import benchmark_actor, stage_corpus, throwaway_database
from benchmarks.timing import Stopwatch, alternately, argument_parser
from context.services.evaluation.corpus import Corpus, CorpusQuestion, read_corpus
from context.services.profiles.scoring_profiles import ADR_0040, SHIPPED_PROFILES

BUDGETS_TOKENS = (250, 1000, 4000)
_WARM_UP_QUESTIONS = 3


def read_together(paths: list[Path]) -> Corpus:
    """Return one corpus with all memories and questions; ids are prefixed with the number of their corpus."""
    corpora = [read_corpus(path) for path in paths]
    memories = [replace(one, id=f"{number}-{one.id}") for number, each in enumerate(corpora) for one in each.memories]
    return replace(corpora[0], memories=memories, questions=[one for each in corpora for one in each.questions])


def measure_profiles(corpus: Corpus, count: int) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each budget with the median milliseconds of a context by profile."""
    from context.assembly.orchestrator import assemble_context
    from context.assembly.sources import ContextCaller
    from context.receipts.results import AssembledContext, ContextRequest

    tenant_id, _ = stage_corpus(corpus, LATE)
    watch = Stopwatch()
    questions = corpus.questions[:: max(len(corpus.questions) // count, 1)][:count]
    asked = [*questions[:_WARM_UP_QUESTIONS], *questions]

    def assemble(question: CorpusQuestion, name: str, budget: int) -> AssembledContext:
        request = ContextRequest(query=question.text, preview=True, max_tokens=budget, scoring=SHIPPED_PROFILES[name])
        return assemble_context(request, ContextCaller(tenant_id, benchmark_actor(), LATE))

    for budget in BUDGETS_TOKENS:
        times: dict[str, list[float]] = {name: [] for name in SHIPPED_PROFILES}
        for number, name in alternately(list(times), len(asked)):
            times[name].append(watch.measure(partial(assemble, asked[number], name, budget))[0])
        yield budget, {name: median(each[_WARM_UP_QUESTIONS:]) for name, each in times.items()}


def main() -> None:
    parser = argument_parser(__doc__, questions=40)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="CORPUS")
    options = parser.parse_args()
    corpus = read_together(options.corpora)
    with throwaway_database():
        print(f"{len(corpus.memories):,} memories, {options.questions} questions")
        for budget, medians in measure_profiles(corpus, options.questions):
            base = medians[ADR_0040.name]
            figures = [f"{name} {each:.1f} ms ({each / base:.2f})" for name, each in medians.items()]
            print(f"{budget:>5} tokens: {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
