// A button that is on while it is held: by pointer, finger or key. A press without a hold, as assistive technology
// makes it, switches it.

export class PushButton {
  constructor(button, tell) {
    this.button = button;
    this.tell = tell;
    this.pressed = false;
    this.held = false;
    button.addEventListener("pointerdown", (event) => {
      button.setPointerCapture(event.pointerId);
      this.hold();
    });
    for (const end of ["pointerup", "pointercancel", "blur"]) button.addEventListener(end, () => this.release());
    button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a phone
    button.addEventListener("click", (event) => event.detail === 0 && !this.held && this.set(!this.pressed));
    document.addEventListener("keydown", (event) => this.isOurs(event) && this.key(event, () => this.hold()));
    document.addEventListener("keyup", (event) => this.isOurs(event) && this.key(event, () => this.release()));
  }

  /** The space bar is ours wherever it has no other use. */
  isOurs(event) {
    if (this.button.hidden || event.code !== "Space") return false;
    return event.target === this.button || event.target.closest("button, input, select, summary, [tabindex]") === null;
  }

  key(event, act) {
    event.preventDefault(); // neither a click of the button nor a page that scrolls
    if (!event.repeat) act();
  }

  hold() {
    this.held = true;
    this.set(true);
  }

  release() {
    if (this.held) this.set(false);
    this.held = false;
  }

  set(on) {
    this.pressed = on;
    this.button.setAttribute("aria-pressed", String(on));
    this.button.textContent = on ? "Listening" : "Hold to talk";
    this.tell(on);
  }
}
