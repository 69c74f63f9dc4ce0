"""What every REST endpoint shares and no app owns: strict JSON, strict fields, cursor pages. Lies under all apps."""
