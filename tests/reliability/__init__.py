"""Tests with generated input, faults and load: short in `make test`, long in `make fuzz`, `make chaos`, `make soak`."""
