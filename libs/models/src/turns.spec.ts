import { loadConfig } from '@muster/platform';
import { FakeModel, buildTestEnvironment } from '@muster/testing';
import type { ModelMessage, ModelMeter, ModelUse } from './model';
import { Models } from './models';
import { ModelsConfig } from './models.config';

const hello: ModelMessage[] = [{ role: 'user', content: 'Hello?' }];

describe('a model with many concurrent calls', () => {
  let fake: FakeModel;
  const opened: Models[] = [];
  const free: ModelMeter = { open: () => Promise.resolve(() => Promise.resolve(0)) };

  const modelOf = (meter: ModelMeter, maxConcurrent: number) => {
    const env = { ...fake.environment, MODEL_MAX_CONCURRENT: String(maxConcurrent) };
    const models = new Models(loadConfig(ModelsConfig, buildTestEnvironment('postgres://none/none', env)));
    opened.push(models);
    return models.openDeploymentModel(meter)!;
  };
  const readStream = async (model: ReturnType<typeof modelOf>) => {
    for await (const _ of model.streamChat({ messages: hello })) continue;
  };

  beforeAll(async () => {
    fake = await FakeModel.start();
  });
  beforeEach(() => fake.reset());
  afterEach(() => expect(fake.faults).toEqual([]));
  afterAll(async () => {
    for (const models of opened) models.onApplicationShutdown();
    await fake.close();
  });

  it('a model call waits for its turn while the configured maximum number of calls is in progress', async () => {
    let [current, peak] = [0, 0];
    fake.addRule(async () => {
      peak = Math.max(peak, (current += 1));
      await new Promise((resolve) => setTimeout(resolve, 30));
      current -= 1;
      return 'Done.';
    });
    const model = modelOf(free, 2);
    const answers = await Promise.all(Array.from({ length: 7 }, () => model.answerChat({ messages: hello })));
    expect(answers).toHaveLength(7);
    expect(peak).toBe(2);
  });

  it('a waiting model call is not sent if the meter no longer admits it', async () => {
    fake.addRule(() => ({ content: 'Done.', slowMs: 20, usage: { inputTokens: 1, outputTokens: 0 } }));
    let spent = 0;
    const limitedMeter = {
      open: () => {
        if (spent >= 3) return Promise.reject(new Error('no more'));
        return Promise.resolve((use: ModelUse) => Promise.resolve((spent += use.inputTokens)));
      },
    };
    const model = modelOf(limitedMeter, 2);
    const calls = Array.from({ length: 10 }, () => [model.answerChat({ messages: hello }), readStream(model)]);
    const ends = await Promise.allSettled(calls.flat());
    const refused = ends.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    for (const { reason } of refused) expect((reason as Error).message).toBe('no more');
    // The limit can be exceeded by one call, which was in progress when the cost of the last call was booked.
    expect(fake.calls.length).toBeLessThanOrEqual(4);
    expect(refused).toHaveLength(20 - fake.calls.length);
  });

  it('an error of the stream’s reader is passed on, even if the answer has already arrived completely', async () => {
    for (let length = 1; length < 200_000; length *= 2) {
      fake.addResponses({ content: 'x'.repeat(length), toolCalls: [{ name: 'a', arguments: {} }] });
      const reading = (async () => {
        for await (const { kind } of modelOf(free, 1).streamChat({ messages: hello })) {
          if (kind === 'text') throw new Error('enough');
        }
      })();
      expect(await reading.catch(({ message }: Error) => message)).toBe('enough');
    }
  });
});
