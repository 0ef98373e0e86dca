"""The page of `reprise report`: what stands in its tables and lists, and the templates that it fills."""
