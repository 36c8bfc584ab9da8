// Which lines of a long list are in sight.

/** `{first, count}` of lines of `size` pixels at a scroll position; a few more than fit, so that none is missing. */
export function visible(scrolled, height, size, total) {
  const fits = Math.ceil(Math.max(0, height) / size) + 1;
  const count = Math.min(total, fits);
  const first = Math.max(0, Math.min(Math.floor(Math.max(0, scrolled) / size), total - count));
  return { first, count };
}
