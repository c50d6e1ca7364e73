// What waits for the loudspeaker: a queue that adds as little delay as it can. Pure; the audio thread runs it.
//
// The server sends up to 200 ms ahead of real time, and that lead is what covers the jitter of the line. So the first
// packet of a reply is played as it comes. Only where the line has shown that this is not enough (two replies one after
// the other ran dry and went on; one alone may be a server that was slow for once) those that follow wait at their
// beginning, for as long as the shorter of the holes was: the *cushion*. It is bounded, and each reply that did not
// need it takes a quarter of it away again.

export const HOLE_S = 0.25; // a silence longer than this parts one reply from the next
export const MOST_CUSHION_S = 0.06; // whoever needs more is better served by a hole than by a late answer
export const FADE_S = 0.004; // a voice that stops in mid-wave clicks
const HELD_S = 30; // a server that paces its audio never comes near; one that does not must not fill the memory

/** A first-in first-out queue of samples, of bounded size. */
class Ring {
  constructor(capacity) {
    this.samples = new Float32Array(capacity);
    this.start = 0;
    this.length = 0;
  }

  /** Add what there is room for; how many samples there was none for. */
  push(samples) {
    const taken = Math.min(samples.length, this.samples.length - this.length);
    let end = (this.start + this.length) % this.samples.length;
    for (let index = 0; index < taken; index += 1) {
      this.samples[end] = samples[index];
      end = end + 1 === this.samples.length ? 0 : end + 1;
    }
    this.length += taken;
    return samples.length - taken;
  }

  shift() {
    const sample = this.samples[this.start];
    this.start = this.start + 1 === this.samples.length ? 0 : this.start + 1;
    this.length -= 1;
    return sample;
  }
}

export class Playout {
  constructor(rateHz) {
    this.rateHz = rateHz;
    this.ring = new Ring(Math.round(HELD_S * rateHz));
    /** How many samples a reply waits at its beginning. */
    this.cushion = 0;
    /** How often a reply ran dry, and how many samples found no room. */
    this.holes = 0;
    this.lost = 0;
    this.dry = Infinity; // samples since the queue ran dry; nothing was ever played
    this.wait = 0;
    this.fading = 0;
    this.longest = 0; // hole in this reply, and in the one before it
    this.before = 0;
    this.cut = false;
  }

  /** How many samples wait. */
  get queued() {
    return this.ring.length;
  }

  push(samples) {
    if (this.queued === 0 && samples.length > 0) this.begin();
    this.lost += this.ring.push(samples);
  }

  /** Drop what has not been played, but for the few milliseconds in which it fades. */
  clear() {
    this.ring.length = Math.min(this.ring.length, Math.round(FADE_S * this.rateHz));
    this.fading = this.ring.length;
    this.wait = 0;
    this.dry = Infinity; // what comes next is another reply, however soon
    this.cut = true; // a reply that was cut short shows nothing about the line
  }

  /** Fill `out` with what is to be heard next. */
  pull(out) {
    let index = 0;
    while (index < out.length && this.wait > 0) {
      out[index] = 0;
      index += 1;
      this.wait -= 1;
    }
    for (; index < out.length && this.ring.length > 0; index += 1) out[index] = this.next();
    this.dry += out.length - index;
    out.fill(0, index);
  }

  next() {
    const sample = this.ring.shift();
    if (this.fading === 0) {
      this.dry = 0;
      return sample;
    }
    this.fading -= 1;
    return sample * (this.fading / (FADE_S * this.rateHz));
  }

  /** Something comes into the empty queue: the rest of a reply that ran dry, or the next one. */
  begin() {
    if (this.dry < HOLE_S * this.rateHz) {
      this.holes += 1;
      this.longest = Math.max(this.longest, this.dry);
      return;
    }
    if (!this.cut) {
      const needed = Math.min(this.longest, this.before, MOST_CUSHION_S * this.rateHz);
      this.cushion = Math.max(needed, Math.floor(this.cushion * 0.75));
      this.before = this.longest;
    }
    this.longest = 0;
    this.cut = false;
    this.wait = this.cushion;
  }
}
