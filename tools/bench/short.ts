/** `npm run bench -- --short` only proves that a benchmark works: nobody looks at what it measures then. */
export const short = process.env['BENCH_SHORT'] === 'true';

/** How much of something, in full and in short. */
export function sized(full: number, small: number): number {
  return short ? small : full;
}
