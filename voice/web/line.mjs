// The connection to the server: raw PCM both ways, and its events. It comes back by itself after a break.

import { backoffMs, explain } from "./parting.mjs";
import { fromPcm16, toPcm16 } from "./pcm.mjs";

const STUCK_S = 5; // so much audio unsent: the line is too slow, and what is late is of no use

export class Line {
  /** `on.open()`, `on.audio(samples)`, `on.event(fields)` and `on.broken({says, again, inMs})` are called. */
  constructor({ rateHz, token, on }) {
    this.rateHz = rateHz;
    this.token = token;
    this.on = on;
    this.failures = 0;
    this.known = false; // whether this server ever let us in: then a refusal is but a server that is starting
    this.timer = null;
    this.dial();
  }

  get isOpen() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(samples) {
    if (!this.isOpen) return;
    if (this.socket.bufferedAmount > STUCK_S * 2 * this.rateHz) this.socket.close(4000, "too slow");
    else this.socket.send(toPcm16(samples));
  }

  hangUp() {
    clearTimeout(this.timer);
    this.socket.onclose = this.socket.onmessage = null;
    if (this.isOpen) this.socket.send(JSON.stringify({ type: "end" }));
    this.socket.close();
  }

  dial() {
    const url = new URL("v1/pcm", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    url.search = this.token ? new URLSearchParams({ token: this.token }) : "";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.known = true;
      this.failures = 0;
      const start = { type: "start", sample_rate: this.rateHz, channels: 1, events: ["hypothesis", "turn"] };
      socket.send(JSON.stringify(start));
      this.on.open();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.on.event(JSON.parse(data));
      else this.on.audio(fromPcm16(data));
    };
    socket.onclose = ({ code, reason }) => this.broke({ code, reason });
    this.socket = socket;
  }

  async broke(how) {
    this.failures += 1;
    const { socket } = this;
    const meant = explain({ ...how, opened: this.known, reached: this.known || (await health()) !== null });
    if (socket.onclose === null) return; // hung up meanwhile
    const inMs = meant.again ? backoffMs(this.failures, Math.random()) : null;
    if (meant.again) this.timer = setTimeout(() => this.dial(), inMs);
    this.on.broken({ ...meant, inMs });
  }
}

/** What the server says of itself; null where it can't be reached. */
export async function health() {
  try {
    const answer = await fetch("healthz", { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
