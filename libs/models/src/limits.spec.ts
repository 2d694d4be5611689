import { AnswerAccumulator } from './answer-accumulator';

const addDelta = (delta: object) => new AnswerAccumulator().addChunk({ choices: [{ delta }] } as never);
const call = (index: number, args = '') => ({ index, id: `c${index}`, function: { name: 'f', arguments: args } });

/** The largest value is accepted, and one more is refused. */
describe('the limits of the answer of a language model', () => {
  it.each<[name: string, most: number, use: (value: number) => unknown]>([
    ['characters of its text', 200_000, (length) => addDelta({ content: 'x'.repeat(length) })],
    ['characters of its refusal', 200_000, (length) => addDelta({ refusal: 'x'.repeat(length) })],
    [
      'characters of its tool calls',
      4_000_000,
      (length) => addDelta({ tool_calls: [call(0, 'x'.repeat(length - 1))] }),
    ],
    ['number of its tool calls', 128, (count) => addDelta({ tool_calls: [call(count - 1)] })],
    [
      'number of its tool calls in one chunk',
      128,
      (count) => addDelta({ tool_calls: Array.from({ length: count }, () => call(0)) }),
    ],
  ])('the %s', (_, most, use) => {
    expect(() => use(most)).not.toThrow();
    expect(() => use(most + 1)).toThrow('too long');
  });
});
