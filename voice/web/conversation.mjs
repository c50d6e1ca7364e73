// One conversation as the page sees it: the sound devices, and the call that runs beside the page.

import { Sound } from "./sound.mjs";

export class Conversation {
  /**
   * `on` is told: `line(state)` "open" or a break, `sound(state)`, `event(fields)` of the server, `turn(turn)` with the
   * server's report and what was heard beside it, and `level(peak)` of the microphone.
   */
  constructor({ token, on }) {
    this.token = token;
    this.on = on;
    this.sound = new Sound({ onState: (state) => on.sound(state) });
    this.call = null;
  }

  /** Open the loudspeaker and the line; the microphone too, unless it is not wanted. Raises SoundError. */
  async open({ microphone, echoCancellation }) {
    try {
      await this.sound.open();
      if (microphone) await this.sound.openMicrophone({ echoCancellation });
    } catch (error) {
      await this.sound.close();
      throw error;
    }
    this.call = new Worker(new URL("call.mjs", import.meta.url), { type: "module" });
    this.call.onmessage = ({ data }) => this.told(data);
    const { port1, port2 } = new MessageChannel();
    this.sound.connect(port1);
    this.call.postMessage({ open: { rateHz: this.sound.rateHz, token: this.token }, port: port2 }, [port2]);
  }

  async close() {
    if (this.call !== null) {
      this.call.onmessage = null;
      this.call.postMessage({ hangUp: true });
    }
    this.call = null;
    await this.sound.close();
  }

  told({ line, event, turn, level }) {
    if (line) this.on.line(line);
    if (turn) this.on.turn({ ...turn, deviceMs: this.sound.deviceMs });
    if (event) this.on.event(event);
    if (level !== undefined) this.on.level(level);
  }
}
