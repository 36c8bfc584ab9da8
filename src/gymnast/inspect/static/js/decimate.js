// Fewer points than pixels, without losing a spike: of each stretch its smallest and largest value are kept.

/**
 * For `buckets` stretches of `values[from, to)` the smallest and largest finite value, NaN where there is none.
 * Returns `{low, high, first}`; `first` is the first finite value, which joins a stretch to the one before.
 */
export function minMax(values, buckets, from = 0, to = values.length) {
  const low = new Float64Array(buckets).fill(NaN);
  const high = new Float64Array(buckets).fill(NaN);
  const first = new Float64Array(buckets).fill(NaN);
  const span = to - from;
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const begin = from + Math.floor((bucket * span) / buckets);
    const end = from + Math.floor(((bucket + 1) * span) / buckets);
    for (let index = begin; index < end; index += 1) {
      const value = values[index];
      if (!Number.isFinite(value)) continue;
      if (Number.isNaN(first[bucket])) first[bucket] = value;
      if (!(value >= low[bucket])) low[bucket] = value;
      if (!(value <= high[bucket])) high[bucket] = value;
    }
  }
  return { low, high, first };
}

/** The smallest and largest finite value of several columns, or null where there is none. */
export function range(columns) {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (!Number.isFinite(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? null : { low, high };
}

/** A range with a margin, never empty: a constant gets room on both sides. */
export function padded(bounds, share = 0.08) {
  if (!bounds) return { low: 0, high: 1 };
  const span = bounds.high - bounds.low;
  const margin = span > 0 ? span * share : Math.max(Math.abs(bounds.high) * 0.1, 0.5);
  return { low: bounds.low - margin, high: bounds.high + margin };
}
