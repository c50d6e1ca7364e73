import assert from "node:assert/strict";
import test from "node:test";

import { FADE_S, HOLE_S, MOST_CUSHION_S, Playout } from "../../../voice/web/playout.mjs";

const RATE = 16_000;
const QUANTUM = 128;

function counting(count, from = 1) {
  return Float32Array.from({ length: count }, (_, index) => from + index);
}

function pulled(playout, count) {
  const out = new Float32Array(count);
  for (let at = 0; at < count; at += QUANTUM) playout.pull(out.subarray(at, Math.min(count, at + QUANTUM)));
  return out;
}

test("the first packet of a reply is played as it comes", () => {
  const playout = new Playout(RATE);
  playout.push(counting(320));
  assert.deepEqual([...pulled(playout, 320)], [...counting(320)]);
});

test("every sample is played once and in order, however the audio is cut", () => {
  for (const size of [1, 100, 320, 4000]) {
    const playout = new Playout(RATE);
    const all = counting(8000);
    for (let at = 0; at < all.length; at += size) playout.push(all.subarray(at, at + size));
    assert.deepEqual([...pulled(playout, 8000)], [...all]);
    assert.equal(playout.queued, 0);
  }
});

test("nothing is heard before anything came, nor after all was played", () => {
  const playout = new Playout(RATE);
  assert.ok(pulled(playout, 500).every((sample) => sample === 0));
  playout.push(counting(10));
  const out = pulled(playout, 256);
  assert.deepEqual([...out.subarray(0, 10)], [...counting(10)]);
  assert.ok(out.subarray(10).every((sample) => sample === 0));
});

/** A reply whose second half comes so many samples too late, and the silence after it. */
function ranDry(playout, hole) {
  playout.push(counting(1280));
  pulled(playout, playout.wait + 1280 + hole);
  playout.push(counting(1280)); // it is late already, and played at once
  assert.equal(pulled(playout, 1280)[0], 1);
  pulled(playout, HOLE_S * RATE);
}

test("one reply that ran dry delays none: the server may have been slow for once", () => {
  const playout = new Playout(RATE);
  ranDry(playout, 640);
  playout.push(counting(1280));
  assert.equal(playout.wait, 0);
});

test("two replies that ran dry make the next one wait for the shorter of the holes, and no longer", () => {
  const playout = new Playout(RATE);
  ranDry(playout, 640);
  ranDry(playout, 512);
  playout.push(counting(1280));
  const out = pulled(playout, 1280 + 512);
  assert.equal(out.findIndex((sample) => sample > 0), 512);
  assert.equal(playout.holes, 2);
});

test("replies without a hole take the wait away again", () => {
  const playout = new Playout(RATE);
  ranDry(playout, 640);
  ranDry(playout, 640);
  const waits = [];
  for (let reply = 0; reply < 20; reply += 1) {
    playout.push(counting(1280));
    waits.push(playout.wait);
    pulled(playout, 8000);
  }
  assert.equal(waits[0], 640);
  assert.deepEqual(waits, [...waits].sort((one, other) => other - one));
  assert.ok(waits.at(-1) < 0.003 * RATE, `${waits}`);
});

test("no line makes a reply wait longer than is bearable", () => {
  const playout = new Playout(RATE);
  for (let reply = 0; reply < 4; reply += 1) ranDry(playout, 3200);
  assert.equal(playout.cushion, MOST_CUSHION_S * RATE);
});

test("silence between two replies is no hole", () => {
  const playout = new Playout(RATE);
  playout.push(counting(128));
  pulled(playout, RATE);
  playout.push(counting(128));
  assert.equal(playout.holes, 0);
  assert.equal(playout.wait, 0);
});

test("a cleared reply fades within milliseconds, and the next begins at once", () => {
  const playout = new Playout(RATE);
  playout.push(new Float32Array(8000).fill(1));
  pulled(playout, 256);
  playout.clear();
  const fade = FADE_S * RATE;
  const out = pulled(playout, 512);
  assert.ok(out[0] < 1 && out[0] > 0.9);
  assert.ok(out.subarray(fade).every((sample) => sample === 0));
  for (let index = 1; index < fade; index += 1) assert.ok(out[index] < out[index - 1]);
  playout.push(counting(128));
  assert.deepEqual([...pulled(playout, 128)], [...counting(128)]);
  assert.equal(playout.holes, 0, "what follows a clear is another reply, however soon");
});

test("a server that sends without end fills no memory", () => {
  const playout = new Playout(8000);
  for (let second = 0; second < 60; second += 1) playout.push(new Float32Array(8000));
  assert.equal(playout.queued, 30 * 8000);
  assert.equal(playout.lost, 30 * 8000);
});
