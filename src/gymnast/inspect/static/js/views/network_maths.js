// What the Network tab computes itself: where maps belong on an image, colours, grids. Pure: tested without a browser.

/** The centre of a unit's receptive field along an axis (0: rows, 1: columns), in pixels. */
export function centre(field, axis, unit) {
  return field.start[axis] + unit * field.jump[axis] + field.size[axis] / 2;
}

/** The unit whose receptive field has its centre nearest to a pixel. */
export function unitAt(field, axis, pixel, units) {
  const nearest = Math.round((pixel - centre(field, axis, 0)) / field.jump[axis]);
  return Math.max(0, Math.min(units - 1, nearest));
}

/** What a unit sees of an image: `{top, left, bottom, right}`, within its edges. */
export function boxOf(field, y, x, height, width) {
  const span = (axis, unit, pixels) => {
    const begin = field.start[axis] + unit * field.jump[axis];
    return [Math.max(0, begin), Math.min(pixels, begin + field.size[axis])];
  };
  const [top, bottom] = span(0, y, height);
  const [left, right] = span(1, x, width);
  return { top, left, bottom, right };
}

/**
 * A layer's map [h, w] on an image's pixels, between the centres of what its units see and level beyond the outermost.
 * Without a field it is stretched over the whole image, as is usual and slightly wrong.
 */
export function spread(map, [h, w], field, height, width) {
  const axis = (which, units, pixels) => {
    const known = field ?? { start: [0, 0], jump: [height / h, width / w], size: [height / h, width / w] };
    const low = new Int32Array(pixels);
    const share = new Float32Array(pixels);
    for (let p = 0; p < pixels; p += 1) {
      const at = Math.max(0, Math.min(units - 1, (p + 0.5 - centre(known, which, 0)) / known.jump[which]));
      low[p] = Math.min(Math.floor(at), Math.max(units - 2, 0));
      share[p] = units > 1 ? at - low[p] : 0;
    }
    return { low, share };
  };
  const rows = axis(0, h, height);
  const columns = axis(1, w, width);
  const out = new Float32Array(height * width);
  for (let y = 0; y < height; y += 1) {
    const top = rows.low[y] * w;
    const bottom = Math.min(rows.low[y] + 1, h - 1) * w;
    const down = rows.share[y];
    for (let x = 0; x < width; x += 1) {
      const left = columns.low[x];
      const right = Math.min(left + 1, w - 1);
      const across = columns.share[x];
      const above = map[top + left] * (1 - across) + map[top + right] * across;
      const below = map[bottom + left] * (1 - across) + map[bottom + right] * across;
      out[y * width + x] = above * (1 - down) + below * down;
    }
  }
  return out;
}

/** The size that most values stay below (`share` of them): a single bright pixel must not hide the rest. */
export function scaleOf(values, share = 1, positiveOnly = false) {
  const sizes = Float32Array.from(values, (value) => (positiveOnly ? Math.max(0, value) : Math.abs(value)));
  if (!sizes.length) return 0;
  if (share >= 1) return sizes.reduce((most, size) => (size > most ? size : most), 0);
  sizes.sort();
  const at = sizes[Math.min(sizes.length - 1, Math.floor(share * sizes.length))];
  return at > 0 ? at : sizes[sizes.length - 1];
}

/** Sum over the leading axis: [F, n] → [n]. */
export function sumFrames(data, frames) {
  const size = data.length / frames;
  const out = new Float32Array(size);
  for (let i = 0; i < data.length; i += 1) out[i % size] += data[i];
  return out;
}

/** "#rrggbb" as three numbers. */
export function rgb(text) {
  const hex = /^#([0-9a-f]{6})$/i.exec(text.trim());
  return hex ? [0, 2, 4].map((at) => parseInt(hex[1].slice(at, at + 2), 16)) : [128, 128, 128];
}

/** RGBA of values on top of something else: the colour says the sign, the opacity the size. */
export function heatRgba(values, limit, { positive, negative, positiveOnly = false }) {
  const out = new Uint8ClampedArray(values.length * 4);
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (positiveOnly && value <= 0) continue;
    const size = limit > 0 ? Math.min(1, Math.abs(value) / limit) : 0;
    out.set(value >= 0 ? positive : negative, i * 4);
    out[i * 4 + 3] = 255 * size ** 0.8;
  }
  return out;
}

/** RGBA of values from one colour (at 0) to two others (at ±limit). */
export function blendRgba(values, limit, zero, positive, negative) {
  const out = new Uint8ClampedArray(values.length * 4);
  for (let i = 0; i < values.length; i += 1) {
    const size = limit > 0 ? Math.max(-1, Math.min(1, values[i] / limit)) : 0;
    const end = size >= 0 ? positive : negative;
    const share = Math.abs(size) ** 0.8;
    for (let c = 0; c < 3; c += 1) out[i * 4 + c] = zero[c] + (end[c] - zero[c]) * share;
    out[i * 4 + 3] = 255;
  }
  return out;
}

/** RGBA of a picture of bytes [h, w, 1 or 3]. */
export function pictureRgba(data, channels) {
  const out = new Uint8ClampedArray((data.length / channels) * 4);
  for (let i = 0; i < out.length / 4; i += 1) {
    for (let c = 0; c < 3; c += 1) out[i * 4 + c] = data[i * channels + (channels === 3 ? c : 0)];
    out[i * 4 + 3] = 255;
  }
  return out;
}

/** Columns and rows that make `count` tiles of this `aspect` (w / h) as large as a rectangle allows. */
export function gridFor(count, width, height, aspect = 1) {
  let best = { columns: 1, rows: Math.max(1, count) };
  let most = 0;
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const tile = Math.min(width / columns, (height / rows) * aspect);
    if (tile > most * 1.0001) { most = tile; best = { columns, rows }; }
  }
  return best;
}

/** The numbers that are no pixels, by index: `pixels` says where those lie in each stacked observation. */
export function beside(pixels, count) {
  if (!pixels) return [];
  const { from, to, of } = pixels;
  return Array.from({ length: count }, (_, index) => index).filter((index) => index % of < from || index % of >= to);
}

/** The components that matter most, by size: [{name, value, input, index}]. */
export function strongest(names, values, inputs, count, among = Array.from(values, (_, index) => index)) {
  const order = [...among].sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  return order.slice(0, count).map((index) => ({ index, name: names[index] ?? `[${index}]`, value: values[index], input: inputs[index] }));
}

/** The index of the greatest value, or -1 if none is above 0. */
export function winner(values) {
  let best = -1;
  for (let i = 0; i < values.length; i += 1) if (values[i] > 0 && (best < 0 || values[i] > values[best])) best = i;
  return best;
}

/** For each kernel [I, h, w] the one of the strongest input, where there are too many to show. */
export function strongestInput(kernels, inputs, size) {
  let best = 0;
  let most = -1;
  for (let i = 0; i < inputs; i += 1) {
    let total = 0;
    for (let p = 0; p < size; p += 1) total += kernels[i * size + p] ** 2;
    if (total > most) { most = total; best = i; }
  }
  return best;
}

/** "2 of 64 filters (3.1 %)" and the like. */
export function shareText(count, units) {
  if (!count) return "none";
  const share = (100 * count) / units;
  return `${count} of ${units} (${share < 10 ? share.toFixed(1) : share.toFixed(0)} %)`;
}
