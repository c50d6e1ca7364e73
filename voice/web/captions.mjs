// What is being said, and what was. The words of a running turn are shown apart: first those that are stable, which
// are never taken back, then those that may change. Only what is final is read out by a screen reader.

import { byId, element } from "./dom.mjs";

const KEPT = 100;
const NAMES = { user: "You", agent: "Agent" };

export class Captions {
  constructor() {
    this.log = byId("log");
    this.live = byId("live");
  }

  /** Take in an event of the server; those that are not about words change nothing. */
  event(fields) {
    if (fields.type === "hypothesis") this.hear(fields);
    if (fields.type === "transcript") this.settle(fields);
    if (fields.type === "turn") this.end(fields);
  }

  hear({ stable, unstable }) {
    byId("stable").textContent = stable;
    byId("unstable").textContent = unstable;
    this.live.hidden = !(stable || unstable);
  }

  settle({ role, text }) {
    if (role === "user") this.live.hidden = true;
    this.add(role, text);
  }

  /** A turn that nobody answered has no transcript; its words stay where they were read, as words in vain. */
  end({ outcome, text, failure }) {
    if (!this.live.hidden && text) this.add("user", text, "not answered");
    this.live.hidden = true;
    if (failure) this.mark(failure);
    else if (outcome === "interrupted") this.mark("interrupted");
  }

  /** Words of a conversation that the server has forgotten. */
  part(note) {
    this.live.hidden = true;
    if (this.log.children.length > 0) this.append(element("li", { class: "parting" }, note));
  }

  add(role, text, note = null) {
    this.append(
      element(
        "li",
        { class: `line ${role}` },
        element("span", { class: "who" }, NAMES[role] ?? role),
        " ",
        element("span", { class: "words" }, text, note && element("small", {}, ` · ${note}`)),
      ),
    );
  }

  mark(note) {
    const words = this.log.lastElementChild?.querySelector(".words");
    words?.append(element("small", {}, ` · ${note}`));
  }

  append(item) {
    byId("captions-hint").hidden = true;
    this.log.append(item);
    if (this.log.children.length > KEPT) this.log.firstElementChild.remove();
    this.follow();
  }

  /** Keep the latest words in sight, within their own box only. */
  follow() {
    const box = this.log.parentElement;
    box.scrollTop = box.scrollHeight;
  }
}
