// What is in force on the server, as rows.

import { byId, element } from "./dom.mjs";
import { inForce } from "./in_force.mjs";

export function showInForce(health) {
  const rows = inForce(health).map(({ name, option, value }) =>
    element(
      "div",
      {},
      element("dt", {}, name),
      element("dd", {}, element("code", {}, value), " ", element("small", {}, option)),
    ),
  );
  byId("force").replaceChildren(...rows);
}
