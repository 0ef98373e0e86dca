"""Files of other programs made from records, a module each. Fields for which records have no value are left out."""
