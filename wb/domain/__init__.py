"""What comes in: documents, tools, policies, what agents did."""
