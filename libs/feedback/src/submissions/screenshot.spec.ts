import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { reencodeScreenshot } from './screenshot';

const createPlainImage = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 200, g: 30, b: 30 } } });

/** Returns a PNG with a huge number of pixels in a few kilobytes. */
function createHugePng(width: number, height: number): Buffer {
  const makePngChunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(computeCrc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([1, 0, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.alloc(Math.min(height * (Math.ceil(width / 8) + 1), 64 * 1024 * 1024)));
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    makePngChunk('IHDR', head),
    makePngChunk('IDAT', rows),
    makePngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function computeCrc32(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

describe('a screenshot', () => {
  it.each(['png', 'jpeg', 'webp'] as const)(
    'a screenshot is accepted as %s and re-encoded in the same format',
    async (kind) => {
      const upload = await createPlainImage(40, 20).toFormat(kind).toBuffer();
      const { bytes, kind: storedKind } = await reencodeScreenshot(upload);
      expect(storedKind).toBe(kind);
      expect(await sharp(bytes).metadata()).toMatchObject({ format: kind, width: 40, height: 20 });
    },
  );

  it('a stored screenshot contains only pixels: no EXIF data and no bytes after the end of the image', async () => {
    const secret = 'taken at 52.52 N 13.40 E';
    const plain = await createPlainImage(40, 20)
      .withExif({ IFD0: { ImageDescription: secret } })
      .jpeg()
      .toBuffer();
    const upload = Buffer.concat([plain, Buffer.from('<script>alert(1)</script>PK\u0003\u0004')]);
    expect(upload.includes(secret)).toBe(true);
    const { bytes } = await reencodeScreenshot(upload);
    expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes('<script>')).toBe(false);
    expect((await sharp(bytes).metadata()).exif).toBeUndefined();
  });

  it('a screenshot is rotated according to its EXIF orientation', async () => {
    const half = await createPlainImage(30, 10)
      .composite([{ input: await createPlainImage(10, 10).tint('#0000ff').png().toBuffer(), left: 0, top: 0 }])
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const { bytes } = await reencodeScreenshot(half);
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 10, height: 30 });
  });

  it.each([
    ['an HTML page', Buffer.from('<html><script>alert(1)</script></html>')],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
    ['a GIF', Buffer.from('GIF89a\u0001\u0000\u0001\u0000')],
    ['empty', Buffer.alloc(0)],
  ])('a screenshot is rejected as an unsupported type if it is %s', async (_, upload) => {
    await expect(reencodeScreenshot(upload)).rejects.toMatchObject({ code: 'unsupported_media_type' });
  });

  it.each([
    ['is truncated', async () => (await createPlainImage(400, 400).jpeg().toBuffer()).subarray(0, 700)],
    ['starts as a PNG and continues as HTML', async () => Buffer.from('89504e470d0a1a0a3c68746d6c3e', 'hex')],
    ['starts as a WebP and continues as HTML', async () => Buffer.from('RIFF\u0010\u0000\u0000\u0000WEBPVP8 <script>')],
    ['starts as a JPEG and continues as an SVG', async () => Buffer.from('ffd8ff3c7376672f3e', 'hex')],
  ])('a screenshot is rejected as invalid if it %s', async (_, make) => {
    await expect(reencodeScreenshot(await make())).rejects.toMatchObject({ code: 'invalid_payload' });
  });

  it('a screenshot with too many pixels is rejected before it is decoded', async () => {
    for (const [width, height] of [
      [20_000, 20_000],
      [60_000, 1000],
      [1_000_000, 1_000_000],
    ] as const) {
      const upload = createHugePng(width, height);
      expect(upload.length).toBeLessThan(200_000);
      const before = process.memoryUsage().rss;
      await expect(reencodeScreenshot(upload)).rejects.toMatchObject({
        code: 'invalid_payload',
        message: expect.stringContaining('pixels'),
      });
      expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
    }
  });
});
