"""Files of other programs made from records, a module each. A field of theirs that records have no value for is left out."""
