// Quantiles over time as a heat map of densities. Pure.

/** [time][column] as [column][time]. */
export function turned(rows, columns) {
  return Array.from({ length: columns }, (_, column) => rows.map((row) => row[column] ?? null));
}

/**
 * `{y, heat}`: for each of `bins` stretches of values the share of all samples that lay in it, at each moment. Between
 * two neighbouring quantiles the samples are taken to lie evenly.
 */
export function densities(rows, bins = 48) {
  const known = rows.flat().filter((value) => Number.isFinite(value));
  const low = Math.min(...known, Infinity);
  const high = Math.max(...known, -Infinity);
  if (low > high) return { y: [], heat: [] };
  const size = (high - low || 1) / bins;
  const y = Array.from({ length: bins }, (_, bin) => low + (bin + 0.5) * size);
  const columns = rows.map((row) => shares(row, low, size, bins));
  return { y, heat: turned(columns, bins) };
}

function shares(quantiles, low, size, bins) {
  const found = new Array(bins).fill(0);
  if (!quantiles.every((value) => Number.isFinite(value))) return new Array(bins).fill(null);
  const mass = 1 / (quantiles.length - 1);
  for (let index = 1; index < quantiles.length; index += 1) {
    const [from, to] = [quantiles[index - 1], quantiles[index]];
    const clamp = (value) => Math.max(0, Math.min(bins - 1, Math.floor((value - low) / size)));
    const [first, last] = [clamp(from), clamp(to)];
    if (first === last || to <= from) { found[first] += mass; continue; }
    for (let bin = first; bin <= last; bin += 1) {
      const overlap = Math.min(to, low + (bin + 1) * size) - Math.max(from, low + bin * size);
      found[bin] += (mass * Math.max(0, overlap)) / (to - from);
    }
  }
  return found;
}
