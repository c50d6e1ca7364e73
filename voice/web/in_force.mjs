// What is in force on this server, read off its health answer, and the option that would change it. Pure.
//
// A connection can't choose these: models are loaded once, before the first conversation, and all conversations share
// them. So the page shows them, and offers no switch that would do nothing.

const ROWS = [
  ["Model", "--llm", (config) => config.llm?.spec],
  ["Recogniser", "--asr", (config) => config.asr?.spec],
  ["Voice", "--voice", (config) => config.voice?.spec],
  ["End of a turn", "--endpointing", (config) => config.endpointing?.spec],
  ["A voice over the reply", "--barge-in", (config) => config.barge_in],
  ["Ready in advance", "--speculation", (config) => config.speculation],
  ["Over the budget", "--governor", (config) => config.governor],
  ["Echo, in the server", "--echo", (config) => config.echo],
  ["Budget", "--budget", (config) => (config.budget ? `${config.budget.total_ms} ms` : undefined)],
];

/** `{name, option, value}` of each choice that the server tells of. */
export function inForce(health) {
  return ROWS.map(([name, option, value]) => ({ name, option, value: value(health.config ?? {}) })).filter(
    (row) => row.value !== undefined && row.value !== "",
  );
}
