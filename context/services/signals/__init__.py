"""Signals: what beside its cosine speaks for a memory, each a pure function of the candidates and the question.

Every signal gives one number a candidate, 0..1 (`currency` -1..1). A scoring profile says what each weighs.
"""
