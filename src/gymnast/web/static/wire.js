// Reads the binary that gymnast.web.wire writes. Numbers are views on the buffer: nothing is copied.

const KINDS = { f4: Float32Array, f8: Float64Array, i4: Int32Array, u1: Uint8Array };

/** {meta, arrays: {name: {data, shape, dtype}}, texts, infos, frames: Frames | null} */
export function decode(buffer) {
  const bytes = new Uint8Array(buffer);
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (buffer.byteLength < 8 || magic !== "GYM1") throw new Error("the answer is not a recording");
  const length = new DataView(buffer).getUint32(4, true);
  const start = 8 + length;
  if (start > buffer.byteLength) throw new Error("the recording is incomplete");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const Kind = KINDS[dtype];
    if (!Kind) throw new Error(`the array ${name} is of an unknown kind: ${dtype}`);
    const count = shape.reduce((a, b) => a * b, 1);
    if (start + offset + count * Kind.BYTES_PER_ELEMENT > buffer.byteLength) {
      throw new Error("the recording is incomplete");
    }
    arrays[name] = { data: new Kind(buffer, start + offset, count), shape, dtype };
  }
  const { meta, texts = {}, infos = [], frames = null } = header;
  return { meta, arrays, texts, infos, frames: frames ? new Frames(arrays, frames) : null };
}

/** The pictures of a recording, one for each row, as they were encoded. */
export class Frames {
  constructor(arrays, { mime, ends }) {
    this.mime = mime;
    this.bytes = arrays.frames.data;
    this.ends = arrays[ends].data;
  }

  get count() {
    return this.ends.length;
  }

  blob(row) {
    const from = row === 0 ? 0 : this.ends[row - 1];
    return new Blob([this.bytes.subarray(from, this.ends[row])], { type: this.mime });
  }

  bitmap(row) {
    return createImageBitmap(this.blob(row));
  }
}

/** Row `row` of an array [rows, …] as a view. */
export function rowOf(array, row) {
  const width = array.shape.slice(1).reduce((a, b) => a * b, 1);
  return array.data.subarray(row * width, (row + 1) * width);
}

/** The columns of the table of steps: name → array or list of texts, in their order. */
export function tableOf(recording) {
  const table = {};
  for (const name of recording.meta.table ?? []) {
    table[name] = recording.arrays[`table/${name}`]?.data ?? recording.texts[`table/${name}`];
  }
  return table;
}
