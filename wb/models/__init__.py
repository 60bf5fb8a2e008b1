"""Asking models: a prompt goes in, a checked type comes out; budgets, recorded replies, embeddings."""
