"""The commands `evaluate` and `fit_profile`."""
