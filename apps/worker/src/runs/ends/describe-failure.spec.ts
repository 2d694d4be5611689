import { spawnSync } from 'node:child_process';
import { describeFailure } from './describe-failure';

/** Returns the lines of the description of a failed Python script. */
function describeScriptFailure(script: string): string[] {
  const { status, stderr } = spawnSync('python3', ['-c', script], { encoding: 'utf8' });
  return describeFailure(`exit code ${status}`, stderr).split('\n');
}

describe('describeFailure', () => {
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
      'the group of several exceptions',
      'raise ExceptionGroup("two", [ValueError("a"), KeyError("b")])',
      'ExceptionGroup: two (2 sub-exceptions)',
    ],
    ['the syntax error of an invalid script', 'def f(:', 'SyntaxError: invalid syntax'],
    ['the exit message', 'import sys\nprint("so far", file=sys.stderr)\nsys.exit("no such claim")', 'no such claim'],
  ])('the description of a failure begins with %s', (_, script, cause) => {
    const [first, ended] = describeScriptFailure(script);
    expect([first, ended]).toEqual([cause, 'exit code 1']);
  });

  it('the description of a failure is only the exit code if the script wrote nothing', () => {
    expect(describeScriptFailure('raise SystemExit(3)')).toEqual(['exit code 3']);
  });

  it('the description of a failure does not repeat the only line of the error output', () => {
    expect(describeScriptFailure('raise SystemExit("no such claim")')).toEqual(['no such claim', 'exit code 1']);
  });

  it('the description of a failure begins with the exception even if its trace is long', () => {
    const lines = describeScriptFailure('def f(n): return f(n + 1) if n < 500 else 1 / 0\nf(0)\n');
    expect(lines[0]).toBe('ZeroDivisionError: division by zero');
    expect(lines.length).toBeLessThan(23);
  });
});
