import { AppError } from '@muster/contracts';
import { checkAnswer, checkQuestionShape } from './check-answer';

/** Returns the field that a check refuses; null if it accepts the input. */
function refusedField(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('invalid_payload');
    return error.options.errors![0]!.field;
  }
}

const repeatLetter = (count: number) => 'x'.repeat(count);
const buildChoices = (count: number) => Array.from({ length: count }, (_, n) => `choice ${n}`);

describe('the shape of a question', () => {
  it.each<[string, object, string | null]>([
    ['a choice without choices', { kind: 'choice' }, 'choices'],
    ['a choice with an empty list', { kind: 'choice', choices: [] }, 'choices'],
    ['a choice with one choice', { kind: 'choice', choices: ['a'] }, null],
    ['a form without fields', { kind: 'form', fields: [] }, 'fields'],
    ['a form with two fields of one name', { kind: 'form', fields: [{ name: 'a' }, { name: 'a' }] }, 'fields'],
    ['a field without a name', { kind: 'form', fields: [{ name: ' ' }] }, 'fields.0.name'],
    ['a name of 100 characters', { kind: 'form', fields: [{ name: repeatLetter(100) }] }, null],
    ['a name of 101 characters', { kind: 'form', fields: [{ name: repeatLetter(101) }] }, 'fields.0.name'],
    ['a label of 500 characters', { kind: 'form', fields: [{ name: 'a', label: repeatLetter(500) }] }, null],
    [
      'a label of 501 characters',
      { kind: 'form', fields: [{ name: 'a', label: repeatLetter(501) }] },
      'fields.0.label',
    ],
    ['an unknown type', { kind: 'form', fields: [{ name: 'a', type: 'date' }] }, 'fields.0.type'],
    ['a text as required', { kind: 'form', fields: [{ name: 'a', required: 'yes' }] }, 'fields.0.required'],
    ['a choice field without choices', { kind: 'form', fields: [{ name: 'a', type: 'choice' }] }, 'fields.0.choices'],
    ['50 choices', { kind: 'form', fields: [{ name: 'a', type: 'choice', choices: buildChoices(50) }] }, null],
    [
      '51 choices',
      { kind: 'form', fields: [{ name: 'a', type: 'choice', choices: buildChoices(51) }] },
      'fields.0.choices',
    ],
    ['an empty choice', { kind: 'form', fields: [{ name: 'a', type: 'choice', choices: [''] }] }, 'fields.0.choices'],
    ['the second field', { kind: 'form', fields: [{ name: 'a' }, { name: 7 }] }, 'fields.1.name'],
  ])('%s is checked', (_, shape, field) => {
    expect(refusedField(() => checkQuestionShape(shape as never))).toBe(field);
  });

  it('a field of a question has its name as its label, is a text and is required, unless the question says otherwise', () => {
    expect(checkQuestionShape({ kind: 'form', fields: [{ name: 'tooth' }] })).toEqual({
      choices: null,
      fields: [{ name: 'tooth', label: 'tooth', type: 'text', required: true }],
    });
    expect(checkQuestionShape({ kind: 'confirm', choices: ['a'], fields: [{}] })).toEqual({
      choices: null,
      fields: null,
    });
  });
});

describe('the answer of a question', () => {
  const field = { name: 'a', label: 'a', required: true };
  const buildForm = (more: object) => ({ kind: 'form' as const, fields: [{ ...field, type: 'text', ...more }] });

  it.each<[object, unknown, string | null]>([
    [{ kind: 'code' }, 'A1b2', null],
    [{ kind: 'code' }, 'abc', 'answer'],
    [{ kind: 'code' }, repeatLetter(10), null],
    [{ kind: 'code' }, repeatLetter(11), 'answer'],
    [{ kind: 'text' }, repeatLetter(10_000), null],
    [{ kind: 'text' }, repeatLetter(10_001), 'answer'],
    [{ kind: 'text' }, '  ', 'answer'],
    [{ kind: 'text' }, 'a\0b', 'answer'],
    [{ kind: 'choice', choices: ['a', 'b'] }, 'b', null],
    [{ kind: 'choice', choices: ['a', 'b'] }, 'c', 'answer'],
    [{ kind: 'confirm' }, false, null],
    [{ kind: 'confirm' }, 'false', 'answer'],
    [buildForm({}), [], 'answer'],
    [buildForm({}), null, 'answer'],
    [buildForm({}), {}, 'answer.a'],
    [buildForm({}), { a: '' }, 'answer.a'],
    [buildForm({}), { a: 'x', b: 'y' }, 'answer'],
    [buildForm({ required: false }), { a: null }, null],
    [buildForm({ type: 'number' }), { a: 0 }, null],
    [buildForm({ type: 'number' }), { a: '0' }, 'answer.a'],
    [buildForm({ type: 'number' }), { a: Infinity }, 'answer.a'],
    [buildForm({ type: 'boolean' }), { a: false }, null],
    [buildForm({ type: 'boolean' }), { a: 0 }, 'answer.a'],
    [buildForm({ type: 'choice', choices: ['x'] }), { a: 'x' }, null],
    [buildForm({ type: 'choice', choices: ['x'] }), { a: 'y' }, 'answer.a'],
  ])('for %j, the answer %j is checked', (question, answer, refused) => {
    expect(refusedField(() => checkAnswer(question as never, answer))).toBe(refused);
  });

  it('a form’s answer has no entry for an optional field that was left empty', () => {
    expect(checkAnswer(buildForm({ required: false }), { a: '' })).toEqual({});
  });
});
