"""For the tests of whoever builds a voice app: play a recording to an agent, and expect an answer in time."""
