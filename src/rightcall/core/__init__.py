"""The vendor-neutral values everything else is written in. No I/O, no clock, no vendor."""
