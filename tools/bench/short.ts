/** `npm run bench -- --short` only checks that a benchmark works; its figures are not meaningful. */
export const short = process.env['BENCH_SHORT'] === 'true';

/** Returns the size of something in the full or in the short form. */
export function chooseSize(full: number, small: number): number {
  return short ? small : full;
}
