// One conversation with the server: sound goes out and comes in, and every turn is measured from both tracks.

import { measure } from "./heard.mjs";
import { Line } from "./line.mjs";
import { Sound } from "./sound.mjs";
import { Track } from "./track.mjs";

export class Conversation {
  /**
   * `on` is told: `line(state)` "open" or a break, `sound(state)`, `event(fields)` of the server, `turn(turn)` as the
   * server's report with what this page heard beside it, and `level(rms)` of the microphone for each packet.
   */
  constructor({ token, on }) {
    this.token = token;
    this.on = on;
    this.sound = new Sound({ onPacket: (packet) => this.packet(packet), onState: (state) => on.sound(state) });
    this.line = null;
  }

  /** Open the loudspeaker and the line; the microphone too, unless it is not wanted. */
  async open({ microphone, echoCancellation }) {
    try {
      await this.sound.open();
      if (microphone) await this.sound.openMicrophone({ echoCancellation });
    } catch (error) {
      await this.sound.close();
      throw error;
    }
    this.line = new Line({
      rateHz: this.sound.rateHz,
      token: this.token,
      on: {
        open: () => this.opened(),
        audio: (samples) => this.sound.play(samples),
        event: (fields) => this.event(fields),
        broken: (how) => this.on.line(how),
      },
    });
  }

  async close() {
    this.line?.hangUp();
    this.line = null;
    await this.sound.close();
  }

  /** A new connection is a new conversation to the server, and its audio begins at 0. */
  opened() {
    this.sound.clear();
    this.spoken = new Track(this.sound.rateHz);
    this.heard = new Track(this.sound.rateHz);
    this.on.line("open");
  }

  packet({ spoken, heard, ...playout }) {
    this.on.level(Math.sqrt(spoken.reduce((sum, sample) => sum + sample * sample, 0) / spoken.length), playout);
    if (!this.line?.isOpen) return;
    this.line.send(spoken);
    this.spoken.feed(spoken);
    this.heard.feed(heard);
  }

  event(fields) {
    if (fields.type === "clear") this.sound.clear();
    if (fields.type === "turn") {
      const heard = measure(this.spoken, this.heard, { onsetS: fields.onset_s, endS: fields.speech_end_s });
      // An excuse for a failure is heard as well, and is no answer.
      const answered = fields.reported_gap_ms !== null;
      this.on.turn({ report: fields, heard: answered ? heard : { ...heard, gapMs: null, timingGapMs: null } });
    }
    this.on.event(fields);
  }
}
