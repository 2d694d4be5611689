import { selectorKinds, sessionActions, taskStepKinds } from '@muster/contracts';

// The schemas of structured model answers. Strict schemas require every key of every object. A task is then validated
// with
// the classes of contracts.

const text = { type: 'string' };
const makeNullableSchema = (type: string) => ({ type: [type, 'null'] });

function makeObjectSchema(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const expectation = {
  anyOf: [
    makeObjectSchema({
      url: makeNullableSchema('string'),
      text: makeNullableSchema('string'),
      notText: makeNullableSchema('string'),
      selector: makeNullableSchema('string'),
    }),
    { type: 'null' },
  ],
};

export const taskSchema = makeObjectSchema({
  title: text,
  goal: text,
  startUrl: makeNullableSchema('string'),
  inputs: { type: 'array', items: text },
  steps: {
    type: 'array',
    items: makeObjectSchema({
      id: text,
      title: text,
      instruction: text,
      expect: expectation,
      kind: { type: 'string', enum: [...taskStepKinds] },
    }),
  },
  success: makeObjectSchema({ description: text, check: expectation }),
});

export const planSchema = makeObjectSchema({
  task: taskSchema,
  // eslint-disable-next-line id-denylist -- A field of the API.
  kept: { type: 'array', items: text },
  added: { type: 'array', items: text },
  notes: text,
});

export const stepSchema = makeObjectSchema({
  status: { type: 'string', enum: ['act', 'done', 'blocked', 'unsure'] },
  reason: { type: 'string', enum: ['', 'one_time_code', 'captcha', 'other'] },
  question: text,
  confidence: { type: 'number', minimum: 0, maximum: 1 },
  actions: {
    type: 'array',
    items: makeObjectSchema({
      action: { type: 'string', enum: [...sessionActions] },
      name: text,
      selectors: {
        type: 'array',
        items: makeObjectSchema({ kind: { type: 'string', enum: [...selectorKinds] }, selector: text }),
      },
      value: text,
      all: { type: 'boolean' },
      submits: { type: 'boolean' },
    }),
  },
});
