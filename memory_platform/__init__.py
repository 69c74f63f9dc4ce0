import gc

# pyproject.toml, the OpenAPI document and the Health page read it; CHANGELOG.md repeats it.
__version__ = "0.1.0"

# New objects after which the youngest generation is collected, and how many of these collections the older generations
# wait for (ADR-0152, ADR-0252). With Python's default of 700, collections would take a twentieth of the processor time
# of a context, which creates 10,000 objects nearly all without cycles, and a fifth of that of a process start. With
# Python's default of 10, garbage of requests that ran during a collection would stay for thousands of requests.
gc.set_threshold(20_000, 2, 2)
