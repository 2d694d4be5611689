import { newId } from '@muster/platform';
import { resolveAccounts } from '../resolve-accounts';
import { describeStep } from './describe-step';
import { readRecording } from './read-recording';
import { prepareRecordingUpload } from './upload-recording';

const steps = (count: number) => Array.from({ length: count }, () => ({ type: 'close' }));
/** Prepares a recording whose script has this number of characters. */
const prepare = (length: number) => {
  const upload = (value: string) =>
    prepareRecordingUpload(
      {
        title: 'Form',
        steps: [{ id: newId(), type: 'change', selectors: [['#a']], value }] as never,
        timeoutMs: null,
        screenshots: [],
      },
      { organizationId: newId(), name: 'Form' },
    );
  const { script } = upload('x');
  return upload('x'.repeat(length - script.length + 1));
};

/** The largest value is accepted, and one more is refused. */
describe('the limits of recordings and of the accounts of a run', () => {
  it.each<[name: string, most: number, use: (value: number) => unknown]>([
    [
      'steps of a recording',
      2000,
      (count) => readRecording(Buffer.from(JSON.stringify({ title: 'a', steps: steps(count) }))),
    ],
    ['characters of a script', 1_000_000, (length) => Promise.resolve(length).then(prepare)],
    [
      'accounts of a run',
      3,
      (count) =>
        Promise.resolve(Array.from({ length: count }, (_, at) => ({ pool: `pool ${at}`, as: `A${at}` }))).then(
          (requested) => resolveAccounts({ requested }),
        ),
    ],
  ])('the %s', async (_, most, use) => {
    await expect(use(most)).resolves.toBeDefined();
    await expect(use(most + 1)).rejects.toMatchObject({ code: expect.any(String) });
  });

  it('a title of 120 characters is a step’s name, and a longer one is cut', () => {
    const describe = (length: number) => describeStep({ type: 'close', title: 'x'.repeat(length) } as never);
    expect([describe(120), describe(121)]).toEqual(['x'.repeat(120), `${'x'.repeat(119)}…`]);
  });
});
