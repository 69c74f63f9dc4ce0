"""Attacks with generated input: short in `make test`, long in `make fuzz`."""
