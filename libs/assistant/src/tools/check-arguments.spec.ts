import { AppError } from '@muster/contracts';
import { newId } from '@muster/platform';
import { buildArgumentsSchema, checkArguments } from './check-arguments';

const text = { type: 'string', description: 'text', minLength: 2, maxLength: 5 } as const;
const id = { type: 'string', description: 'id', format: 'uuid', maxLength: 36 } as const;
const map = { type: 'object', description: 'map', additionalProperties: { type: 'string' }, maxProperties: 2 } as const;

describe('the arguments of a tool', () => {
  const schema = buildArgumentsSchema({ text, id, map }, { optional: ['text', 'id', 'map'] });
  const listFaults = (input: unknown, rules = schema) => {
    try {
      checkArguments(rules, input);
      return [];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return error.options.errors!.map(({ field }) => field);
    }
  };

  it.each<[string, unknown, string[]]>([
    ['no object', null, ['arguments']],
    ['a list', [], ['arguments']],
    ['nothing', {}, []],
    ['an unknown name', { other: 1 }, ['arguments.other']],
    ['a name of every object', { toString: 'x' }, ['arguments.toString']],
    ['the shortest text', { text: 'ab' }, []],
    ['a text that is too short', { text: 'a' }, ['arguments.text']],
    ['the longest text', { text: 'abcde' }, []],
    ['a text that is too long', { text: 'abcdef' }, ['arguments.text']],
    ['U+0000', { text: 'a\0b' }, ['arguments.text']],
    ['a number', { text: 12 }, ['arguments.text']],
    ['a text instead of an id', { id: 'abc' }, ['arguments.id']],
    ['the most names', { map: { a: '', b: 'x'.repeat(65_536) } }, []],
    ['too many names', { map: { a: '', b: '', c: '' } }, ['arguments.map']],
    ['a value that is too long', { map: { a: 'x'.repeat(65_537) } }, ['arguments.map']],
    ['a number as a value', { map: { a: 1 } }, ['arguments.map']],
    ['U+0000 in a name', { map: { 'a\0': '' } }, ['arguments.map']],
    ['a list as a map', { map: [] }, ['arguments.map']],
    ['several faults', { text: 1, id: 1 }, ['arguments.text', 'arguments.id']],
  ])('%s is checked', (_, input, fields) => {
    expect(listFaults(input)).toEqual(fields);
  });

  it('a required argument of a tool must be present, and an id among the arguments is returned in lower case', () => {
    const required = buildArgumentsSchema({ id });
    expect(listFaults({}, required)).toEqual(['arguments.id']);
    const value = newId();
    expect(checkArguments(required, { id: value.toUpperCase() })).toEqual({ id: value });
  });

  it('at most twenty unknown arguments of a tool call are reported', () => {
    const names = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`n${n}`, 1]));
    expect(listFaults(names)).toHaveLength(20);
  });
});
