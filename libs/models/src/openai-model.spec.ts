import { loadConfig } from '@muster/platform';
import { FakeModel, buildTestEnvironment, waitFor } from '@muster/testing';
import type { ModelDelta, ModelMessage, ModelPort, ModelUse } from './model';
import { ModelAborted, ModelFault } from './model-fault';
import { Models } from './models';
import { ModelsConfig } from './models.config';

const hello: ModelMessage[] = [{ role: 'user', content: 'Hello?' }];
const picture = 'data:image/png;base64,iVBORw0KGgo=';
const schema = {
  type: 'object',
  properties: { answer: { type: 'integer', minimum: 1 } },
  required: ['answer'],
  additionalProperties: false,
};
const request = { name: 'number', schema, messages: hello };

describe('a model', () => {
  let fake: FakeModel;
  let model: ModelPort;
  let models: Models;
  const uses: ModelUse[] = [];
  let beforeCall: () => void = () => undefined;

  const modelsWith = (env: Record<string, string> = {}) =>
    new Models(loadConfig(ModelsConfig, buildTestEnvironment('postgres://none/none', { ...fake.environment, ...env })));
  const meter = {
    open: (name: string) => {
      beforeCall();
      return Promise.resolve((use: ModelUse) => {
        expect(use.model).toBe(name);
        uses.push(use);
        return Promise.resolve(use.inputTokens + use.outputTokens);
      });
    },
  };
  const openModelWithTimeout = (timeoutMs: number) =>
    modelsWith({ MODEL_TIMEOUT_MS: String(timeoutMs) }).openDeploymentModel(meter)!;
  const faultOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => error as ModelFault,
    );
  async function collectDeltas(deltas: AsyncIterable<ModelDelta>): Promise<ModelDelta[]> {
    const all: ModelDelta[] = [];
    for await (const delta of deltas) all.push(delta);
    return all;
  }

  beforeAll(async () => {
    fake = await FakeModel.start();
    models = modelsWith();
    model = models.openDeploymentModel(meter)!;
  });
  beforeEach(() => {
    fake.reset();
    uses.length = 0;
    beforeCall = () => undefined;
  });
  afterEach(() => expect(fake.faults).toEqual([]));
  afterAll(async () => {
    models.onApplicationShutdown();
    await fake.close();
  });

  it('a model receives tools and their results, and returns text, tool calls and usage', async () => {
    fake.addResponses(
      { content: 'Let me look.', toolCalls: [{ name: 'get_run', arguments: { jobId: '1' }, id: 'c1' }] },
      'It ran.',
    );
    const tools = [{ name: 'get_run', description: 'Shows a run.', parameters: { type: 'object', properties: {} } }];
    const first = await model.answerChat({ messages: hello, tools });
    expect(first).toMatchObject({
      content: 'Let me look.',
      toolCalls: [{ id: 'c1', name: 'get_run', arguments: '{"jobId":"1"}' }],
      usage: { inputTokens: expect.any(Number), outputTokens: 7, costMicros: uses[0]!.inputTokens + 7 },
    });
    const second = await model.answerChat({
      messages: [
        ...hello,
        { role: 'assistant', content: first.content, toolCalls: first.toolCalls },
        { role: 'tool', toolCallId: 'c1', content: '{"status":"completed"}' },
      ],
      tools,
    });
    expect(second).toMatchObject({ content: 'It ran.', toolCalls: [] });
    expect(fake.calls.map(({ path, body, toolNames }) => [path, body.model, toolNames])).toEqual([
      ['/v1/chat/completions', 'fake-text', ['get_run']],
      ['/v1/chat/completions', 'fake-text', ['get_run']],
    ]);
    expect(uses).toMatchObject([{ outcome: 'answered', estimated: false }, { outcome: 'answered' }]);
  });

  it('the vision model is called if a message contains an image', async () => {
    fake.addResponses('A login page.');
    const content = [
      { kind: 'text' as const, text: 'What is this?' },
      { kind: 'picture' as const, dataUrl: picture },
    ];
    await model.answerChat({ messages: [{ role: 'user', content }] });
    expect(fake.calls[0]).toMatchObject({
      pictures: [picture],
      lastText: 'What is this?',
      body: { model: 'fake-vision' },
    });
  });

  it('a model streams its text, and then its complete tool calls and its usage', async () => {
    const toolCalls = [
      { name: 'one', arguments: { text: 'a long argument that comes in pieces' }, id: 'a' },
      { name: 'two', arguments: {}, id: 'b' },
    ];
    fake.addResponses({ content: 'One two three', toolCalls, usage: { inputTokens: 11, outputTokens: 7 } });
    const deltas = await collectDeltas(model.streamChat({ messages: hello }));
    expect(deltas).toEqual([
      { kind: 'text', text: 'One ' },
      { kind: 'text', text: 'two ' },
      { kind: 'text', text: 'three' },
      {
        kind: 'answer',
        answer: {
          content: 'One two three',
          toolCalls: toolCalls.map((call) => ({ ...call, arguments: JSON.stringify(call.arguments) })),
          usage: { calls: 1, inputTokens: 11, outputTokens: 7, costMicros: 18 },
        },
      },
    ]);
    expect(uses).toMatchObject([{ inputTokens: 11, outputTokens: 7, outcome: 'answered', estimated: false }]);
  });

  describe('on failure', () => {
    it('a failed model call that is repeated after the time in Retry-After is billed once', async () => {
      fake.addResponses({ status: 429, headers: { 'retry-after': '1' } }, { status: 503 }, 'Here.');
      const startedAt = performance.now();
      // The pause that the model provider requests can be longer than the timeout of the call.
      expect(await openModelWithTimeout(900).answerChat({ messages: hello })).toMatchObject({ content: 'Here.' });
      expect(performance.now() - startedAt).toBeGreaterThan(1000);
      expect(fake.calls).toHaveLength(3);
      expect(uses).toMatchObject([{ outcome: 'answered' }]);
    });

    it('a model that keeps failing is called at most four times', async () => {
      fake.addRule(() => ({ status: 500, headers: { 'retry-after': '0' } }));
      const fault = await faultOf(model.answerChat({ messages: hello }));
      expect(fault).toMatchObject({ code: 'model_failed', status: 502, reason: 'status', usage: { costMicros: 0 } });
      expect(fake.calls).toHaveLength(4);
      expect(uses).toMatchObject([{ outcome: 'failed', inputTokens: 0, outputTokens: 0 }]);
    });

    it.each([400, 401, 404, 409, 302])('a model call is not repeated after status %i', async (status) => {
      fake.addResponses({ status, headers: { location: `${fake.url}/elsewhere` } });
      expect(await faultOf(model.answerChat({ messages: hello }))).toMatchObject({
        code: 'model_failed',
        reason: 'status',
      });
      expect(fake.calls).toHaveLength(1);
    });

    it('a model call fails as busy if the time in Retry-After is too long', async () => {
      fake.addResponses({ status: 429, headers: { 'retry-after': '3600' } });
      expect(await faultOf(model.answerChat({ messages: hello }))).toMatchObject({
        code: 'model_failed',
        reason: 'busy',
      });
      expect(fake.calls).toHaveLength(1);
    });

    it('a model call without output times out, before the answer and in the middle of a stream', async () => {
      fake.addResponses({ hang: true }, { hang: true }, { content: 'One two three', hang: true, cutAfter: 2 });
      const slow = openModelWithTimeout(200);
      const late = { code: 'execution_timeout', status: 504, reason: 'timeout' };
      expect(await faultOf(slow.answerChat({ messages: hello }))).toMatchObject(late);
      expect(await faultOf(collectDeltas(slow.streamChat({ messages: hello })))).toMatchObject(late);
      expect(await faultOf(collectDeltas(slow.streamChat({ messages: hello })))).toMatchObject({
        ...late,
        usage: { outputTokens: 1 },
      });
      expect(fake.calls).toHaveLength(3);
      await waitFor('the connection to be closed', () => fake.calls.every(({ wasLeft }) => wasLeft));
      expect(uses.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'cut']);
    });

    it('an interrupted model stream is billed for the text that had arrived', async () => {
      fake.addResponses({ content: 'One two three', cutAfter: 3 });
      const received: ModelDelta[] = [];
      const fault = await faultOf(
        (async () => {
          for await (const delta of model.streamChat({ messages: hello })) received.push(delta);
        })(),
      );
      expect(fault).toMatchObject({ code: 'model_failed', reason: 'cut' });
      expect(received).toEqual([
        { kind: 'text', text: 'One ' },
        { kind: 'text', text: 'two ' },
      ]);
      expect(uses).toMatchObject([{ outcome: 'cut', estimated: true, outputTokens: 2 }]);
      expect(fault!.usage).toMatchObject({ inputTokens: uses[0]!.inputTokens, outputTokens: 2 });
    });

    it.each([
      ['HTML', { raw: '<html>502</html>', contentType: 'text/html' }],
      ['incomplete JSON', { raw: '{"choices": [' }],
      ['JSON of another API', { raw: '{"hello": 1}' }],
    ])('a model call fails with the reason nonsense if the server returns %s', async (_, script) => {
      fake.addResponses(script);
      expect(await faultOf(model.answerChat({ messages: hello }))).toMatchObject({
        code: 'model_failed',
        reason: 'nonsense',
      });
      expect(fake.calls).toHaveLength(1);
    });

    it('a model call fails as unreachable if nothing listens at the model’s address', async () => {
      const gone = modelsWith({ MODEL_BASE_URL: 'http://127.0.0.1:1/v1' }).openDeploymentModel(meter)!;
      expect(await faultOf(gone.answerChat({ messages: hello }))).toMatchObject({ reason: 'unreachable', status: 502 });
    });

    it('the errors of a model call contain neither the prompt, nor the answer, nor the key', async () => {
      fake.addResponses({ status: 400 }, { raw: 'You said Hello?', contentType: 'text/plain' });
      for (const fault of [
        await faultOf(model.answerChat({ messages: hello })),
        await faultOf(model.answerChat({ messages: hello })),
      ]) {
        expect(JSON.stringify([fault!.message, fault!.options])).not.toMatch(/Hello|model-key/);
      }
    });
  });

  describe('after the caller has left', () => {
    it('a model stream that ends because its reader stops is billed for the text so far', async () => {
      fake.addResponses({ content: 'One two three four five six', slowMs: 50 });
      for await (const delta of model.streamChat({ messages: hello })) {
        expect(delta).toEqual({ kind: 'text', text: 'One ' });
        break;
      }
      expect(uses).toMatchObject([{ outcome: 'cut', estimated: true, outputTokens: 1 }]);
      await waitFor('the connection to be closed', () => fake.calls[0]!.wasLeft);
    });

    it('an abort signal ends a model call that is waiting, thinking, pausing or streaming', async () => {
      const timeoutMs = 5000;
      const single = modelsWith({ MODEL_MAX_CONCURRENT: '1', MODEL_TIMEOUT_MS: String(timeoutMs) }).openDeploymentModel(
        meter,
      )!;
      fake.addRule(() => ({ hang: true }));
      const [thinks, waits] = [new AbortController(), new AbortController()];
      const thinking = faultOf(single.answerChat({ messages: hello, signal: thinks.signal }));
      await waitFor('the first call', () => fake.calls.length === 1);
      const waiting = faultOf(single.answerChat({ messages: hello, signal: waits.signal }));
      waits.abort();
      expect(await waiting).toBeInstanceOf(ModelAborted);
      thinks.abort();
      expect(await thinking).toBeInstanceOf(ModelAborted);
      expect(fake.calls).toHaveLength(1);

      fake.addResponses({ status: 503, headers: { 'retry-after': '4' } });
      const rests = new AbortController();
      const resting = faultOf(single.answerChat({ messages: hello, signal: rests.signal }));
      await waitFor('the refusal', () => fake.calls.length === 2 && fake.calls[1]!.isOver);
      rests.abort();
      expect(await resting).toBeInstanceOf(ModelAborted);

      fake.addResponses({ content: 'One two three four', slowMs: 100 });
      const speaks = new AbortController();
      const speaking = faultOf(
        (async () => {
          for await (const _ of single.streamChat({ messages: hello, signal: speaks.signal })) speaks.abort();
        })(),
      );
      expect(await speaking).toBeInstanceOf(ModelAborted);
      expect(uses.at(-1)).toMatchObject({ outcome: 'cut', outputTokens: 1 });
    });
  });

  describe('with a schema', () => {
    it('a structured call sends the schema to the model, and returns the value', async () => {
      fake.addResponses({ json: { answer: 42 } });
      expect(await model.answerStructured(request)).toMatchObject({
        value: { answer: 42 },
        usage: { outputTokens: 4 },
      });
      const format = { type: 'json_schema', json_schema: { name: 'number', strict: true, schema } };
      expect(fake.calls[0]!.body.response_format).toEqual(format);
    });

    it.each([
      ['does not fit', { json: { answer: 0, extra: 'x' } }, ['/answer must be >= 1', 'additional properties (extra)']],
      ['is not JSON', { content: 'Forty-two.' }, ['it is not valid JSON']],
    ])(
      'a structured call is repeated once with the errors if the answer %s; the question stays the last message',
      async (_, wrong, faults) => {
        fake.addResponses(wrong, { json: { answer: 42 } });
        const { value, usage } = await model.answerStructured(request);
        expect(value).toEqual({ answer: 42 });
        expect(usage.outputTokens).toBe(uses[0]!.outputTokens + uses[1]!.outputTokens);
        const { body, lastUserText } = fake.calls[1]!;
        expect(lastUserText).toBe('Hello?');
        expect(body.messages).toHaveLength(1);
        for (const fault of faults) expect(body.messages[0].content[1].text).toContain(fault);
      },
    );

    it('a structured call fails if the second answer does not fit either, and both answers are billed', async () => {
      fake.addResponses({ json: { answer: 'x' } }, { json: {} });
      const fault = await faultOf(model.answerStructured(request));
      expect(fault).toMatchObject({ code: 'model_failed', reason: 'nonsense' });
      expect(fault!.usage.outputTokens).toBe(uses[0]!.outputTokens + uses[1]!.outputTokens);
      expect(fake.calls).toHaveLength(2);
    });

    it('a structured call is not repeated after a refusal', async () => {
      fake.addResponses({ refusal: 'I will not.' });
      expect(await faultOf(model.answerStructured(request))).toMatchObject({ code: 'model_failed', reason: 'refused' });
      expect(fake.calls).toHaveLength(1);
    });
  });

  it('a model call that the meter refuses is not sent, even as the second call of a structured answer', async () => {
    beforeCall = () => {
      if (fake.calls.length > 0) throw new Error('no more');
    };
    fake.addResponses({ json: {} });
    await expect(model.answerStructured(request)).rejects.toThrow('no more');
    expect(fake.calls).toHaveLength(1);
  });
});
