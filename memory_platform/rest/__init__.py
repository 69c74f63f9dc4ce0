"""Code that all REST endpoints share: strict JSON, strict fields, cursor pages. All apps may import it."""
