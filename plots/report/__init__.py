"""The page of `reprise report`: the content of its tables and lists, and the templates that it fills."""
