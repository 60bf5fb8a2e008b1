"""`wb`: policy documents into guards for LLM agents, proved where they can be and measured always."""

__version__ = "0.1.0"
