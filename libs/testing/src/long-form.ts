/**
 * How much of it a test does that has a short form, which is part of every run, and a long one, by `npm run test:long`. The
 * environment variable of that name asks for any other size.
 */
export function longForm(variable: string, { short, long }: { short: number; long: number }): number {
  const { [variable]: asked } = process.env;
  return asked ? Number(asked) : isLongForm() ? long : short;
}

/** Whether tests run in their long form. */
export function isLongForm(): boolean {
  return process.env['MUSTER_TEST_LONG'] === 'true';
}
