"""What we believe, as pure functions over values: no file, no clock, no actor."""
