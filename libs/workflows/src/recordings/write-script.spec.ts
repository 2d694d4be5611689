import { runScript } from './recorded-flow.harness';
import { writePlayFunction } from './write-script';

describe('the script of steps from a video', () => {
  it('a script stops with step_not_confirmed before a step that no user has confirmed', async () => {
    const step = { id: 's1', type: 'click', review: 'needed', confidence: 0.4, selectors: [['#pay']] };
    const { code, stderr, events } = await runScript(writePlayFunction({ name: 'Draft', steps: [step] }));
    expect(code).toBe(1);
    expect(events).toMatchObject([{ type: 'error_code', code: 'step_not_confirmed' }]);
    expect(stderr).toContain('with a confidence of 0.4, and nobody has confirmed it yet');
    expect(stderr).toContain('PATCH /api/workflows/{id}/steps/s1 {"review": "confirmed"}');
  });
});
