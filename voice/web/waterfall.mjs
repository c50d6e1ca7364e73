// Where the gap of a turn went, laid out for drawing: bars on one axis, and figures that add up when read. Pure.

export const STAGES = ["endpointing", "asr", "dispatch", "prefill", "decode", "tts", "playout", "residual"];

export const MEANING = {
  endpointing: "waiting until it was likely enough that the turn is over",
  asr: "the last words being recognised",
  dispatch: "the request on its way to the model",
  prefill: "the model taking in the prompt",
  decode: "the model writing the first words",
  tts: "the voice making the first sound",
  playout: "the first sound being sent",
  residual: "waiting while no stage was at work",
};

const AIR = 1.04; // so that the line of the budget is never the edge of the picture
const TICKS = 4;

/** The picture of one turn: `report` is the server's, `heardMs` what this page heard. Null where there is no gap. */
export function layout(report, heardMs) {
  const gap = report.reported_gap_ms;
  if (gap === null || gap === undefined) return null;
  const budget = report.budget_ms;
  const scale = Math.max(gap, heardMs ?? 0, budget, 1) * AIR;
  const charged = STAGES.map((stage) => report.charges_ms[stage] ?? 0);
  const took = apportion(charged);
  const allowed = apportion(STAGES.map((stage) => report.allowances_ms[stage] ?? 0));
  const rows = STAGES.map((stage, index) => row(report, stage, { took: took[index], allowed: allowed[index], scale }));
  return {
    scale,
    ticks: ticks(scale),
    budget: budget / scale,
    rows,
    totals: [
      total("reported gap", sum(took), sum(allowed), scale),
      ...(heardMs === null || heardMs < 0 ? [] : [total("heard gap", Math.round(heardMs), sum(allowed), scale)]),
    ],
  };
}

function row(report, stage, { took, allowed, scale }) {
  const standing = standingOf(report, stage);
  const pieces = standing === "on the path" ? report.tiles : report.spans;
  return {
    stage,
    standing,
    took: standing === "on the path" ? (took === 0 && report.charges_ms[stage] > 0 ? "<1" : String(took)) : null,
    allowed,
    over: took - allowed,
    culprit: report.culprit === stage,
    bars: pieces
      .filter((piece) => piece.stage === stage && piece.end_ms > 0)
      .map((piece) => ({ start: Math.max(0, piece.start_ms) / scale, end: Math.min(piece.end_ms / scale, 1) })),
  };
}

/** No charge at all is not the same as none that counts: the server says null for a stage beside the path. */
function standingOf(report, stage) {
  if (!(stage in report.charges_ms)) return "unknown";
  return report.charges_ms[stage] === null ? "not on the path" : "on the path";
}

function total(name, took, allowed, scale) {
  return { name, took, allowed, over: took - allowed, end: took / scale };
}

/** Round so that the whole numbers add up to the rounded sum. */
export function apportion(values) {
  const floors = values.map(Math.floor);
  const missing = Math.round(sum(values)) - sum(floors);
  const order = values.map((value, index) => index).sort((one, other) => rest(values[other]) - rest(values[one]));
  for (const index of order.slice(0, missing)) floors[index] += 1;
  return floors;
}

/** Round distances from 0 on, a few of them. */
export function ticks(scale) {
  const distance = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000].find(
    (each) => scale / each <= TICKS,
  );
  const found = [];
  for (let at = 0; at <= scale; at += distance ?? scale) found.push({ label: String(at), at: at / scale });
  return found;
}

function rest(value) {
  return value - Math.floor(value);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
