"""The pipeline that builds the static embedding model of the code search. See README.md for the steps."""
