import { selectorKinds, sessionActions, taskStepKinds } from '@muster/contracts';

// The schemas of structured model answers. Strict schemas require every key of every object. A task is then validated
// with
// the classes of contracts.

const text = { type: 'string' };
const nullableSchema = (type: string) => ({ type: [type, 'null'] });

function objectSchema(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const expectation = {
  anyOf: [
    objectSchema({
      url: nullableSchema('string'),
      text: nullableSchema('string'),
      notText: nullableSchema('string'),
      selector: nullableSchema('string'),
    }),
    { type: 'null' },
  ],
};

export const taskSchema = objectSchema({
  title: text,
  goal: text,
  startUrl: nullableSchema('string'),
  inputs: { type: 'array', items: text },
  steps: {
    type: 'array',
    items: objectSchema({
      id: text,
      title: text,
      instruction: text,
      expect: expectation,
      kind: { type: 'string', enum: [...taskStepKinds] },
    }),
  },
  success: objectSchema({ description: text, check: expectation }),
});

export const planSchema = objectSchema({
  task: taskSchema,
  // eslint-disable-next-line id-denylist -- A field of the API.
  kept: { type: 'array', items: text },
  added: { type: 'array', items: text },
  notes: text,
});

export const stepSchema = objectSchema({
  status: { type: 'string', enum: ['act', 'done', 'blocked', 'unsure'] },
  reason: { type: 'string', enum: ['', 'one_time_code', 'captcha', 'other'] },
  question: text,
  confidence: { type: 'number', minimum: 0, maximum: 1 },
  actions: {
    type: 'array',
    items: objectSchema({
      action: { type: 'string', enum: [...sessionActions] },
      name: text,
      selectors: {
        type: 'array',
        items: objectSchema({ kind: { type: 'string', enum: [...selectorKinds] }, selector: text }),
      },
      value: text,
      all: { type: 'boolean' },
      submits: { type: 'boolean' },
    }),
  },
});
