// All turns of this visit: running percentiles, a table, and the one whose waterfall is shown.

import { byId, element } from "./dom.mjs";
import { figure, TOO_FEW } from "./percentiles.mjs";
import { turnView } from "./turn_view.mjs";

const SHOWN = 50; // rows; the percentiles are of all

export class Turns {
  constructor() {
    this.all = [];
    this.chosen = null;
    this.summarise();
  }

  add(turn) {
    const follows = this.chosen === null || this.chosen === this.all.at(-1);
    this.all.push(turn);
    if (follows) this.chosen = turn;
    this.summarise();
    this.list();
    this.show();
  }

  show() {
    byId("turn").replaceChildren(turnView(this.chosen));
  }

  /** Turns that were cut in on, or had no reply, have no gap; they are counted, and in no percentile. */
  summarise() {
    const answered = this.all.filter(({ heard, report }) => !heard.cutIn && report.reported_gap_ms !== null);
    const heard = answered.map((turn) => turn.heard.gapMs).filter((gap) => gap !== null);
    const reported = answered.map((turn) => turn.report.reported_gap_ms);
    const kept = answered.filter((turn) => turn.heard.gapMs !== null && turn.heard.gapMs <= turn.report.budget_ms);
    const shown = [
      ["Heard gap p50", figure(heard, 50), "ms"],
      ["Heard gap p95", figure(heard, 95), "ms"],
      ["Reported p50", figure(reported, 50), "ms"],
      ["Reported p95", figure(reported, 95), "ms"],
      ["Kept the budget", this.all.length ? `${kept.length} of ${this.all.length}` : "–", ""],
    ];
    byId("figures").replaceChildren(
      ...shown.map(([name, value, unit]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, value, unit && value !== "–" && element("small", {}, ` ${unit}`))),
      ),
    );
    byId("few").hidden = !shown.some(([, value]) => value.startsWith(TOO_FEW));
  }

  list() {
    const rows = this.all.map((turn, index) => this.row(turn, index)).slice(-SHOWN).reverse();
    const heads = ["Turn", "Heard", "Reported", "Blamed"].map((name) => element("th", { scope: "col" }, name));
    const box = byId("turns");
    box.hidden = false;
    box.replaceChildren(
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)),
    );
  }

  row(turn, index) {
    const { report, heard } = turn;
    const whole = (value) => (value === null ? "–" : value.toFixed(0));
    const choose = () => {
      this.chosen = turn;
      this.list();
      this.show();
      byId("turns").querySelector("[aria-pressed=true]").focus();
    };
    return element(
      "tr",
      { class: turn === this.chosen ? "chosen" : null },
      element(
        "th",
        { scope: "row" },
        element("button", { type: "button", "aria-pressed": String(turn === this.chosen), click: choose, "aria-label": `Show turn ${index + 1}` }, String(index + 1)),
      ),
      element("td", { class: (heard.gapMs ?? 0) > report.budget_ms ? "over" : null }, whole(heard.gapMs)),
      element("td", {}, whole(report.reported_gap_ms)),
      element("td", {}, heard.cutIn ? "cut in" : (report.culprit ?? (report.reported_gap_ms === null ? report.outcome : "–"))),
    );
  }
}
