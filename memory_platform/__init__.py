import gc

# pyproject.toml, the OpenAPI document and the Health page read it; CHANGELOG.md repeats it.
__version__ = "0.1.0"

# New objects after which the youngest ones are looked through, and how many of these collections the older generations
# wait for (ADR-0152, ADR-0252). Python's own 700 cost a context, which makes 10,000 objects nearly all without cycles,
# a twentieth, and the start of a process a fifth of its processor time. With Python's own 10, garbage of requests that
# ran during a collection would stay for thousands of requests.
gc.set_threshold(20_000, 2, 2)
