"""Making, keeping, showing: stages and their versions, notebooks, the report."""
