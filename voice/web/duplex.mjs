// Both directions of the conversation in one node of the audio thread, and so on one clock.
//
// At each call it takes what the microphone gave and says what the loudspeaker gets. Both go out in packets of the
// same samples: what was spoken while what was heard, to the sample, is known without asking any clock.
//
// The page hands it one end of a channel, whose other end is the call's (call.mjs): {play} and {clear} come in by it.

import { Playout } from "./playout.mjs";

const PACKET_S = 0.02; // as often as the server sends; half of it would double its work for 5 ms

class Duplex extends AudioWorkletProcessor {
  constructor() {
    super();
    this.playout = new Playout(sampleRate);
    this.size = Math.round(PACKET_S * sampleRate);
    this.mono = new Float32Array(128);
    this.renew();
    this.wire = null;
    this.port.onmessage = ({ data }) => this.connect(data.wire);
  }

  connect(wire) {
    this.wire = wire;
    wire.onmessage = ({ data }) => {
      if (data.play) this.playout.push(data.play);
      if (data.clear) this.playout.clear();
    };
  }

  process([[spoken]], [[heard, ...others]]) {
    this.playout.pull(heard);
    for (const other of others) other.set(heard);
    this.mono.fill(0);
    if (spoken) this.mono.set(spoken); // nothing is connected while there is neither microphone nor recording
    for (let index = 0; index < heard.length; index += 1) {
      this.spoken[this.filled] = this.mono[index];
      this.heard[this.filled] = heard[index];
      this.filled += 1;
      if (this.filled === this.size) this.send();
    }
    return true;
  }

  send() {
    const { spoken, heard } = this;
    const { cushion } = this.playout;
    this.wire?.postMessage({ spoken, heard, cushion }, [spoken.buffer, heard.buffer]);
    this.renew();
  }

  renew() {
    this.spoken = new Float32Array(this.size);
    this.heard = new Float32Array(this.size);
    this.filled = 0;
  }
}

registerProcessor("duplex", Duplex);
