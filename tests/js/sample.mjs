// A small recording of two episodes (3 and 2 steps, so 7 rows) as `decode` gives it.
import { Recording } from "../../src/gymnast/inspect/static/js/recording.js";

const array = (data, shape) => ({ data, shape });

export function sample(changes = {}) {
  const arrays = {
    episode: array(Int32Array.of(0, 0, 0, 0, 1, 1, 1), [7]),
    step: array(Int32Array.of(0, 1, 2, 3, 0, 1, 2), [7]),
    reward: array(Float64Array.of(0, 0, 5, NaN, 0, -1, NaN), [7]),
    value: array(Float64Array.of(10, 9.9, 3, 0, 8, 7.9, 0), [7]),
    terminated: array(Uint8Array.of(0, 0, 1, 0, 0, 0, 0), [7]),
    truncated: array(Uint8Array.of(0, 0, 0, 0, 0, 1, 0), [7]),
    cut: array(new Uint8Array(7), [7]),
    obs: array(Float32Array.from({ length: 14 }, (_, i) => i), [7, 2]),
    row_of_step: array(Int32Array.of(0, 1, 2, 4, 5), [5]),
    "table/reward": array(Float64Array.of(0, 0, 5, 0, -1), [5]),
    "table/value": array(Float64Array.of(10, 9.9, 3, 8, 7.9), [5]),
    "table/step": array(Int32Array.of(0, 1, 2, 0, 1), [5]),
    ...changes.arrays,
  };
  const texts = { "table/label": ["left", "right", "right", "left", "left"], ...changes.texts };
  const infos = changes.infos ?? [{ lives: 3 }, { lives: 3 }, { lives: 2 }, { lives: 2 }, { lives: 3 }, { lives: 3 }, { lives: 3 }];
  const meta = { rows: 7, table: ["step", "label", "reward", "value"], same: { seen: "obs" }, ...changes.meta };
  return new Recording("r1", { meta, arrays, texts, infos, frames: null });
}
