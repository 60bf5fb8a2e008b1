"""Code that judges a call: contracts, examples, proofs, the run time, ToolGuard and VeriGuard."""
