// This test is long because it converts 200 images on a real worker.
// A short test of the same code: apps/worker/src/imaging/python-tests.spec.ts
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { type HttpClient, readTestStack, waitFor } from '@muster/testing';
import { StartedAs } from './started-as';
import { writeTiff } from './tiff-files';

jest.setTimeout(300_000);

const { pillow } = readTestStack();
const describeWhere = pillow ? describe : describe.skip;
const count = 200;

/** Each image is different: the bright square encodes its number, and the white corner shows its orientation. */
const [width, height] = [320, 240];
const computePixelBrightness = (ordinal: number, x: number, y: number): number => {
  if (x < 40 && y < 30) return 255;
  return Math.floor(x / 32) === ordinal % 10 && Math.floor(y / 24) === Math.floor(ordinal / 10) % 10 ? 220 : 40;
};

describeWhere('imaging by npm start and its own worker (requires Pillow)', () => {
  let root: string;
  let start: StartedAs;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    // As in an organization's network, only the owner can read the folder and its files.
    root = mkdtempSync(join(tmpdir(), 'muster-practice-'));
    for (let ordinal = 1; ordinal <= count; ordinal += 1) {
      const computePixel = (x: number, y: number) => computePixelBrightness(ordinal, x, y);
      writeFileSync(join(root, `${ordinal}.dex`), writeTiff({ width, height, ordinal, pixels: computePixel }), {
        mode: 0o600,
      });
    }
    writeFileSync(join(root, 'broken.dex'), 'DEX and no image');
    const env = { IMAGING_ROOT: root, IMAGING_PATH_MAP: `\\\\server\\images=${root}`, ...pillow };
    start = await StartedAs.startService({ name: 'this user', wrap: [], uid: process.getuid!() }, ['--no-demo'], env);
    api = await start.signIn('admin');
    const created = await api.post('/api/agents', { name: 'Front desk', provider: 'local' });
    agentId = created.body.agent.id;
    await waitFor(
      'the agent to be online',
      async () => (await api.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  });
  afterAll(async () => {
    await start?.end();
    rmSync(root, { recursive: true, force: true });
  });

  const convertImages = async (body: object) => {
    const requested = await api.post(`/api/agents/${agentId}/imaging-images`, { patimageid: 771400917, ...body });
    expect(requested.status).toBe(202);
    const path = `/api/agents/${agentId}/imaging-images/status?commandId=${requested.body.commandId}`;
    const readEndedConversion = async () => {
      const { body: status } = await api.get(path);
      return status.status !== 'pending' && status;
    };
    return {
      commandId: requested.body.commandId as string,
      status: await waitFor('the end of the conversion', readEndedConversion, 180_000),
    };
  };
  const downloadJpeg = async (url: string) => {
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    return Buffer.from(await answer.arrayBuffer());
  };

  it('200 images in a file share are converted to JPEG, are served by URL, and show the same content', async () => {
    const images = Array.from({ length: count }, (_, at) => ({ ordinal: at + 1, filename: `${at + 1}.dex` }));
    const missing = [
      { ordinal: 901, filename: 'none.dex' },
      { ordinal: 902, filename: 'broken.dex' },
    ];
    const imagingPath = '\\\\SERVER\\images';
    const { commandId, status } = await convertImages({ imagingPath, images: [...images, ...missing] });
    expect(status).toMatchObject({ status: 'success', output: { patimageid: 771400917, converted: count, failed: 2 } });
    const { output } = status;
    expect(output.images.slice(-2).map(({ code }: { code: string }) => code)).toEqual(['not_found', 'not_a_tiff']);
    for (const image of output.images.slice(0, count)) {
      const key = new RegExp(`^imaging/771400917/[0-9a-f-]{36}/${commandId}/${image.ordinal}-full\\.jpg$`);
      expect(image.fullKey).toMatch(key);
      const jpeg = await downloadJpeg(image.fullUrl);
      expect([jpeg.length, image.width, image.height]).toEqual([image.bytes, width, height]);
      const { data, info } = await sharp(jpeg).extractChannel(0).raw().toBuffer({ resolveWithObject: true });
      expect([info.width, info.height, (await sharp(jpeg).metadata()).channels]).toEqual([width, height, 1]);
      for (let y = 4; y < height; y += 24) {
        for (let x = 5; x < width; x += 32) {
          const expectedLevel = computePixelBrightness(image.ordinal, x, y);
          const level = data[y * width + x]!;
          if (Math.abs(level - expectedLevel) > 12)
            throw new Error(`${image.ordinal} at ${x},${y}: ${level} for ${expectedLevel}`);
        }
      }
      const small = await sharp(await downloadJpeg(image.thumbnailUrl)).metadata();
      expect([small.width, small.height, small.channels]).toEqual([256, 192, 1]);
    }
    const { entries } = (await api.get(`/api/agents/${agentId}/logs?order=asc&limit=200`)).body;
    const messages = entries
      .map(({ message }: { message: string }) => message)
      .filter((text: string) => /^imaging/.test(text));
    expect(messages[0]).toMatch(/^imaging_images was requested by/);
    expect(messages).toContain(`imaging_images: ${count + 2} of ${count + 2} images are done, 2 failed`);
    expect(messages.at(-1)).toBe('imaging_images is done');
    expect(JSON.stringify(entries)).not.toMatch(/771400917|\.dex/);
    const { artifacts } = (await api.get(`/api/artifacts?agentId=${agentId}&limit=200`)).body;
    expect(artifacts).toHaveLength(200);
    expect(artifacts[0]).toMatchObject({ kind: 'image', contentType: 'image/jpeg', jobId: null });
  });

  it('a worker with an imaging folder lists imaging among its capabilities', async () => {
    const { entries } = (await api.get(`/api/agents/${agentId}/logs?kind=provisioning&limit=200`)).body;
    const handshake = entries.find(({ source }: { source: string }) => source === 'handshake');
    expect(handshake.data.capabilities).toContain('imaging');
  });

  it('imaging reads no file outside the imaging folder', async () => {
    for (const imagingPath of ['/etc', '..', '\\\\server\\other', `${root}/../..`]) {
      const { status } = await convertImages({ imagingPath, images: [{ ordinal: 1, filename: 'passwd' }] });
      expect(status).toMatchObject({ status: 'failed', code: 'path_not_allowed' });
    }
  });

  it('scripts cannot write to the imaging folder or read the imaging settings', async () => {
    const code = `
import os
print(sorted(name for name in os.environ if "IMAGING" in name or "PRACTICE" in name))
try:
    open(${JSON.stringify(join(root, 'written'))}, "w")
except OSError as error:
    print(error.errno)`;
    const requested = await api.post(`/api/agents/${agentId}/run-snippet`, { code });
    const path = `/api/agents/${agentId}/run-snippet/status?commandId=${requested.body.commandId}`;
    const status = await waitFor('the end of the snippet', async () => {
      const { body } = await api.get(path);
      return body.status !== 'pending' && body;
    });
    expect(status.output).toMatch(/^\[\]\n\d+\n$/);
  });
});
