import assert from "node:assert/strict";
import test from "node:test";

import { apportion, layout, STAGES, ticks } from "../../../voice/web/waterfall.mjs";

const REPORT = {
  reported_gap_ms: 610.4,
  budget_ms: 500,
  allowances_ms: { endpointing: 100, asr: 230, dispatch: 5, prefill: 60, decode: 45, tts: 45, playout: 5, residual: 10 },
  charges_ms: { endpointing: 99.6, asr: 390.3, dispatch: null, decode: 100.2, tts: 20, playout: 0.2, residual: 0.1 },
  culprit: "asr",
  tiles: [
    { stage: "endpointing", start_ms: 0, end_ms: 99.6 },
    { stage: "asr", start_ms: 99.6, end_ms: 489.9 },
    { stage: "decode", start_ms: 489.9, end_ms: 590.1 },
    { stage: "tts", start_ms: 590.1, end_ms: 610.1 },
    { stage: "playout", start_ms: 610.1, end_ms: 610.3 },
    { stage: "residual", start_ms: 610.3, end_ms: 610.4 },
  ],
  spans: [
    { stage: "dispatch", start_ms: -20, end_ms: 30 },
    { stage: "dispatch", start_ms: -60, end_ms: -40 },
  ],
};

function row(picture, stage) {
  return picture.rows.find((each) => each.stage === stage);
}

test("what is shown adds up when it is read", () => {
  const picture = layout(REPORT, 640);
  const shown = picture.rows.map(({ took }) => (took === null || took === "<1" ? 0 : Number(took)));
  assert.equal(shown.reduce((sum, each) => sum + each), picture.totals[0].took);
  assert.equal(picture.totals[0].took, 610);
});

test("the budget, the gap and all bars lie within the picture", () => {
  const picture = layout(REPORT, 640);
  assert.ok(picture.budget < 1);
  for (const { bars } of picture.rows) {
    for (const { start, end } of bars) assert.ok(start >= 0 && start <= end && end <= 1);
  }
  assert.equal(picture.totals[1].end, 640 / picture.scale);
});

test("the stage that blew the budget is told, and none else", () => {
  assert.deepEqual(layout(REPORT, null).rows.filter(({ culprit }) => culprit).map(({ stage }) => stage), ["asr"]);
});

test("beside the path, unknown and next to nothing are three different things", () => {
  const picture = layout(REPORT, null);
  assert.equal(row(picture, "dispatch").standing, "not on the path");
  assert.equal(row(picture, "prefill").standing, "unknown");
  assert.equal(row(picture, "playout").took, "<1");
  assert.equal(row(picture, "dispatch").took, null);
});

test("work beside the path is drawn from the speech end on", () => {
  assert.deepEqual(row(layout(REPORT, null), "dispatch").bars.map(({ start }) => start), [0]);
});

test("a turn without a gap has no picture, and an unheard one no second line", () => {
  assert.equal(layout({ ...REPORT, reported_gap_ms: null }, null), null);
  assert.deepEqual(layout(REPORT, null).totals.map(({ name }) => name), ["reported gap"]);
  assert.deepEqual(layout(REPORT, -20).totals.map(({ name }) => name), ["reported gap"]);
});

test("rounded parts add up to the rounded whole", () => {
  for (let seed = 1; seed < 300; seed += 1) {
    const values = STAGES.map((_, index) => ((seed * 7919 * (index + 3)) % 10_007) / 37);
    const whole = Math.round(values.reduce((sum, each) => sum + each));
    assert.equal(apportion(values).reduce((sum, each) => sum + each), whole);
    apportion(values).forEach((each, index) => assert.ok(Math.abs(each - values[index]) < 1));
  }
});

test("an axis has a few round labels, whatever its length", () => {
  for (const scale of [1, 7, 130, 520, 999, 4200, 61_000]) {
    const found = ticks(scale);
    assert.ok(found.length >= 2 && found.length <= 6, `${scale}: ${found.length}`);
    assert.equal(found[0].label, "0");
    assert.ok(found.at(-1).at <= 1);
  }
});
