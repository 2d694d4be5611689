import { AppError } from '@muster/contracts';
import { makeZip, type ZipEntry } from '@muster/testing';
import { readRecording } from './read-recording';

const makeRecording = (steps: unknown, more: object = {}) => JSON.stringify({ title: 'Flow', steps, ...more });
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const open = { type: 'navigate', url: 'https://example.com/' };

const readRefusedRecording = async (bytes: Buffer | string) => {
  const error: unknown = await readRecording(Buffer.from(bytes)).catch((fault: unknown) => fault);
  if (!(error instanceof AppError)) throw new Error('the recording was not rejected');
  return error;
};

describe('readRecording', () => {
  it('readRecording reads the steps of a recording and gives them ids', async () => {
    const recording = await readRecording(
      Buffer.from(`\ufeff${makeRecording([open, { type: 'close', id: 'x' }], { timeout: 900 })}`),
    );
    expect(recording).toEqual({
      title: 'Flow',
      steps: [
        { id: 'step-1', ...open },
        { id: 'step-2', type: 'close' },
      ],
      timeoutMs: 900,
      screenshots: [],
    });
  });

  it.each([0, -1, '900', null])('a recording has no timeout of its own if its timeout is %j', async (timeout) => {
    expect((await readRecording(Buffer.from(makeRecording([open], { timeout })))).timeoutMs).toBeNull();
  });

  it('readRecording reads a zip of a recording, with its screenshots in order', async () => {
    const zip = makeZip([
      { name: 'flow/' },
      { name: 'flow/step-10.png', content: png },
      { name: 'flow/step-9.png', content: png },
      { name: 'flow/recording.JSON', content: makeRecording([open]) },
      { name: 'flow/readme.txt', content: 'hello' },
      { name: '__MACOSX/flow/._recording.json', content: 'junk' },
      { name: 'flow/.hidden.json', content: 'junk' },
    ]);
    const { steps, screenshots } = await readRecording(zip);
    expect(steps).toHaveLength(1);
    expect(screenshots.map(({ name, contentType }) => [name, contentType])).toEqual([
      ['flow/step-9.png', 'image/png'],
      ['flow/step-10.png', 'image/png'],
    ]);
  });

  it.each([
    ['an empty file', '', /not valid JSON/],
    ['broken JSON', '{', /The recording is not valid JSON/],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff]), /not valid UTF-8/],
    ['a JSON list', '[]', /not a JSON object/],
    ['another JSON object', '{"log":{}}', /no list steps/],
    ['a recording without steps', makeRecording([]), /has no steps/],
    [
      'a recording with too many steps',
      makeRecording(Array.from({ length: 2001 }, () => open)),
      /more than 2000 steps/,
    ],
    ['a step that is not an object', makeRecording([open, 7]), /Step 2 is not an object/],
    ['a step without a type', makeRecording([{}]), /step 1: the recorder has no step type undefined/],
    [
      'a step type that only Muster has',
      makeRecording([{ type: 'script', code: '1' }]),
      /the recorder has no step type script/,
    ],
    ['a step type with the name of a built-in method', makeRecording([{ type: 'toString' }]), /no step type toString/],
    ['a step without its URL', makeRecording([open, { type: 'navigate' }]), /step 2: navigate needs url/],
    ['a click without selectors', makeRecording([{ type: 'click' }]), /selectors is required/],
    [
      'a click with a field instead of selectors',
      makeRecording([{ type: 'click', field: 'a' }]),
      /selectors is required/,
    ],
    [
      'a width that is a text',
      makeRecording([{ type: 'setViewport', width: '1', height: 2 }]),
      /width must be an integer/,
    ],
    ['deeply nested JSON', `{"steps":${'['.repeat(80)}${']'.repeat(80)}}`, /nested deeper/],
    ['a forbidden key', '{"__proto__":{},"steps":[]}', /forbidden key/],
  ])('readRecording rejects %s', async (_, bytes, pattern) => {
    const error = await readRefusedRecording(bytes);
    expect([error.code, error.message]).toEqual(['invalid_payload', expect.stringMatching(pattern)]);
    expect(error.options.errors!.length).toBeGreaterThan(0);
  });

  const recording: ZipEntry = { name: 'recording.json', content: makeRecording([open]) };
  const zips: [string, Buffer, RegExp][] = [
    ['without a recording', makeZip([{ name: 'a.png', content: png }]), /no \.json file/],
    ['that is empty', makeZip([]), /no \.json file/],
    ['of two recordings', makeZip([recording, { ...recording, name: 'b/other.json' }]), /it has 2: recording\.json, b/],
    [
      'with a path that leads out of it',
      makeZip([{ ...recording, name: '../recording.json' }]),
      /invalid relative path/,
    ],
    ['with an absolute path', makeZip([{ ...recording, name: '/recording.json' }]), /absolute path/],
    ['with a Windows path', makeZip([{ ...recording, name: 'a\\recording.json' }]), /invalid characters/],
    [
      'with a link',
      makeZip([recording, { name: 'a.json', content: '/etc/passwd', mode: 0o120777 }]),
      /a link or a device/,
    ],
    ['with a device', makeZip([recording, { name: 'null', mode: 0o020666 }]), /a link or a device/],
    ['that is encrypted', makeZip([{ ...recording, flags: 1 }]), /encrypted/],
    ['with too many entries', makeZip(Array.from({ length: 1001 }, (_, n) => ({ name: `${n}` }))), /more than 1000/],
    ['that states a smaller size than it has', makeZip([{ ...recording, claimedSize: 3 }]), /cannot be read/],
    ['with a wrong checksum', makeZip([{ ...recording, claimedCrc32: 7 }]), /checksum of recording\.json is wrong/],
    ['that is cut off', makeZip([recording]).subarray(0, 60), /cannot be read/],
  ];
  it.each(zips)('readRecording rejects a zip %s', async (_, bytes, pattern) => {
    const error = await readRefusedRecording(bytes);
    expect([error.code, error.message]).toEqual(['invalid_payload', expect.stringMatching(pattern)]);
  });

  it('readRecording rejects a zip that is too large when unpacked, whatever size it states', async () => {
    const content = Buffer.alloc(40 * 1024 * 1024);
    const honest = await readRefusedRecording(makeZip([{ name: 'a', content }, { name: 'b', content }, recording]));
    expect(honest.code).toBe('payload_too_large');
    const lying = makeZip([{ name: 'a', content, claimedSize: 10 }, recording]);
    expect((await readRefusedRecording(lying)).code).toBe('invalid_payload');
  });
});
