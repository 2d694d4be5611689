/**
 * Returns the size of a test that has two forms: the short form is part of every run, and `npm run test:long` runs the
 * long one. The environment variable of this name sets any other size.
 */
export function longForm(variable: string, { short, long }: { short: number; long: number }): number {
  const { [variable]: size } = process.env;
  return size ? Number(size) : isLongForm() ? long : short;
}

/** Whether tests run in their long form. */
export function isLongForm(): boolean {
  return process.env['MUSTER_TEST_LONG'] === 'true';
}
