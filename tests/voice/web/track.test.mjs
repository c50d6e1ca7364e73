import assert from "node:assert/strict";
import test from "node:test";

import { decibels, Track } from "../../../voice/web/track.mjs";
import { tracked, VOICE, wave } from "./sounds.mjs";

test("blocks do not drift at a rate that 5 ms do not divide", () => {
  const track = new Track(44_100);
  assert.equal(track.startOf(200), 44_100);
  for (let block = 0; block < 1000; block += 1) {
    assert.equal(track.blockOf(track.startOf(block)), block);
    assert.equal(track.blockOf(track.startOf(block + 1) - 1), block);
  }
});

test("levels do not depend on how the sound was cut", () => {
  const samples = Float32Array.from({ length: 9000 }, (_, index) => Math.sin(index * index) / 3);
  const whole = new Track(44_100);
  whole.feed(samples);
  for (const size of [1, 7, 128, 882]) {
    const cut = new Track(44_100);
    for (let at = 0; at < samples.length; at += size) cut.feed(samples.subarray(at, at + size));
    assert.equal(cut.blocks, whole.blocks);
    for (let block = 0; block < whole.blocks; block += 1) {
      assert.equal(cut.power(block), whole.power(block));
      assert.equal(cut.firstOf(block), whole.firstOf(block));
    }
  }
});

test("the first sample above the level is known to the sample", () => {
  const track = new Track(48_000);
  track.feed(new Float32Array(1000));
  track.feed(wave(1000, VOICE));
  assert.equal(track.audible(3), false);
  assert.equal(track.audible(4), true);
  assert.equal(track.firstOf(4), 1000);
});

test("what is not there yet, or was forgotten, is unknown and not silent", () => {
  const track = tracked(1000, [[301, VOICE]]);
  assert.equal(track.power(0), undefined);
  assert.equal(track.power(track.blocks), undefined);
  assert.equal(Math.round(decibels(track.power(track.blocks - 1))), -14);
  assert.equal(decibels(0), -100);
});
