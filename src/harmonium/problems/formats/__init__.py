"""Instance files: a module a family of formats, all on one reader."""
