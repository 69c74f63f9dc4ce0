import gc

# pyproject.toml, the OpenAPI document and the Health page read it; CHANGELOG.md repeats it.
__version__ = "0.1.0"

# New objects after which the youngest ones are looked through, and how often the older generations (ADR-0152). Python's
# own 700 cost a context, which makes 10,000 objects nearly all without cycles, a twentieth, and the start of a process
# a fifth of its processor time.
gc.set_threshold(20_000, 20, 20)
