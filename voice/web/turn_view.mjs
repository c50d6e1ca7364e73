// The waterfall of one turn: a table, so that it can be read as well as seen, with a bar in each row.

import { element, shape } from "./dom.mjs";
import { layout, MEANING } from "./waterfall.mjs";

const WIDE = 1000; // units of a bar's picture, whatever its width on the screen
const THIN = 5; // that something happened must be seen, however short it was

/**
 * The turn as an element: `report` is the server's, `heard` is what this page measured, `cushionMs` of it was spent in
 * the page's own queue, and `deviceMs` come on top in the sound devices.
 */
export function turnView({ report, heard, cushionMs, deviceMs }) {
  const picture = layout(report, heard.gapMs);
  return element(
    "div",
    {},
    element(
      "p",
      { class: "said" },
      element("strong", {}, `Turn ${report.turn}`),
      report.text ? ` “${report.text}”` : "",
    ),
    picture === null ? element("p", { class: "verdict" }, silence(report)) : table(report, picture),
    picture !== null &&
      element("p", { class: "hint" }, `The dotted line is the budget, ${report.budget_ms} ms. Grey is work that nobody waited for.`),
    element("p", { class: report.culprit ? "verdict over" : "verdict" }, verdict(report, heard)),
    ...[...asides(report, heard), ...ownDelays(cushionMs, deviceMs)].map((aside) => element("p", { class: "aside" }, aside)),
  );
}

function table(report, picture) {
  return element(
    "table",
    { class: "waterfall" },
    element("caption", { class: "unseen" }, `Turn ${report.turn}, milliseconds by stage`),
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, element("span", { class: "unseen" }, "Stage")),
        element("td", { class: "axis", "aria-hidden": "true" }, axis(picture)),
        element("th", { scope: "col" }, "took"),
        element("th", { scope: "col" }, "of"),
        element("th", { scope: "col", class: "over-by" }, "over"),
      ),
    ),
    element("tbody", {}, ...picture.rows.map((row) => stageRow(row, picture))),
    element("tfoot", {}, ...picture.totals.map((row) => totalRow(row, picture))),
  );
}

function stageRow(row, picture) {
  const beside = row.took === null;
  const kind = beside ? "beside" : row.culprit ? "culprit" : row.over > 0 ? "late" : "fine";
  return element(
    "tr",
    { class: kind },
    element(
      "th",
      { scope: "row", title: MEANING[row.stage] },
      row.stage,
      row.culprit && element("span", { class: "unseen" }, ", blew the budget"),
    ),
    bar(row.bars, picture.budget),
    ...(beside
      ? [element("td", { colspan: 3, class: "standing" }, row.standing)]
      : [
          element("td", {}, row.took),
          element("td", { class: "allowed" }, String(row.allowed)),
          element("td", { class: "over-by" }, row.over > 0 ? `+${row.over}` : "", row.culprit && " ◀"),
        ]),
  );
}

function totalRow(row, picture) {
  return element(
    "tr",
    { class: row.over > 0 ? "culprit" : "fine" },
    element("th", { scope: "row" }, row.name),
    bar([{ start: 0, end: row.end }], picture.budget),
    element("td", {}, String(row.took)),
    element("td", { class: "allowed" }, String(row.allowed)),
    element("td", { class: "over-by" }, row.over > 0 ? `+${row.over}` : String(row.over).replace("-", "−")),
  );
}

function bar(bars, budget) {
  const at = (share) => Math.round(share * WIDE);
  return element(
    "td",
    { class: "chart", "aria-hidden": "true" },
    shape(
      "svg",
      { viewBox: `0 0 ${WIDE} 10`, preserveAspectRatio: "none" },
      ...bars.map(({ start, end }) =>
        shape("rect", { x: at(start), y: 1, width: Math.max(THIN, at(end) - at(start)), height: 8, class: "piece" }),
      ),
      shape("line", { x1: at(budget), x2: at(budget), y1: 0, y2: 10, class: "budget" }),
    ),
  );
}

function axis(picture) {
  const labels = picture.ticks.map(({ label, at }) => {
    const text = element("span", {}, label);
    text.style.left = `${100 * at}%`; // set by script, which the page's policy allows; an attribute it does not
    if (at > 0.9) text.style.translate = "-100%"; // or it would stand over the heads of the figures
    return text;
  });
  return element("div", {}, ...labels);
}

function silence(report) {
  return `No reply left for this turn (${(report.outcome ?? "outcome unknown").replaceAll("_", " ")}).`;
}

function verdict(report, heard) {
  if (heard.cutIn) return `Cut in: the agent was heard ${ms(-heard.gapMs)} before you had finished.`;
  return report.verdict ? `${report.verdict[0].toUpperCase()}${report.verdict.slice(1)}.` : "";
}

function* asides(report, heard) {
  if (report.reported_gap_ms !== null && heard.gapMs === null) yield "The gap could not be heard.";
  if (heard.timingGapMs !== null && report.reported_gap_ms !== null) {
    const apart = ms(heard.timingGapMs - report.reported_gap_ms);
    yield `Heard and reported ${apart} apart, speech end ${late(heard.speechEndErrorMs)}.`;
  }
  if (report.opener && report.first_content_gap_ms !== null) {
    yield `It began with “${report.opener}”; first content after ${ms(report.first_content_gap_ms)}.`;
  }
  const withdrawn = report.withdrawn_endpoints;
  if (withdrawn > 0) yield `You went on: ${withdrawn} ${withdrawn > 1 ? "endpoints were" : "endpoint was"} taken back unheard.`;
}

function* ownDelays(cushionMs, deviceMs) {
  if (cushionMs > 0) yield `The line was uneven, so ${ms(cushionMs)} of the heard gap were spent waiting for it here.`;
  yield `Your sound devices add about ${ms(deviceMs)}, which no page can hear.`;
}

function late(error) {
  if (Math.abs(error) < 0.05) return "the same";
  return `${ms(error)} ${error > 0 ? "late" : "early"}`;
}

/** Whole milliseconds, and below ten one decimal, so that little never reads as nothing. */
function ms(duration) {
  const size = Math.abs(duration);
  return `${size >= 9.95 ? size.toFixed(0) : size.toFixed(1).replace(/\.0$/, "")} ms`;
}
