import { waitFor } from '@muster/testing';
import { tellOutput } from './live-output';
import { Redactor } from './redactor';

describe('what code prints while it runs', () => {
  /** Prints what is pushed, and tells what it was told. */
  const telling = (secrets: string[], answer: () => Promise<boolean> = () => Promise.resolve(true)) => {
    let printed = '';
    const told: string[] = [];
    const end = tellOutput(
      { total: () => printed.length, tail: (bytes) => printed.slice(-bytes) },
      new Redactor(secrets),
      (output) => {
        told.push(output);
        return answer();
      },
    );
    return { told, end, print: (text: string) => void (printed += Buffer.from(text).toString('latin1')) };
  };

  it('is told as it comes, and only when there is more', async () => {
    const { told, end, print } = telling([]);
    print('first 🦷\n');
    await waitFor('the first line', () => told.length === 1);
    print('second\n');
    await waitFor('the second line', () => told.length === 2);
    end();
    expect(told).toEqual(['first 🦷\n', 'first 🦷\nsecond\n']);
  });

  it('never shows a secret, nor the beginning of one', async () => {
    const { told, end, print } = telling(['horse battery staple']);
    print('the key is horse batt');
    await waitFor('what is before it', () => told.length === 1);
    print('ery staple, as ever\n');
    await waitFor('what is behind it', () => told.length === 2);
    end();
    expect(told).toEqual(['the key is ', 'the key is [redacted], as ever\n']);
  });

  it('is its end where it is long, from the beginning of a line, and not the end of a secret', async () => {
    const { told, end, print } = telling(['horse battery staple']);
    print('x'.repeat(60_000));
    print(' horse battery staple');
    print(`${'y'.repeat(48 * 1024 - 8)}\nthe end\n`);
    await waitFor('it', () => told.length === 1);
    end();
    expect(told[0]!.length).toBeLessThanOrEqual(65_536);
    expect(told[0]).toMatch(/the end\n$/);
    expect(told[0]).not.toContain('staple');
  });

  it('is told no more once the service wants no more of it', async () => {
    const { told, end, print } = telling([], () => Promise.resolve(false));
    print('first');
    await waitFor('the first', () => told.length === 1);
    print('second');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    end();
    expect(told).toEqual(['first']);
  });
});
