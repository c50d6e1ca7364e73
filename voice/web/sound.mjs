// Microphone, recordings and loudspeaker: where the browser's sound devices meet the page.

const HIGHEST_HZ = 48_000; // what the server takes at most

/** Why there is no sound, in words for people. */
export class SoundError extends Error {}

export class Sound {
  /** `onState` is told "running", or what the browser made of it. */
  constructor({ onState }) {
    this.onState = onState;
    this.context = null;
    this.stream = null;
  }

  get rateHz() {
    return this.context.sampleRate;
  }

  /** What the devices add before and after what the page can measure, in ms, as far as the browser tells. */
  get deviceMs() {
    const settings = this.stream?.getAudioTracks()[0]?.getSettings() ?? {};
    const output = this.context.outputLatency || this.context.baseLatency || 0;
    return 1000 * ((settings.latency ?? 0) + output);
  }

  /** Open the loudspeaker. Must be called from a press of a button, or the browser keeps it silent. */
  async open() {
    this.context = new AudioContext({ latencyHint: "interactive" });
    if (this.context.sampleRate > HIGHEST_HZ) {
      await this.context.close();
      this.context = new AudioContext({ latencyHint: "interactive", sampleRate: HIGHEST_HZ });
    }
    const { context } = this;
    context.onstatechange = () => this.onState(context.state);
    await context.audioWorklet.addModule(new URL("duplex.mjs", import.meta.url));
    this.duplex = new AudioWorkletNode(context, "duplex", { outputChannelCount: [2], channelCount: 1 });
    this.duplex.connect(context.destination);
    this.gate = new GainNode(context, { gain: 1 });
    this.gate.connect(this.duplex);
    await context.resume();
  }

  /** Take in the microphone. Raises SoundError if there is none, or none for us. */
  async openMicrophone({ echoCancellation }) {
    if (!navigator.mediaDevices?.getUserMedia) {
      throw new SoundError("Browsers give the microphone only to https pages, and to those on this machine.");
    }
    const wanted = { echoCancellation, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    } catch (error) {
      throw new SoundError(refusal(error));
    }
    this.stream.getAudioTracks()[0].onended = () => this.onState("unplugged");
    this.context.createMediaStreamSource(this.stream).connect(this.gate);
  }

  /** Let the microphone through, or not; the server hears silence meanwhile. */
  talk(on) {
    this.gate.gain.setTargetAtTime(on ? 1 : 0, this.context.currentTime, 0.005);
  }

  /** Play audio in as if it were spoken, and let it be heard. Settles when it has ended or was stopped. */
  async playIn(encoded) {
    const audio = await this.context.decodeAudioData(encoded).catch(() => {
      throw new SoundError("That file is no audio that this browser can read.");
    });
    this.stopPlayingIn();
    const source = new AudioBufferSourceNode(this.context, { buffer: audio });
    source.connect(this.duplex);
    source.connect(this.context.destination);
    this.recording = source;
    const ended = new Promise((resolve) => {
      source.onended = resolve;
    });
    source.start();
    await ended;
  }

  stopPlayingIn() {
    this.recording?.stop();
    this.recording = null;
  }

  /** Have both sides of each 20 ms sent to this port, and take from it what is to be played. */
  connect(port) {
    this.duplex.port.postMessage({ wire: port }, [port]);
  }

  async close() {
    const { context, stream } = this;
    this.context = this.stream = null;
    stream?.getTracks().forEach((track) => track.stop());
    if (context !== null) {
      context.onstatechange = null;
      await context.close();
    }
  }
}

function refusal(error) {
  switch (error.name) {
    case "NotAllowedError":
      return "The microphone was refused. Allow it in the browser's address bar, or play a recording in instead.";
    case "NotFoundError":
      return "There is no microphone. Plug one in, or play a recording in instead.";
    case "NotReadableError":
      return "The microphone is there, but can't be read; another program may hold it.";
    default:
      return `The microphone can't be opened (${error.name}).`;
  }
}
