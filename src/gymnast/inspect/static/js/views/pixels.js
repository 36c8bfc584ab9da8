// Pixels out of an observation's array, whatever order its axes are in. Pure, so that it is tested without a browser.

/** How an array of this shape is read as a picture: `{height, width, channels, last}`, or null. */
export function imageForm(shape, dtype) {
  if (!shape || dtype === "text") return null;
  if (shape.length === 2) {
    return shape[0] >= 5 && shape[1] >= 5 ? { height: shape[0], width: shape[1], channels: 1, last: true } : null;
  }
  if (shape.length !== 3) return null;
  const [a, b, c] = shape;
  if (a <= 64 && b >= 5 && c >= 5 && a < b && a < c && !(c <= 4 && b === a)) return { height: b, width: c, channels: a, last: false };
  if (a >= 3 && b >= 3) return { height: a, width: b, channels: c, last: true };
  return null;
}

const LAYERS = [[86, 137, 255], [255, 140, 82], [64, 190, 130], [196, 120, 240], [240, 110, 170], [70, 200, 215],
  [235, 195, 60], [150, 160, 175], [200, 90, 90], [120, 200, 90]];

/**
 * RGBA of one picture. `channel` picks one of several greyscale frames (a stack inside the observation); three are
 * colours if the values are bytes; otherwise each channel is a layer with a colour of its own (grid worlds).
 */
export function toRgba(data, { height, width, channels, last }, { channel = null, bytes = true, scale = null } = {}) {
  const out = new Uint8ClampedArray(width * height * 4);
  const at = last ? (c, p) => data[p * channels + c] : (c, p) => data[c * width * height + p];
  const size = width * height;
  const grey = channel !== null || channels === 1;
  const colour = !grey && channels === 3 && bytes;
  const factor = scale ?? (bytes && (grey || colour) && largest(data) > 15 ? 1 : 255 / (largest(data) || 1));
  for (let p = 0; p < size; p += 1) {
    const o = p * 4;
    out[o + 3] = 255;
    if (grey) out[o] = out[o + 1] = out[o + 2] = at(channel ?? 0, p) * factor;
    else if (colour) {
      for (let c = 0; c < 3; c += 1) out[o + c] = at(c, p) * factor;
    } else {
      for (let c = 0; c < channels; c += 1) {
        const share = (at(c, p) * factor) / 255;
        if (share > 0) for (let k = 0; k < 3; k += 1) out[o + k] = Math.max(out[o + k], LAYERS[c % LAYERS.length][k] * Math.min(1, share));
      }
    }
  }
  return out;
}

function largest(data) {
  let most = 0;
  for (const value of data) if (value > most) most = value;
  return most;
}
