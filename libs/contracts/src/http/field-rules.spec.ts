import fc from 'fast-check';
import {
  EmailField,
  IntField,
  JsonField,
  ListField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  TextMapField,
} from './fields';
import { Faults, readFields } from './field-rules';

class Inner {
  @TextField({ max: 3 }) name!: string;
}

class Shown {
  @TextField({ optional: true, visible: true }) name?: string;
  @TextListField({ optional: true, visible: true }) labels?: string[];
  @EmailField({ optional: true }) email?: string;
}

class Body {
  @TextField({ optional: true, nullable: true, max: 3 }) text?: string | null;
  @TextListField({ optional: true, maxItems: 3 }) names?: string[];
  @ListField(() => Inner, { optional: true, maxItems: 500 }) inners?: Inner[];
  @ObjectField(() => Inner, { optional: true }) inner?: Inner;
  @TextMapField({ optional: true, maxKeys: 2 }) map?: Record<string, string>;
  @JsonField({ optional: true }) json?: object;
  @QueryIntField({ optional: true, max: 9 }) count?: number;
}

class More extends Body {
  @IntField() own!: number;
}

function readTestFields(input: object, type: new () => object = Body, unknown: 'refuse' | 'ignore' = 'refuse') {
  const faults = new Faults();
  return { value: readFields(type, input, { faults, path: '', unknown }), faults };
}

const listFieldFaults = (input: object) =>
  readTestFields(input).faults.errors.map(({ field, message }) => `${field}: ${message}`);
const makeNames = (count: number) => Array.from({ length: count }, (_, at) => `name ${at}`);

describe('readFields', () => {
  it('readFields reads the fields of a request into an instance of the class', () => {
    const input = { text: 'abc', names: ['a', 'b'], inners: [{ name: 'x' }], inner: { name: 'y' }, json: { a: [1] } };
    const { value, faults } = readTestFields(input);
    expect([faults.isEmpty, value]).toEqual([true, input]);
    expect(value).toBeInstanceOf(Body);
    expect(readTestFields({ text: null }).value).toEqual({ text: null });
    expect(readTestFields({ count: '7' }).value).toEqual({ count: 7 });
    expect(readTestFields({ own: 1, text: 'a' }, More).value).toEqual({ own: 1, text: 'a' });
  });

  it.each([
    [{ text: 'abcd' }, 'text: text must be shorter than or equal to 3 characters'],
    [{ text: '' }, 'text: text must be longer than or equal to 1 characters'],
    [{ text: 7 }, 'text: text must be a string'],
    [{ names: null }, 'names: names must be an array'],
    [{ names: ['a', 'a'] }, "names: All names's elements must be unique"],
    [{ names: makeNames(4) }, 'names: names must contain no more than 3 elements'],
    [{ names: [1] }, 'names: each value in names must be a string'],
    [{ inners: [{ name: 'a' }, { name: 7 }] }, 'inners.1.name: name must be a string'],
    [{ inners: [[]] }, 'inners.0: inners.0 must be an object'],
    [{ inner: { name: 'a', more: 1 } }, 'inner.more: property more should not exist'],
    [
      { map: { a: '', b: '', c: '' } },
      'map: map must have at most 2 names, each with a text of at most 65536 characters',
    ],
    [{ json: [] }, 'json: json must be an object'],
    [{ count: '1e1' }, 'count: count must be an integer number'],
    [{ count: ['1'] }, 'count: count must be an integer number'],
    [{ toString: 1 }, 'toString: property toString should not exist'],
  ])('readFields reports the error of the body %j', (input, fault) => expect(listFieldFaults(input)).toEqual([fault]));

  it('readFields counts a surrogate pair as one character', () => {
    expect(listFieldFaults({ text: '😀😀😀' })).toEqual([]);
    expect(listFieldFaults({ text: '😀😀😀a' })).toHaveLength(1);
  });

  it.each(['', ' \u00a0\n', '\u202e\u2066', '\u200b\ufeff', '\u0001\u001b', '\u3164\u2800', '\u0301'])(
    'readFields refuses the name %j, which has no visible character',
    (name) => {
      const readFaults = (input: object) => readTestFields(input, Shown).faults.errors.map(({ message }) => message);
      expect(readFaults({ name })).toEqual([expect.stringMatching(/visible|longer/)]);
      expect(readFaults({ labels: ['a', name] })).toEqual(['each value in labels must have a visible character']);
      expect(readFaults({ name: `${name}歯`, labels: [`${name}🦷`] })).toEqual([]);
      // A combining accent after a letter is allowed, also in an address.
      if (name && name !== '\u0301')
        expect(readFaults({ email: `an${name}a@example.com` })).toEqual(['email must be an email']);
    },
  );

  it('readFields drops unknown fields if they are to be ignored, as in the reports of workers', () => {
    const input = { inner: { name: 'a', newer: 1 }, newer: 2 };
    expect(readTestFields(input, Body, 'ignore').value).toEqual({ inner: { name: 'a' } });
  });

  it('readFields stops after 200 errors and reports the first 50, shortened', () => {
    const { faults } = readTestFields(
      Object.fromEntries(makeNames(10_000).map((name) => [name + 'x'.repeat(2000), 1])),
    );
    expect([faults.isFull, faults.errors.length]).toEqual([true, 50]);
    expect(JSON.stringify(faults.errors).length).toBeLessThan(50_000);
    let looks = 0;
    const inners = Array.from({ length: 500 }, () => ({
      get name() {
        looks += 1;
        return 7;
      },
    }));
    expect(readTestFields({ inners }).faults.errors).toHaveLength(50);
    expect(looks).toBe(200);
  });

  it('readFields checks the length of a list before its elements', () => {
    const trap = new Proxy([] as unknown[], {
      get: (_, key) => {
        if (key === 'length') return 1_000_000;
        throw new Error(`read the property ${String(key)}`);
      },
    });
    for (const field of ['names', 'inners']) {
      expect(readTestFields({ [field]: trap }).faults.errors).toEqual([
        { field, message: expect.stringContaining('must contain no more than') },
      ]);
    }
  });

  it('readFields never throws, whatever the fields contain', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('text', 'names', 'inners', 'inner', 'map', 'json'), fc.jsonValue()),
        (input) => {
          expect(() => readTestFields(input as object)).not.toThrow();
        },
      ),
    );
  });
});
