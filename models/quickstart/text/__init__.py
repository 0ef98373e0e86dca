"""The quickstart model's text, made by a seeded grammar: stories, manuals, lookups, dialogs and
worked examples."""
