// Recordings that can be played in: those that the server has, and any file of the user's.

import { byId, element } from "./dom.mjs";

const OWN = "own";

export class Recordings {
  /** `play(encoded)` settles when the recording has been played. */
  constructor({ play }) {
    this.play = play;
    this.select = byId("recording");
    this.file = byId("file");
    byId("play").addEventListener("click", () => this.begin());
    this.file.addEventListener("change", () => this.begin());
    this.select.addEventListener("change", () => {
      this.file.hidden = this.select.value !== OWN;
    });
  }

  async list() {
    const offered = await fetch("recordings")
      .then((answer) => (answer.ok ? answer.json() : []))
      .catch(() => []);
    this.select.replaceChildren(
      ...offered.map(({ name, says }) => element("option", { value: name }, says)),
      element("option", { value: OWN }, "A file of yours …"),
    );
    this.file.hidden = this.select.value !== OWN;
  }

  async begin() {
    const encoded = await this.chosen();
    if (encoded === null) return;
    const button = byId("play");
    button.disabled = true;
    button.textContent = "Playing";
    try {
      await this.play(encoded);
    } finally {
      button.disabled = false;
      button.textContent = "Play";
    }
  }

  async chosen() {
    if (this.select.value !== OWN) {
      const answer = await fetch(`recordings/${this.select.value}`).catch(() => null);
      return answer?.ok ? answer.arrayBuffer() : null;
    }
    const [file] = this.file.files;
    if (file === undefined) this.file.click();
    return file?.arrayBuffer() ?? null;
  }
}
