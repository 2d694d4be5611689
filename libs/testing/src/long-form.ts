/**
 * Returns the size of a test that has two forms: the short form is part of every run, and `npm run test:long` runs the
 * long one. The environment variable of this name sets any other size.
 */
export function chooseSize(variable: string, { short, long }: { short: number; long: number }): number {
  const { [variable]: size } = process.env;
  return size ? Number(size) : isLongRun() ? long : short;
}

/** Whether tests run in their long form. */
export function isLongRun(): boolean {
  return process.env['MUSTER_TEST_LONG'] === 'true';
}
