import { waitFor } from '@muster/testing';
import { streamOutput } from './live-output';
import { Redactor } from './redactor';

describe('Live output', () => {
  /** Streams the printed text and records each output that is sent. */
  const startStreaming = (secrets: string[], answer: () => Promise<boolean> = () => Promise.resolve(true)) => {
    let printed = '';
    const sent: string[] = [];
    const end = streamOutput(
      { total: () => printed.length, tail: (bytes) => printed.slice(-bytes) },
      new Redactor(secrets),
      (output) => {
        sent.push(output);
        return answer();
      },
    );
    return { sent, end, print: (text: string) => void (printed += Buffer.from(text).toString('latin1')) };
  };

  it('live output is sent while it is printed, but only if it has grown', async () => {
    const { sent, end, print } = startStreaming([]);
    print('first 🦷\n');
    await waitFor('the first line', () => sent.length === 1);
    print('second\n');
    await waitFor('the second line', () => sent.length === 2);
    end();
    expect(sent).toEqual(['first 🦷\n', 'first 🦷\nsecond\n']);
  });

  it('live output never contains a secret or the beginning of a secret', async () => {
    const { sent, end, print } = startStreaming(['horse battery staple']);
    print('the key is horse batt');
    await waitFor('the text before it', () => sent.length === 1);
    print('ery staple, as ever\n');
    await waitFor('the text after it', () => sent.length === 2);
    end();
    expect(sent).toEqual(['the key is ', 'the key is [redacted], as ever\n']);
  });

  it('only the end of long live output is sent, never starting with a part of a secret', async () => {
    const { sent, end, print } = startStreaming(['horse battery staple']);
    print('x'.repeat(60_000));
    print(' horse battery staple');
    print(`${'y'.repeat(48 * 1024 - 8)}\nthe end\n`);
    await waitFor('the output', () => sent.length === 1);
    end();
    expect(sent[0]!.length).toBeLessThanOrEqual(65_536);
    expect(sent[0]).toMatch(/the end\n$/);
    expect(sent[0]).not.toContain('staple');
  });

  it('live output is not sent any more once the service has refused it', async () => {
    const { sent, end, print } = startStreaming([], () => Promise.resolve(false));
    print('first');
    await waitFor('the first', () => sent.length === 1);
    print('second');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    end();
    expect(sent).toEqual(['first']);
  });
});
