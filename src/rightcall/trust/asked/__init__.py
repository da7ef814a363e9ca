"""Which acts a person asked for, and which of the records that a run has read they meant."""
