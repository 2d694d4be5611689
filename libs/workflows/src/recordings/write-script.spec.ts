import { runScript } from './recorded-flow.harness';
import { writePlayFunction, writeScript } from './write-script';

describe('the script of steps from a video', () => {
  it('a script stops with step_not_confirmed before a step that no user has confirmed', async () => {
    const step = { id: 's1', type: 'click', review: 'needed', confidence: 0.4, selectors: [['#pay']] };
    const { code, stderr, events } = await runScript(writePlayFunction({ name: 'Draft', steps: [step] }));
    expect(code).toBe(1);
    expect(events).toMatchObject([{ type: 'error_code', code: 'step_not_confirmed' }]);
    expect(stderr).toContain('with a confidence of 0.4, and nobody has confirmed it yet');
    expect(stderr).toContain('PATCH /api/workflows/{id}/steps/s1 {"review": "confirmed"}');
  });

  it.each([
    [1500, 1.5],
    [1, 0.001],
    [0, 7],
    [-1, 7],
    ['1500', 7],
    [undefined, 7],
  ])(
    'a step with the timeout %p waits %d seconds, which is that of the recording if it has none',
    (timeout, seconds) => {
      const step = { id: 's1', type: 'click', selectors: [['#pay']], timeout };
      const script = writeScript({ name: 'Draft', steps: [step], timeoutMs: 7000 });
      expect(script).toContain(`timeout=${seconds})`);
    },
  );
});
