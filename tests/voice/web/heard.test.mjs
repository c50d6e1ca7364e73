import assert from "node:assert/strict";
import test from "node:test";

import { measure } from "../../../voice/web/heard.mjs";
import { ROOM, SILENT, tracked, VOICE } from "./sounds.mjs";

const USER = [[1, ROOM], [2, VOICE], [3, ROOM]];
const SAID = { onsetS: 1, endS: 3 };

for (const rate of [8000, 16_000, 44_100, 48_000]) {
  test(`the gap runs from the last voiced to the first audible sample, at ${rate} Hz`, () => {
    const found = measure(tracked(rate, USER), tracked(rate, [[3.4, SILENT], [1, VOICE], [1.6, SILENT]]), SAID);
    assert.ok(Math.abs(found.gapMs - 400) < 0.1, `${found.gapMs}`);
    assert.equal(found.cutIn, false);
  });
}

test("a server that believes the speech to end early is told apart from one that answers late", () => {
  const loudspeaker = tracked(16_000, [[3.4, SILENT], [1, VOICE], [1.6, SILENT]]);
  const found = measure(tracked(16_000, USER), loudspeaker, { onsetS: 1, endS: 2.8 });
  assert.equal(Math.round(found.gapMs), 400);
  assert.equal(Math.round(found.timingGapMs), 600);
  assert.equal(Math.round(found.speechEndErrorMs), -200);
});

test("a reply that begins before the end and goes on past it has cut in", () => {
  const loudspeaker = tracked(16_000, [[2.5, SILENT], [2, VOICE], [1.5, SILENT]]);
  const found = measure(tracked(16_000, USER), loudspeaker, SAID);
  assert.equal(found.cutIn, true);
  assert.equal(Math.round(found.gapMs), -500);
});

test("a reply that the user broke in on is not the answer to what he said then", () => {
  const loudspeaker = tracked(16_000, [[1.2, VOICE], [2.3, SILENT], [1, VOICE], [1.5, SILENT]]);
  const found = measure(tracked(16_000, USER), loudspeaker, SAID);
  assert.equal(found.cutIn, false);
  assert.equal(Math.round(found.gapMs), 500);
});

test("a reply that falls silent within the user's speech leaves the gap to the next one", () => {
  const loudspeaker = tracked(16_000, [[2, SILENT], [0.3, VOICE], [1.2, SILENT], [1, VOICE], [1.5, SILENT]]);
  assert.equal(Math.round(measure(tracked(16_000, USER), loudspeaker, SAID).gapMs), 500);
});

test("what is quieter than a loudspeaker in a quiet room gives nothing to hear", () => {
  const loudspeaker = tracked(16_000, [[3.2, SILENT], [0.2, 0.005], [1, VOICE], [1.6, SILENT]]);
  assert.equal(Math.round(measure(tracked(16_000, USER), loudspeaker, SAID).gapMs), 400);
});

test("the echo of the reply is no speech of the user", () => {
  const microphone = tracked(16_000, [[1, ROOM], [2, VOICE], [0.1, ROOM], [2, VOICE / 2]]);
  const found = measure(microphone, tracked(16_000, [[3.1, SILENT], [2, VOICE]]), SAID);
  assert.equal(Math.round(found.gapMs), 100);
});

test("without a reply, or without an end, there is no gap", () => {
  const nothing = tracked(16_000, [[6, SILENT]]);
  assert.equal(measure(tracked(16_000, USER), nothing, SAID).gapMs, null);
  assert.equal(measure(tracked(16_000, USER), nothing, { onsetS: 1, endS: null }).gapMs, null);
  assert.equal(measure(nothing, nothing, { onsetS: 1, endS: 3 }).gapMs, null);
});

test("a turn that is longer ago than the track reaches has no gap", () => {
  const long = [[6, ROOM], [300, ROOM]];
  assert.equal(measure(tracked(1000, long), tracked(1000, long), SAID).gapMs, null);
});
