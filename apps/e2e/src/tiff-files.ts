import { deflateSync } from 'node:zlib';

export interface TiffFile {
  width: number;
  height: number;
  /**
   * Number that selects the format of the file. Over all numbers, each combination of byte order, depth, compression,
   * polarity and header occurs.
   */
  ordinal: number;
  /** Returns the brightness of a pixel, from 0 to 255. */
  pixels: (x: number, y: number) => number;
}

/** Returns a grey TIFF in one of the formats that devices write. Each format shows the same image. */
export function writeTiff({ width, height, ordinal, pixels }: TiffFile): Buffer {
  const isLittle = ordinal % 2 === 0;
  const isDeep = ordinal % 3 === 0;
  const isDeflated = ordinal % 5 === 0;
  const isInverted = ordinal % 7 === 0;
  const samples = Buffer.alloc(width * height * (isDeep ? 2 : 1));
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, at += 1) {
      const brightness = pixels(x, y);
      const value = isInverted ? 255 - brightness : brightness;
      if (!isDeep) samples[at] = value;
      // A part of the 16-bit range, like a sensor's: the worker scales it between its darkest and brightest value.
      else samples[isLittle ? 'writeUInt16LE' : 'writeUInt16BE'](value * 16 + 100, at * 2);
    }
  }
  // One black pixel, so that scaling between the extremes maps each value to itself.
  if (isDeep)
    samples[isLittle ? 'writeUInt16LE' : 'writeUInt16BE'](isInverted ? 255 * 16 + 100 : 100, samples.length - 2);
  const data = isDeflated ? deflateSync(samples) : samples;
  const entries: [tag: number, kind: number, value: number][] = [
    [256, 3, width],
    [257, 3, height],
    [258, 3, isDeep ? 16 : 8],
    [259, 3, isDeflated ? 8 : 1],
    [262, 3, isInverted ? 0 : 1],
    [273, 4, 0],
    [277, 3, 1],
    [278, 3, height],
    [279, 4, data.length],
  ];
  const head = Buffer.alloc(8 + 2 + entries.length * 12 + 4);
  entries[5]![2] = head.length;
  const writeNumber = (bytes: 2 | 4, value: number, at: number) =>
    bytes === 2
      ? head[isLittle ? 'writeUInt16LE' : 'writeUInt16BE'](value, at)
      : head[isLittle ? 'writeUInt32LE' : 'writeUInt32BE'](value, at);
  head.write(isLittle ? 'II*\0' : 'MM\0*', 'latin1');
  writeNumber(4, 8, 4);
  writeNumber(2, entries.length, 8);
  for (const [at, [tag, kind, value]] of entries.entries()) {
    const offset = 10 + at * 12;
    writeNumber(2, tag, offset);
    writeNumber(2, kind, offset + 2);
    writeNumber(4, 1, offset + 4);
    writeNumber(kind === 3 ? 2 : 4, value, offset + 8);
  }
  const header = ordinal % 4 === 0 ? Buffer.alloc(ordinal * 37, 'DEX II*\0') : Buffer.alloc(0);
  return Buffer.concat([header, head, data]);
}
