import assert from "node:assert/strict";
import test from "node:test";

import { inForce } from "../../../voice/web/in_force.mjs";
import { backoffMs, explain } from "../../../voice/web/parting.mjs";
import { fromPcm16, toPcm16 } from "../../../voice/web/pcm.mjs";
import { figure, percentile } from "../../../voice/web/percentiles.mjs";

test("a percentile is one of the values, and unknown ones are in none", () => {
  assert.equal(percentile([30, 10, 20], 50), 20);
  assert.equal(percentile([10, 20], 50), 10);
  assert.equal(percentile([], 50), null);
  assert.equal(figure([100, null, 200], 50), "100");
  assert.equal(figure([null], 50), "–");
});

test("a percentile that so few turns can't support is marked", () => {
  assert.equal(figure([100], 50), "~100");
  assert.equal(figure(Array(19).fill(7), 95), "~7");
  assert.equal(figure(Array(20).fill(7), 95), "7");
});

test("whoever was refused is told so, and does not knock for ever", () => {
  assert.equal(explain({ code: 1006, opened: false, reached: true }).again, false);
  assert.match(explain({ code: 1006, opened: false, reached: true }).says, /token/);
  assert.equal(explain({ code: 1008, opened: true, reached: true, reason: "bad" }).again, false);
});

test("a server that is gone, full or restarting is tried again", () => {
  for (const code of [1001, 1006, 1011, 1013, 4000]) {
    const meant = explain({ code, opened: true, reached: true });
    assert.equal(meant.again, true);
    assert.ok(meant.says.endsWith("."));
  }
  assert.equal(explain({ code: 1006, opened: false, reached: false }).again, true);
});

test("each failure waits longer, up to a limit, and never at the same moment as the others", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 20].map((failures) => backoffMs(failures, 0.5));
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
  assert.ok(backoffMs(1, 0) < backoffMs(1, 0.99));
});

test("samples survive the line to within half a step, and what is too loud is clipped", () => {
  const samples = Float32Array.from([0, 0.5, -0.5, 1, -1, 3, -3]);
  const returned = fromPcm16(toPcm16(samples));
  [0, 0.5, -0.5, 1, -1, 1, -1].forEach((sample, index) => assert.ok(Math.abs(returned[index] - sample) < 1e-4));
  assert.equal(fromPcm16(new ArrayBuffer(5)).length, 2);
});

test("what a server does not tell is not shown", () => {
  assert.deepEqual(inForce({ config: { llm: { spec: "local" }, echo: "" } }), [
    { name: "Model", option: "--llm", value: "local" },
  ]);
  assert.deepEqual(inForce({}), []);
});
