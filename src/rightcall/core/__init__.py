"""The vendor-neutral values that everything else is written in. No I/O, no clock, no vendor."""
