import { loadConfig } from '@muster/platform';
import { FakeModel, buildTestEnvironment } from '@muster/testing';
import type { ModelDelta, ModelMessage, ModelPort } from './model';
import { ModelFault } from './model-fault';
import { Models } from './models';
import { ModelsConfig } from './models.config';

const messages: ModelMessage[] = [{ role: 'user', content: 'Hello?' }];

/** An organization can configure any server as its model. Its answers must not harm the process, which others use. */
describe('a server that is not a model', () => {
  let fake: FakeModel;
  let models: Models;
  let model: ModelPort;
  const meter = { open: () => Promise.resolve(() => Promise.resolve(0)) };

  beforeAll(async () => {
    fake = await FakeModel.start();
    const env = { ...fake.environment, MODEL_TIMEOUT_MS: '1000' };
    models = new Models(loadConfig(ModelsConfig, buildTestEnvironment('postgres://none/none', env)));
    model = models.openDeploymentModel(meter)!;
  });
  beforeEach(() => fake.reset());
  afterAll(async () => {
    models.onApplicationShutdown();
    await fake.close();
  });

  const collectDeltas = async (deltas: AsyncIterable<ModelDelta>) => {
    const all: ModelDelta[] = [];
    for await (const delta of deltas) all.push(delta);
    return all;
  };
  const buildStream = (...chunks: unknown[]) => ({
    raw: `${chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`,
    contentType: 'text/event-stream',
  });
  const buildChunk = (delta: unknown, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] });
  const end = buildChunk({}, { finish_reason: 'stop' });
  const buildWholeResponse = (message: unknown) => ({ raw: JSON.stringify({ choices: [{ index: 0, message }] }) });
  const buildToolCall = (index: unknown, more: object = {}) => ({
    tool_calls: [{ index, id: 'c', function: { name: 'get_status', arguments: '{}' }, ...more }],
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a number', 42],
    ['choices that are not a list', { choices: 42 }],
    ['a choice that is not an object', { choices: [7] }],
    ['text that is not a string', buildChunk({ content: { a: 1 } })],
    ['a refusal that is not a string', buildChunk({ refusal: ['no'] })],
    ['an error in the middle of its answer', { error: { message: 'overloaded' } }],
    ['calls that are not a list', buildChunk({ tool_calls: 42 })],
    ['a call that is not an object', buildChunk({ tool_calls: [null] })],
    ['a call with the index __proto__', buildChunk(buildToolCall('__proto__'))],
    ['a call with the index length', buildChunk(buildToolCall('length'))],
    ['a call with the index -1', buildChunk(buildToolCall(-1))],
    ['a call with the index 0.5', buildChunk(buildToolCall(0.5))],
    ['a call with a huge index', buildChunk(buildToolCall(4_294_967_294))],
    ['a name that is not a string', buildChunk(buildToolCall(0, { function: { name: 5 } }))],
    ['too many calls', buildChunk({ tool_calls: Array(500).fill({ index: 0 }) })],
  ])(
    'a model call fails with model_failed, without a change of built-in objects, if the server streams %s',
    async (_, chunk) => {
      fake.addResponses(buildStream(chunk, end));
      const startedAt = performance.now();
      const fault = await collectDeltas(model.streamChat({ messages })).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(ModelFault);
      expect((fault as ModelFault).code).toBe('model_failed');
      expect(performance.now() - startedAt).toBeLessThan(1000);
      expect(Object.keys(Array.prototype)).toEqual([]);
      expect(([] as unknown as { name?: string }).name).toBeUndefined();
    },
  );

  it.each<[string, unknown]>([
    ['no message', null],
    ['a list instead of a message', []],
    ['text that is not a string', { content: 5 }],
    ['a refusal that is not a string', { content: '', refusal: { a: 1 } }],
    ['calls that are not a list', { content: '', tool_calls: 'all' }],
    ['a call that is not an object', { content: '', tool_calls: [null] }],
    ['a call without a function', { content: '', tool_calls: [{ id: 'a', type: 'function', function: null }] }],
    ['an id that is not a string', { content: '', tool_calls: [{ id: 7, type: 'function', function: { name: 'a' } }] }],
    ['100,000 calls', { content: '', tool_calls: Array(100_000).fill({ id: 'a', function: { name: 'a' } }) }],
    ['a text that is too long', { content: 'x'.repeat(200_001) }],
  ])('a model call fails with model_failed if the server answers with %s', async (_, message) => {
    fake.addResponses(buildWholeResponse(message));
    const fault = await model.answerChat({ messages }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(ModelFault);
    expect((fault as ModelFault).code).toBe('model_failed');
  });

  it('a model server may leave out the index and id of a tool call, and may send its arguments as an object', async () => {
    const buildCallWithoutIndex = (id: string | undefined, name: string | undefined, text: string) =>
      buildChunk({ tool_calls: [{ ...(id ? { id } : {}), function: { ...(name ? { name } : {}), arguments: text } }] });
    fake.addResponses(
      buildStream(
        buildCallWithoutIndex('a', 'get_run', '{"jobId":'),
        buildCallWithoutIndex(undefined, undefined, '"1"}'),
        buildCallWithoutIndex('b', 'get_status', '{}'),
        end,
      ),
      buildWholeResponse({
        content: null,
        tool_calls: [{ id: 'c', function: { name: 'get_run', arguments: { jobId: '2' } } }],
      }),
    );
    const deltas = await collectDeltas(model.streamChat({ messages }));
    expect(deltas.at(-1)).toMatchObject({
      answer: {
        toolCalls: [
          { id: 'a', name: 'get_run', arguments: '{"jobId":"1"}' },
          { id: 'b', name: 'get_status', arguments: '{}' },
        ],
      },
    });
    expect((await model.answerChat({ messages })).toolCalls).toEqual([
      { id: 'c', name: 'get_run', arguments: '{"jobId":"2"}' },
    ]);
  });

  it('a model call times out if its stream does not end, although the server keeps sending text', async () => {
    fake.addResponses({ content: 'word '.repeat(1000), slowMs: 100 });
    const startedAt = performance.now();
    const fault = await collectDeltas(model.streamChat({ messages })).catch((error: unknown) => error);
    expect(fault).toMatchObject({
      code: 'execution_timeout',
      message: expect.stringContaining('not finished its answer'),
    });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  }, 30_000);

  it('the tokens of a model call are estimated if the server reports an implausible number', async () => {
    fake.addResponses({ content: 'Hello.', usage: { inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 3 } });
    const { usage } = await model.answerChat({ messages });
    expect(usage.inputTokens).toBeLessThan(100);
  });

  it('a structured answer has no characters that a database cannot store', async () => {
    const schema = {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
      additionalProperties: false,
    };
    fake.addResponses({ content: '{"text":"a\\u0000b\\ud800c \\ud83d\\ude00"}' });
    const { value } = await model.answerStructured<{ text: string }>({ name: 'text', schema, messages });
    expect(value.text).toBe('ab\ufffdc \u{1f600}');
  });
});
