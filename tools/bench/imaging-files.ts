import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';

interface Size {
  count: number;
  width: number;
  height: number;
}

interface Kind {
  bits: 8 | 16;
  samples: 1 | 3;
  compression: 1 | 8;
}

const kinds: Kind[] = [
  { bits: 8, samples: 1, compression: 1 },
  { bits: 16, samples: 1, compression: 1 },
  { bits: 8, samples: 3, compression: 8 },
];

/**
 * Creates `count` file names that link to three files. Their content resembles sensor images: smooth shapes with some
 * noise.
 */
export function makeImages(folder: string, { count, width, height }: Size): string[] {
  mkdirSync(folder, { recursive: true });
  for (const [at, kind] of kinds.entries()) writeFileSync(join(folder, `kind-${at}`), buildTiff(kind, width, height));
  return Array.from({ length: count }, (_, at) => {
    const name = `${at + 1}.tif`;
    linkSync(join(folder, `kind-${at % kinds.length}`), join(folder, name));
    return name;
  });
}

function buildTiff({ bits, samples, compression }: Kind, width: number, height: number): Buffer {
  const bytes = bits / 8;
  const pixels = Buffer.alloc(width * height * samples * bytes);
  let noise = 12_345;
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      noise = (Math.imul(noise, 1_103_515_245) + 12_345) >>> 0;
      const value = 120 + 90 * Math.sin(x / 90) * Math.cos(y / 130) + ((noise >>> 16) % 9);
      for (let sample = 0; sample < samples; sample += 1, at += bytes) {
        if (bits === 8) pixels[at] = value - 20 * sample;
        else pixels.writeUInt16LE(Math.round(value * 16), at);
      }
    }
  }
  const data = compression === 8 ? deflateSync(pixels, { level: 1 }) : pixels;
  const entries = [
    [256, 4, 1, width],
    [257, 4, 1, height],
    [258, 3, samples, bits],
    [259, 3, 1, compression],
    [262, 3, 1, samples === 3 ? 2 : 1],
    [273, 4, 1, 0],
    [277, 3, 1, samples],
    [278, 4, 1, height],
    [279, 4, 1, data.length],
  ];
  const head = Buffer.alloc(8 + 2 + entries.length * 12 + 4 + 6);
  // Three values are too long for the directory entry, which then contains their offset.
  if (samples === 3) entries[2]![3] = head.length - 6;
  for (let at = 0; at < 3; at += 1) head.writeUInt16LE(bits, head.length - 6 + 2 * at);
  entries[5]![3] = head.length;
  head.write('II*\0', 'latin1');
  head.writeUInt32LE(8, 4);
  head.writeUInt16LE(entries.length, 8);
  for (const [at, [tag, kind, number, value]] of entries.entries()) {
    const place = 10 + at * 12;
    head.writeUInt16LE(tag!, place);
    head.writeUInt16LE(kind!, place + 2);
    head.writeUInt32LE(number!, place + 4);
    head.writeUInt32LE(value!, place + 8);
  }
  return Buffer.concat([head, data]);
}
