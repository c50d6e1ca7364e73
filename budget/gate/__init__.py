"""Whether a run is good enough, and whether it is worse than another: for people, and for a build to fail on."""
