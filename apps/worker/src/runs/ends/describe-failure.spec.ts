import { spawnSync } from 'node:child_process';
import { describeFailure } from './describe-failure';

/** What people read first of a Python script that ends so, and what follows. */
function failureOf(script: string): string[] {
  const { status, stderr } = spawnSync('python3', ['-c', script], { encoding: 'utf8' });
  return describeFailure(`exit code ${status}`, stderr).split('\n');
}

describe('A failure begins with', () => {
  it.each([
    ['the exception', 'def f(): raise KeyError("C-1066")\nf()', "KeyError: 'C-1066'"],
    [
      'the last exception of a chain',
      'try: 1/0\nexcept ZeroDivisionError as e: raise ValueError("no") from e',
      'ValueError: no',
    ],
    [
      'the first line of a long message',
      'raise TimeoutError("30 s are over\\nCall log:\\n  - waiting")',
      'TimeoutError: 30 s are over',
    ],
    [
      'the group, of several',
      'raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])',
      'ExceptionGroup: two (2 sub-exceptions)',
    ],
    ['what cannot be read', 'def f(:', 'SyntaxError: invalid syntax'],
    ['the last words', 'import sys\nprint("so far", file=sys.stderr)\nsys.exit("no such claim")', 'no such claim'],
  ])('%s', (_, script, cause) => {
    const [first, ended] = failureOf(script);
    expect([first, ended]).toEqual([cause, 'exit code 1']);
  });

  it('how it ended, where it wrote nothing', () => {
    expect(failureOf('raise SystemExit(3)')).toEqual(['exit code 3']);
  });

  it('its one line, which is not repeated', () => {
    expect(failureOf('raise SystemExit("no such claim")')).toEqual(['no such claim', 'exit code 1']);
  });

  it('the exception, however long its trace was', () => {
    const lines = failureOf('def f(n): return f(n + 1) if n < 500 else 1 / 0\nf(0)\n');
    expect(lines[0]).toBe('ZeroDivisionError: division by zero');
    expect(lines.length).toBeLessThan(23);
  });
});
