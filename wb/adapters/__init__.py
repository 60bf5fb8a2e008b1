"""Where agents meet guards: each module turns the calls of one ecosystem into calls of a session, and back."""
